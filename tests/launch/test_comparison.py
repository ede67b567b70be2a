"""Runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.launch.comparison import compare, comparison_table, read_report


@pytest.fixture(scope="module")
def reports() -> dict[str, Any]:
    given: dict[str, Any] = {"rows": 4000, "seed": 1, "epsilon": 4.0}
    return {
        "one-way": sottovoce.run("one-way", aggregator="masks", classify=["income"], **given).report,
        "printed": sottovoce.run("one-way", mode="paper", key_bits=512, insecure_test_keys=True, **given).report,
        "counts": sottovoce.run("head-count", **given).report,
    }


def test_a_row_a_run_and_the_floors(reports: dict[str, Any]) -> None:
    rows = compare(reports)
    assert [row["run"] for row in rows] == [*reports, "floor", "real data"]
    for row, report in zip(rows, reports.values(), strict=False):
        assert row["bytes"] == report["communication"]["payload_bytes"]
        assert row["rounds"] == report["communication"]["rounds"]
        assert row["epsilon"] == 4.0
    assert rows[1]["other_party"] == "infinity"
    assert rows[1]["protocol"] == "one-way (paper)"
    assert "2-way" not in rows[2]
    utility = reports["one-way"]["utility"]
    assert rows[3]["2-way"] == utility["distances"][0]["one_way"]
    (classified,) = utility["classification"]
    assert [row.get("wrong: income") for row in rows] == [
        classified["synthetic"], None, None, classified["majority"], classified["real"],
    ]  # fmt: skip
    heads, lines = comparison_table(rows)
    assert all(len(line) == len(heads) for line in lines)
    assert lines[1][heads.index("party")] == "infinity"
    assert lines[2][heads.index("2-way")] == ""


def test_floors_of_other_data_are_no_floors(reports: dict[str, Any]) -> None:
    other = reports["one-way"] | {"rows": 5}
    assert [row["run"] for row in compare({"one": reports["one-way"], "other": other})] == ["one", "other"]


def test_what_cannot_be_classified_is_said_and_nothing_lost() -> None:
    done = sottovoce.run("one-way", rows=500, seed=1, aggregator="masks", classify=["incme", "income"])
    assert done.synthetic is not None
    assert [own["target"] for own in done.report["utility"]["classification"]] == ["income"]
    assert any(text.startswith("nothing was classified by incme: expected") for text in done.report["warnings"])


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a run with report\.json in"):
        read_report(tmp_path)
    for text in ("{", "[]", json.dumps({"protocol": "x"})):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(UsageError, match=r"expected report\.json of a run in"):
            read_report(tmp_path)
