"""Runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.parties.demo import demo_table
from sottovoce.report.comparison import compare, comparison_table, read_report
from sottovoce.report.report import summary_lines
from sottovoce.report.terminal import print_comparison

KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


@pytest.fixture(scope="module")
def reports() -> dict[str, Any]:
    given: dict[str, Any] = {"rows": 4000, "seed": 1, "epsilon": 4.0}
    return {
        "one-way": sottovoce.run(
            "one-way", aggregator="masks", classify=["income"], **given
        ).report,
        "printed": sottovoce.run(
            "one-way", mode="paper", key_bits=512, insecure_test_keys=True, **given
        ).report,
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
        classified["synthetic"],
        None,
        None,
        classified["majority"],
        classified["real"],
    ]
    heads, lines = comparison_table(rows)
    assert all(len(line) == len(heads) for line in lines)
    assert lines[1][heads.index("party")] == "infinity"
    assert lines[2][heads.index("2-way")] == ""


def test_floors_of_other_records_are_no_floors(reports: dict[str, Any]) -> None:
    """Whatever the data is called: what runs were measured against has to be the same, in any
    order.
    """
    one, other = (
        sottovoce.run(
            "one-way", demo_table(500, seed=seed)[["sex", "age"]], seed=1, aggregator="masks"
        ).report
        for seed in (1, 2)
    )
    for pair in ({"one": one, "other": other}, {"other": other, "one": one}):
        assert [row["run"] for row in compare(pair)][2:] == [
            "(not of the same records: distances cannot be compared)"
        ]
    assert compare({"one": one, "again": one})[-1]["run"] == "floor"


def test_runs_on_other_tables_are_not_averaged() -> None:
    """By their rows, their split, or where they ran, and of other protocols: a floor is no other
    table's.
    """
    given: Any = {"seed": 1, "aggregator": "masks"}
    small, large = (
        sottovoce.run("one-way", "demo", rows=rows, **given).report for rows in (300, 600)
    )
    rows = compare({"small": small, "large": large})
    assert [row.get("with") for row in rows] == ["rows=300", "rows=600", None]
    assert [(row.get("data"), row.get("rows")) for row in rows[:2]] == [
        ("demo", 300),
        ("demo", 600),
    ]
    assert rows[2]["run"] == "(not of the same records: distances cannot be compared)"
    split = sottovoce.run("one-way", "demo", rows=300, split="by:sex@1", **given).report
    rows = compare({"small": small, "split": split})
    assert [row.get("with") for row in rows[:2]] == ["split=even", "split=by:sex@1"]
    assert rows[2]["run"] == "floor"
    count = sottovoce.run("head-count", demo_table(300)[["sex", "age"]], seed=1).report
    assert (
        compare({"table": small, "count": count})[-1]["run"]
        == "(not of the same records: distances cannot be compared)"
    )
    assert "rows" not in compare({"small": small, "again": {**small, "rows": None}})[0]


def test_what_follows_from_epsilon_parts_no_line() -> None:
    some = {
        str(own): sottovoce.run("clldp-joint", "demo", rows=900, seed=1, epsilon=own).report
        for own in (1, 4)
    }
    assert [own["chosen"]["record_cap"] for own in some.values()] == [2.0, 8.0]
    assert all("with" not in row for row in compare(some))
    printed = sottovoce.run("privincr", "demo", rows=900, seed=1, mode="paper").report
    given = sottovoce.run(
        "privincr", "demo", rows=900, seed=1, mode="paper", projection="norm-mul"
    ).report
    assert all(
        "with" not in row for row in compare({"printed": printed, "given": given})
    )  # the same, said otherwise


def test_a_narrow_terminal_has_a_run_a_column(
    reports: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = compare(reports)
    print_comparison(rows)
    wide = capsys.readouterr().out.splitlines()
    assert wide[0].split()[:4] == ["run", "protocol", "with", "parties"]
    monkeypatch.setattr("sottovoce.report.terminal._width", lambda: 80)
    print_comparison(rows)
    narrow = capsys.readouterr().out.splitlines()
    blocks = [line.split()[1:] for line in narrow if line.startswith("run ")]
    assert len(blocks) > 1  # as many beside one another as there is room for
    assert [name for own in blocks for name in own] == [
        "one-way",
        "printed",
        "counts",
        "floor",
        "real",
        "data",
    ]
    assert any(line.startswith("party") and "infinity" in line for line in narrow)
    assert max(map(len, narrow[:14])) <= 80


def test_what_cannot_be_classified_is_said_and_nothing_lost() -> None:
    done = sottovoce.run(
        "one-way", rows=500, seed=1, aggregator="masks", classify=["incme", "income"]
    )
    assert done.synthetic is not None
    assert [own["target"] for own in done.report["utility"]["classification"]] == ["income"]
    assert any(
        text.startswith("nothing was classified by incme: expected")
        for text in done.report["warnings"]
    )


def test_what_was_asked_for_and_not_classified_is_said() -> None:
    done = sottovoce.run("head-count", rows=90, seed=1, classify=["income"])
    assert (
        "nothing was classified: head-count publishes no table to learn from"
        in done.report["warnings"]
    )


def test_a_wrong_forecast_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon is spent by then."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("sottovoce.protocols.one_way.OneWay.predict", fail)
    done = sottovoce.run("one-way", rows=500, seed=1, aggregator="masks")
    assert done.synthetic is not None
    assert (
        "the cost could not be predicted: ZeroDivisionError: division by zero"
        in done.report["warnings"]
    )
    for name in ("warnings", "chosen"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sottovoce.protocols.one_way.OneWay.{name}", fail)
            done = sottovoce.run("one-way", rows=500, seed=1, aggregator="masks")
        assert done.synthetic is not None
        assert (
            "the protocol could not say all of itself: ZeroDivisionError: division by zero"
            in done.report["warnings"]
        )


def test_what_was_not_predicted_is_said() -> None:
    report = sottovoce.run("dp-subn", rows=4000, seed=1, aggregator="masks", epsilon=4.0).report
    sent = report["communication"]
    rest = sum(sums["payload_bytes"] for kind, sums in sent["by_kind"].items() if kind == "Chosen")
    assert (
        dict(summary_lines(report))["cost"]
        == f"as predicted, but for {rest:,} bytes that depend on choices"
    )
    sent["predicted"][0]["payload_bytes"] += 1
    assert dict(summary_lines(report))["cost"].startswith("keys/Rows: predicted 73 bytes, found 72")


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a run with report\.json in"):
        read_report(tmp_path)
    for text in ("{", "[]", json.dumps({"protocol": "x"})):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(UsageError, match=r"expected report\.json of a run in"):
            read_report(tmp_path)
    hollow: dict[str, Any] = {"protocol": "x", "communication": {}, "privacy": {}, "utility": None}
    with pytest.raises(
        UsageError, match=r"expected report\.json of a run in some, found KeyError: 'mode'"
    ):
        compare({"some": hollow})
