"""Plans from Python say what those of the command line say, and refuse what they cannot use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce import UsageError
from sottovoce.launch.commands import app
from sottovoce.studies.forecast import SEEDED


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))


def test_a_plan_is_that_of_the_command_line() -> None:
    words = "plan one-way --parties 50 --rows 5000 --network 20ms/50Mbit/s --epsilon 2"
    words += " --columns sex,race --set aggregator=masks --method predicted --json"
    done = CliRunner().invoke(app, words.split(), catch_exceptions=False)
    [expected] = json.loads(done.stdout)
    found = sottovoce.plan(
        "one-way",
        parties=50,
        rows=5000,
        network="20ms/50Mbit/s",
        epsilon=2,
        columns="sex,race",
        aggregator="masks",
        method="predicted",
        alternatives=True,
    )
    assert json.loads(found.json()) == [expected]
    assert found.seconds == expected["seconds"]
    assert found.messages == expected["messages"]
    assert found.frame_bytes == expected["frame_bytes"]


def test_a_plan_is_text_a_row_and_a_page(tmp_path: Path) -> None:
    plans = [sottovoce.plan("head-count", parties=parties, rows=90) for parties in (2, 3)]
    table = pd.DataFrame([plan.row for plan in plans])
    assert [*table["parties"]] == [2, 3]
    assert [*table["messages"]] == [2, 3]
    assert "messages             3 in 1 round" in str(plans[1])
    plans[1].save(tmp_path)
    assert json.loads((tmp_path / "plan.json").read_text())[0]["parties"] == 3
    assert "head-count of 3 parties" in (tmp_path / "plan.html").read_text()


def test_a_plan_takes_a_schema_as_a_dictionary() -> None:
    """A wider schema makes longer messages: its cells are sent."""
    schema = {"answer": ["yes", "no"], "weight": {"bins": 30, "range": [0, 300]}}
    narrow, wide = (
        sottovoce.plan("one-way", schema=schema, rows=60, columns=columns, aggregator="masks")
        for columns in (["answer"], ["answer", "weight"])
    )
    [narrow_cells], [wide_cells] = (
        [line.payload_bytes for line in plan.forecast.lines if line.kind == "Masked"]
        for plan in (narrow, wide)
    )
    assert wide_cells > narrow_cells


def test_other_options_are_named_if_asked_for() -> None:
    options: dict[str, Any] = {"columns": ["sex"], "rows": 60, "network": "mobile"}
    assert sottovoce.plan("one-way", **options).forecast.alternatives == []
    named = sottovoce.plan("one-way", **options, alternatives=True).forecast.alternatives
    assert "--set aggregator=masks" in [each.option for each in named]


def test_a_plan_with_a_seed_says_that_a_run_without_one_sends_more() -> None:
    options: dict[str, Any] = {"columns": "sex", "aggregator": "masks", "rows": 300}
    seeded, private = (sottovoce.plan("one-way", seed=seed, **options) for seed in (1, None))
    assert seeded.frame_bytes < private.frame_bytes
    assert SEEDED in seeded.forecast.remarks
    assert SEEDED not in private.forecast.remarks
    # Its roles agree on no keys.
    assert SEEDED not in sottovoce.plan("head-count", seed=1, rows=300).forecast.remarks


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"network": "moon"}, "moon"),
        ({"network": ["lan", "wan"]}, "expected one network, found list: make a plan for each"),
        ({"speed": 0}, "expected a number above 0 for speed, found 0"),
        ({"method": "guessed"}, "expected method played or predicted, found 'guessed'"),
        ({"computation": "none"}, "expected computation measured or calibrated, found 'none'"),
        ({"computation": "calibrated"}, "run `sottovoce calibrate`"),
        ({"parties": 5, "rows": 3}, "at least as many rows as parties"),
        ({"epsilom": 1}, "epsilom"),
        ({"columns": ["weight"]}, "weight"),
        ({"schema": "none.json"}, "none.json"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        sottovoce.plan("one-way", **options)
    assert expected in str(refused.value)
