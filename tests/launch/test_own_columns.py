"""A protocol on columns that the demo does not have: planned, rehearsed, run and audited."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.messages import SottovoceError, UsageError
from sottovoce.runs.failure import RunFailed

NAME = "own_columns:MeanOfColumn"
MASKS = ("--set", "aggregator=masks")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the protocol, a schema and a table of ten people."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copy(Path(__file__).with_name("own_columns.py"), tmp_path)
    bins = {"bins": 5, "range": [20, 30], "kind": "numbers"}
    Path("columns.json").write_text(json.dumps({"bmi": bins, "ward": ["A", "B"]}))
    people = [f"{20 + person},A,secret {person}" for person in range(10)]
    Path("people.csv").write_text("bmi,ward,note\n" + "\n".join(people * 30) + "\n")
    return tmp_path


def fails(*words: str) -> SottovoceError:
    error = CliRunner().invoke(app, [*words]).exception
    assert isinstance(error, SottovoceError)
    assert "\n" not in str(error)
    return error


def test_a_plan_makes_up_numbers_as_the_schema_says() -> None:
    words = ["plan", NAME, *MASKS, "--schema", "columns.json", "--network", "lan"]
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    (forecast, *_) = json.loads(result.output)
    # The values are uniform on [20, 30], so the mean of 45,222 has a deviation of 0.014. Noise adds
    # at most 0.01. Beyond 0.2 lies less than 1e-20.
    assert float(forecast["figures"]["mean"]) == pytest.approx(25, abs=0.2)


def test_a_plan_without_a_schema_names_the_way_out() -> None:
    error = fails("plan", NAME, *MASKS)
    assert isinstance(error, UsageError)
    assert "found 'bmi': these are the demo's; plan with --schema FILE" in str(error)
    assert "`sottovoce schema TABLE --out FILE` proposes one" in str(error)
    example = re.search(r"such as ({.*}});", str(error))
    assert example is not None
    Path("example.json").write_text(example.group(1))
    words = ["plan", NAME, *MASKS, "--rows", "300", "--schema", "example.json"]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_a_plan_with_a_schema_that_lacks_the_column_says_so() -> None:
    words = ("--set", "column=note", "--schema", "columns.json")
    error = fails("plan", NAME, *MASKS, *words)
    assert "(bmi, ward), found 'note': these are the columns of --schema" in str(error)


def test_a_run_without_a_table_names_the_way_out() -> None:
    with pytest.raises(UsageError, match="found 'bmi': these are the demo's; --data FILE"):
        sottovoce.run(NAME, no_rehearsal=True, aggregator="masks", rows=300)


def test_a_run_with_a_schema_reads_its_columns_as_they_are_in_the_file() -> None:
    run = sottovoce.run(NAME, "people.csv", schema="columns.json", aggregator="masks", seed=1)
    assert run.report["outcome"]["mean"] == pytest.approx(24.5, abs=6)  # deviation of noise 0.34
    assert "rehearsal" not in " ".join(run.report["warnings"])
    with pytest.raises(UsageError, match="note"):
        sottovoce.run(NAME, "people.csv", schema="columns.json", column="note", no_rehearsal=True)


def test_a_schema_that_names_other_columns_than_the_table_is_refused() -> None:
    Path("other.json").write_text('{"weight": {"bins": 5, "range": [20, 30]}}')
    with pytest.raises(UsageError, match="expected a column 'weight' in"):
        sottovoce.run(NAME, "people.csv", schema="other.json", column="weight", no_rehearsal=True)


def test_the_folder_of_such_a_run_has_the_schema_that_its_command_names(folder: Path) -> None:
    run = sottovoce.run(NAME, "people.csv", schema="columns.json", aggregator="masks", seed=1)
    run.save(folder / "kept")
    assert json.loads((folder / "kept" / "schema.json").read_text())["ward"] == ["A", "B"]


def test_an_audit_names_the_way_out_from_the_demo() -> None:
    error = fails("audit", NAME, *MASKS, "--runs", "8")
    assert "found 'bmi': these are the columns of --data demo: --data FILE takes" in str(error)


def test_an_audit_shows_the_error_of_the_authors_code() -> None:
    error = fails("audit", NAME, *MASKS, "--runs", "8", "--set", "column=sex")
    assert isinstance(error, RunFailed)
    assert "party" in str(error)
    assert "ValueError: could not convert string to float" in str(error)
    assert str(error).endswith("--data FILE takes those of your table, and what they hold")
    assert "column(self.parameters.column).astype(float)" in error.traceback


def test_an_audit_of_a_table_of_ones_own_says_nothing_of_the_demo() -> None:
    error = fails("audit", NAME, *MASKS, "--runs", "8", "--data", "people.csv", "--set", "column=x")
    assert str(error).endswith("found 'x'")
    words = ["audit", NAME, *MASKS, "--runs", "8", "--data", "people.csv", "--seed", "1"]
    assert CliRunner().invoke(app, words).exit_code == 0
