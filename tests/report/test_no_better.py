"""The judge's warning that a synthetic table is no better than independent attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

import sottovoce
from sottovoce.parties.demo import demo_table
from sottovoce.report.judging import NO_BETTER
from sottovoce.report.pages import run_page
from sottovoce.report.terminal import print_summary

COLUMNS = ["sex", "race", "education", "hours-per-week"]


@pytest.mark.parametrize(
    ("protocol", "epsilon", "warned"),
    [
        ("one-way", 1.0, True),
        ("independent", 0.01, True),
        ("dp-subn", 0.01, True),
        ("dp-subn", 50.0, False),
        ("adaptive-pairs", 50.0, False),
    ],
)
def test_a_table_no_better_than_independent_attributes_is_named(
    protocol: str, epsilon: float, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The referee is the list of distances: single attributes are exact there."""
    run = sottovoce.run(
        protocol,
        demo_table(2000, seed=2)[COLUMNS],
        parties=2,
        epsilon=epsilon,
        seed=1,
    )
    pairs = next(
        distance
        for distance in run.judgement["utility"]["distances"]
        if distance["ways"] == 2 and distance["attributes"] == "original"
    )
    assert (pairs["average"] >= pairs["one_way"]) == warned
    found = [text for text in run.judgement["warnings"] if text.startswith(NO_BETTER)]
    assert len(found) == warned
    assert not [text for text in run.report["warnings"] if text.startswith(NO_BETTER)]
    print_summary(run.reported, folder=Path("run"), names=["report.json"])
    lines = capsys.readouterr().out.splitlines()
    assert sum(NO_BETTER in line for line in lines) == warned
    assert run_page(run.reported).count(NO_BETTER) == warned
