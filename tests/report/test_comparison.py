"""Comparing runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.evaluation import Utility
from sottovoce.parties.demo import demo_table
from sottovoce.report.comparison import (
    BASELINE,
    DIFFERENT,
    REAL,
    Comparison,
    compare,
)
from sottovoce.report.comparison_table import comparison_json, comparison_table
from sottovoce.report.judgement import read_judgement
from sottovoce.report.report import read_report
from sottovoce.report.reported import ReportedRun
from sottovoce.report.summary import summary_lines
from sottovoce.report.terminal import print_comparison


@pytest.fixture(scope="module")
def runs() -> dict[str, ReportedRun]:
    options: dict[str, Any] = {"rows": 4000, "seed": 1, "epsilon": 4.0, "delta": 0}
    return {
        "one-way": sottovoce.run(
            "one-way", aggregator="masks", classify=["income"], **options
        ).reported,
        "printed": sottovoce.run(
            "one-way", mode="paper", key_bits=512, insecure_test_keys=True, **options
        ).reported,
        "counts": sottovoce.run("head-count", **options).reported,
    }


def settings(comparison: Comparison) -> list[str]:
    """List what tells the runs of one protocol apart."""
    return [run.setting for run in comparison.runs]


def test_a_row_a_run_and_the_baselines(runs: dict[str, ReportedRun]) -> None:
    comparison = compare(runs)
    assert [run.name for run in comparison.runs] == [*runs]
    for compared, run in zip(comparison.runs, runs.values(), strict=True):
        assert compared.bytes == run.report.communication.payload_bytes
        assert compared.rounds == run.report.communication.rounds
        assert compared.epsilon == 4.0
    one_way, printed, counts = comparison.runs
    assert math.isinf(printed.other_party)
    assert printed.protocol == "one-way (paper)"
    assert "2-way" not in counts.errors
    utility = runs["one-way"].utility
    assert utility is not None
    assert utility.distances is not None
    assert utility.classification is not None
    assert comparison.levels is not None
    assert comparison.levels[BASELINE]["2-way"] == utility.distances[0].one_way
    (classified,) = utility.classification
    assert one_way.errors["wrong: income"] == classified.synthetic
    assert [errors.get("wrong: income") for errors in comparison.levels.values()] == [
        classified.majority,
        classified.real,
    ]
    heads, lines = comparison_table(comparison)
    assert [line[0] for line in lines] == [*runs, BASELINE, REAL]
    assert all(len(line) == len(heads) for line in lines)
    assert lines[1][heads.index("party")] == "infinity"
    assert lines[2][heads.index("2-way")] == ""


def test_json_has_the_rows_and_the_word_for_infinity(runs: dict[str, ReportedRun]) -> None:
    rows = json.loads(comparison_json(compare(runs)))
    means = [row["run"] for row in rows if "means" in row]
    assert [row["run"] for row in rows] == [*runs, "floor", REAL, *means]
    assert means
    assert all(name.startswith("mean of ") for name in means)
    assert list(rows[1])[:8] == [
        "run",
        "protocol",
        "with",
        "parties",
        "epsilon",
        "public",
        "curator",
        "other_party",
    ]
    assert rows[1]["other_party"] == "infinity"
    assert rows[2]["neighbours"] == "add-or-remove-one"
    # Deltas stand there where they differ.
    deltas = {run.report.privacy.delta for run in runs.values()}
    assert ("delta" in rows[2]) is (len(deltas) > 1)


def test_baselines_of_other_records_are_no_baselines() -> None:
    """What runs were measured against has to be the same, in any order and by any name."""
    one, other = (
        sottovoce.run(
            "one-way", demo_table(500, seed=seed)[["sex", "age"]], seed=1, aggregator="masks"
        ).reported
        for seed in (1, 2)
    )
    for pair in ({"one": one, "other": other}, {"other": other, "one": one}):
        comparison = compare(pair)
        assert comparison.levels is None
        assert comparison.rows[2:] == [{"run": DIFFERENT}]
    assert compare({"one": one, "again": one}).rows[-1]["run"] == BASELINE


def test_runs_on_other_tables_are_not_averaged() -> None:
    """Tables differ by their rows, their split, or their place. A baseline is of one table."""
    options: Any = {"seed": 1, "aggregator": "masks"}
    small, large = (
        sottovoce.run("one-way", "demo", rows=rows, **options).reported for rows in (300, 600)
    )
    comparison = compare({"small": small, "large": large})
    assert settings(comparison) == ["rows=300", "rows=600"]
    rows = comparison.rows
    assert [(row["data"], row["rows"]) for row in rows[:2]] == [("demo", 300), ("demo", 600)]
    assert rows[2]["run"] == DIFFERENT
    split = sottovoce.run("one-way", "demo", rows=300, split="by:sex@1", **options).reported
    comparison = compare({"small": small, "split": split})
    assert settings(comparison) == ["split=even", "split=by:sex@1"]
    assert comparison.rows[2]["run"] == BASELINE
    count = sottovoce.run("head-count", demo_table(300)[["sex", "age"]], seed=1).reported
    assert compare({"table": small, "count": count}).levels is None
    secret = ReportedRun(report=msgspec.structs.replace(small.report, rows=None))
    assert "rows" not in compare({"small": small, "again": secret}).rows[0]


def test_what_follows_from_epsilon_parts_no_line() -> None:
    caps = {
        str(epsilon): sottovoce.run(
            "clldp-joint", "demo", rows=900, seed=1, epsilon=epsilon
        ).reported
        for epsilon in (1, 4)
    }
    assert [run.report.chosen["record_cap"] for run in caps.values()] == [2.0, 8.0]
    assert settings(compare(caps)) == ["", ""]
    options: Any = {"rows": 900, "seed": 1, "mode": "paper"}
    printed = sottovoce.run("privincr", "demo", **options).reported
    same = sottovoce.run("privincr", "demo", projection="norm-mul", **options).reported
    assert settings(compare({"printed": printed, "same": same})) == ["", ""]


def test_a_narrow_terminal_has_a_run_a_column(
    runs: dict[str, ReportedRun],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    comparison = compare(runs)
    print_comparison(comparison)
    wide = capsys.readouterr().out.splitlines()
    assert wide[0].split()[:4] == ["run", "protocol", "with", "parties"]
    for module in ("printing", "terminal"):
        monkeypatch.setattr(f"sottovoce.report.{module}.terminal_width", lambda: 80)
    print_comparison(comparison)
    narrow = capsys.readouterr().out.splitlines()
    blocks = [line.split()[1:] for line in narrow if line.startswith("run ")]
    assert len(blocks) > 1  # as many beside one another as there is room for
    assert [name for block in blocks for name in block] == [*runs, BASELINE, *REAL.split()]
    assert any(line.startswith("party") and "infinity" in line for line in narrow)
    table = narrow[: next(i for i, line in enumerate(narrow) if line.startswith("warning"))]
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize(
    ("classify", "text"),
    [
        ("incme", "expected --classify by one of age, .*, found 'incme': did you mean income"),
        ("income>=lots", r"expected a label of income \(<=50K, >50K\)"),
        ("education=Bachelors|none", "found 'none'"),
    ],
)
def test_what_cannot_be_classified_is_refused_before_the_run(classify: str, text: str) -> None:
    options: Any = {"rows": 500, "aggregator": "masks", "classify": ["income", classify]}
    with pytest.raises(UsageError, match=text):
        sottovoce.run("one-way", **options)
    table = demo_table(500)
    with pytest.raises(UsageError, match=text):
        sottovoce.run("one-way", table, **options)


def test_labels_of_an_inferred_schema_are_known_before_the_run() -> None:
    table = demo_table(500)[["sex", "income"]]
    run = sottovoce.run("one-way", table, seed=1, aggregator="masks", classify="income=>50K")
    assert run.reported.utility is not None
    assert [result.target for result in run.reported.utility.classification or ()] == [
        "income=>50K"
    ]
    with pytest.raises(UsageError, match="expected --classify by one of sex, income, found 'age'"):
        sottovoce.run("one-way", table, aggregator="masks", classify="age")


def test_what_was_asked_for_and_not_classified_is_said() -> None:
    run = sottovoce.run("head-count", rows=90, seed=1, classify=["income"])
    warning = "nothing was classified: head-count publishes no table to learn from"
    assert warning in run.reported.warnings
    assert warning not in run.report["warnings"]  # it is the judge's


def test_a_wrong_forecast_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon is spent by then."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("sottovoce.protocols.one_way.OneWay.predict", fail)
    run = sottovoce.run("one-way", rows=500, seed=1, aggregator="masks")
    assert run.synthetic is not None
    assert (
        "the cost could not be predicted: ZeroDivisionError: division by zero"
        in run.report["warnings"]
    )
    for name in ("warnings", "chosen"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sottovoce.protocols.one_way.OneWay.{name}", fail)
            run = sottovoce.run("one-way", rows=500, seed=1, aggregator="masks")
        assert run.synthetic is not None
        assert (
            "the protocol could not describe itself: ZeroDivisionError: division by zero"
            in run.report["warnings"]
        )


def test_what_was_not_predicted_is_said() -> None:
    run = sottovoce.run("dp-subn", rows=4000, seed=1, aggregator="masks", epsilon=4.0).reported
    sent = run.report.communication
    assert sent.predicted is not None
    [bound] = [line for line in sent.predicted if line.at_most]
    spare = bound.payload_bytes - bound.measured_payload_bytes
    assert (
        dict(summary_lines(run))["cost"]
        == f"as predicted, and {spare:,} bytes less than the bound on choices"
    )
    exact = [line for line in sent.predicted if not line.at_most]
    without = msgspec.structs.replace(sent, predicted=exact)
    run = replace(run, report=msgspec.structs.replace(run.report, communication=without))
    rest = sum(sums.payload_bytes for kind, sums in sent.by_kind.items() if kind == "Chosen")
    assert (
        dict(summary_lines(run))["cost"]
        == f"as predicted, but for {rest:,} bytes that depend on choices"
    )
    assert sent.predicted is not None
    first, *others = sent.predicted
    wrong = msgspec.structs.replace(first, payload_bytes=first.payload_bytes + 1)
    sent = msgspec.structs.replace(sent, predicted=[wrong, *others])
    run = replace(run, report=msgspec.structs.replace(run.report, communication=sent))
    assert dict(summary_lines(run))["cost"].startswith(
        f"keys/Introduction: predicted {wrong.payload_bytes:,} bytes, found {first.payload_bytes:,}"
    )


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a run with report\.json in"):
        read_report(tmp_path)
    for text in ("{", "[]", json.dumps({"protocol": "x"})):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(UsageError, match=r"expected report\.json of a run in"):
            read_report(tmp_path)


def test_a_judge_that_fails_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr("sottovoce.report.judging.judge", fail)
    run = sottovoce.run("one-way", rows=300, seed=1, aggregator="masks")
    assert run.synthetic is not None
    assert run.judgement["utility"] is None
    assert run.judgement["warnings"] == ["the utility was not measured: MemoryError: too large"]


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64("nan")])
def test_a_figure_that_json_cannot_hold_is_refused(
    value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*_: object, **__: object) -> Utility:
        return Utility(tvd={"2": 0.25, "3": value})

    monkeypatch.setattr("sottovoce.report.judging.judge", measure)
    run = sottovoce.run("one-way", rows=300, seed=1, aggregator="masks")
    expected = "expected a finite number for utility.tvd.3"
    assert run.judgement["utility"] is None
    assert run.judgement["warnings"] == [
        f"the utility was not measured: ValueError: {expected}, found {float(value)}"
    ]
    run.save(tmp_path)
    judgement = read_judgement(tmp_path)
    assert judgement is not None
    assert judgement.utility is None
