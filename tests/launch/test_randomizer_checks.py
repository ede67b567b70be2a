"""Local randomizers of another author: what a survey counts for each user has to be true."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce.evaluation.own_randomizers import epsilon_by_law, epsilon_by_reports
from sottovoce.launch.randomizer_checks import false_randomizers
from sottovoce.privacy.local import RANDOMIZERS, Randomizer


@pytest.fixture(autouse=True)
def authors_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    monkeypatch.syspath_prepend(Path(__file__).parent)


def randomizer_named(name: str, cells: int, *, epsilon: float = 1.0) -> Randomizer:
    kind = getattr(importlib.import_module("wrong_randomizers"), name)
    randomizer = kind(cells, epsilon=epsilon)
    assert isinstance(randomizer, Randomizer)
    return randomizer


WRONG = {
    "OfTwoCells": "of 16 cells loses at least epsilon 3",
    "SlightlyTooOften": "of 16 cells loses epsilon 1.01 by its own law, and states 1",
    "CoinOfTheValue": "are the same whatever a user's random words are",
    "CoinOfTheUser": "are the same whatever a user's random words are",
}


@pytest.mark.parametrize(("name", "words"), WRONG.items())
def test_a_randomizer_that_loses_more_than_it_states_is_named(name: str, words: str) -> None:
    (reason,) = false_randomizers([randomizer_named(name, 16)], {})
    assert words in reason
    assert name in reason


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("cells", [2, 5, 16])
def test_a_right_randomizer_is_not_accused(cells: int, epsilon: float) -> None:
    """The bound holds with 99.99 per cent, and the seeds are fixed."""
    remarks: dict[str, None] = {}
    assert [*false_randomizers([randomizer_named("Right", cells, epsilon=epsilon)], remarks)] == []
    assert remarks == {}


@pytest.mark.parametrize("name", sorted(RANDOMIZERS.keys() - {"olh"}))
def test_bounds_are_below_the_epsilon_of_those_that_are_built_in(name: str) -> None:
    for cells in (3, 20):
        randomizer = RANDOMIZERS[name](cells, epsilon=2.0)
        bound = epsilon_by_reports(randomizer, confidence=0.9999)
        assert 0.8 < bound <= randomizer.local_epsilon
    law = epsilon_by_law(RANDOMIZERS[name](3, epsilon=2.0))
    assert law == pytest.approx(RANDOMIZERS[name](3, epsilon=2.0).local_epsilon, rel=1e-3)


def test_an_error_of_a_randomizer_is_a_remark_without_its_text() -> None:
    remarks: dict[str, None] = {}
    assert [*false_randomizers([randomizer_named("Fails", 3)], remarks)] == []
    (remark,) = remarks
    assert "ends in ZeroDivisionError" in remark
    assert "12" not in remark


@pytest.mark.parametrize(("name", "accused"), [("Right", False), ("OfTwoCells", True)])
def test_a_survey_that_is_built_in_is_checked_with_an_authors_randomizer(
    name: str, accused: bool
) -> None:
    options: dict[str, Any] = {"oracle": f"wrong_randomizers:{name}", "rows": 200, "judge": False}
    if not accused:
        run = sottovoce.run("one-way-ldp", **options)
        assert run.report["privacy"]["epsilon"]["curator"] == 1
        return
    with pytest.warns(sottovoce.NotAccountedWarning, match="its randomizer OfTwoCells of 3 cells"):
        run = sottovoce.run("one-way-ldp", **options)
    assert {line["party"] for line in run.report["privacy"]["not_accounted"]} == {1, 2, 3}
