"""A file that changes while parties read it is noticed, and the columns that a run takes.

The attack: a file that was replaced while parties read it gave mixed tables in 19 of 24 runs, all
with status 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.parties import TableNote, blocks, loading, read_schema
from sottovoce.runs import threads
from sottovoce.runs.job import Job
from sottovoce.runs.setup import (
    contribute_schema,
    load_all_records,
    load_records,
    require_one_table,
)

OLD = "sex,age\n" + "f,31\nm,40\n" * 60
NEW = "sex,age\n" + "f,31\nm,31\n" * 60
SCHEMA = {"sex": ["f", "m"], "age": ["17", "31", "40"]}
OTHER_AGES = "sex,age\n" + "f,31\nm,17\n" * 60


def replace(path: Path, content: str) -> None:
    """Replace a file as careful programs do: another file takes its name."""
    (path.parent / "new").write_text(content)
    os.replace(path.parent / "new", path)  # noqa: PTH105


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(OLD)
    return path


def run(data: Path | list[Path], **options: Any) -> sottovoce.Run:
    return sottovoce.run("one-way", data, parties=2, aggregator="masks", **options)


@pytest.mark.parametrize("content", [NEW, OTHER_AGES])
@pytest.mark.parametrize("change", [replace, Path.write_text])
def test_a_file_that_changes_between_two_readings_is_refused(
    table: Path,
    change: Callable[[Path, str], object],
    content: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every party of one file would have read another version than the schema was made of."""

    def late(*arguments: Any, **options: Any) -> Any:
        change(table, content)
        return load_all_records(*arguments, **options)

    monkeypatch.setattr(threads, "load_all_records", late)
    with pytest.raises(
        UsageError, match=rf"expected {table} to stay as it is, found that it changed after the sch"
    ):
        run(table)


@pytest.mark.parametrize("split", ["even", "sizes:1,2,3,4", "by:sex@0.5", "labels:age@0.5"])
def test_threads_read_the_table_of_all_parties_once(
    table: Path, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No party of a process can have another version, and each has the share that a rank has."""
    job = Job(
        protocol="one-way", data=(str(table),), parties=4, split=split, schema=read_schema(SCHEMA)
    )
    notes = {party: TableNote() for party in range(1, 5)}
    readings: list[object] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        readings.append(arguments)
        return blocks(*arguments, **options)

    monkeypatch.setattr(loading, "blocks", counted)
    together = load_all_records(job, schema=job.schema, notes=notes)
    assert len(readings) == 1
    assert sum(map(len, together.values())) == 120
    for party, share in together.items():
        alone = load_records(job, party=party, schema=job.schema)
        assert [*share.codes("age")] == [*alone.codes("age")]
        assert share.numbers is not None
        assert alone.numbers is not None
        assert [*share.numbers] == [*alone.numbers]


def test_three_versions_are_named_with_their_readers() -> None:
    job = Job(protocol="one-way", data=("people.csv",), parties=5)
    notes = {rank: TableNote(digest=digest, rows=9) for rank, digest in enumerate("abacb", 1)}
    with pytest.raises(
        UsageError, match="read by ranks 1 and 3, another by ranks 2 and 5, another by rank 4: "
    ):
        require_one_table(job, notes)
    require_one_table(job, dict.fromkeys(range(1, 6), TableNote(digest="a", rows=9)))


def test_parties_with_files_of_their_own_are_not_compared(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(NEW + "f,31\n")
    assert run([table, other]).report["parties"] == 2
    job = Job(protocol="one-way", data=("a", "b"), parties=2)
    require_one_table(job, {1: TableNote("a", 1), 2: TableNote("b", 2)})


def test_each_partys_own_file_is_compared_with_itself(table: Path) -> None:
    job = Job(protocol="one-way", data=(str(table), "other.csv"), parties=2)
    note = TableNote()
    schema = contribute_schema(job, party=1, needed=True, note=note)
    assert load_records(job, party=1, schema=schema, note=note)
    replace(table, NEW)
    with pytest.raises(UsageError, match="to stay as it is"):
        load_records(job, party=1, schema=schema, note=note)


@pytest.mark.mpi
def test_ranks_that_read_other_versions_end_with_one_line(
    mpi_python: str, tmp_path: Path, start: Callable[..., Any]
) -> None:
    """Rank 2 is led into another folder, as on a host with a file of its own at that path."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "people.csv").write_text(OLD)
    (tmp_path / "elsewhere" / "people.csv").write_text(NEW)
    (tmp_path / "led.py").write_text(
        "import os\n"
        "from sottovoce.protocols.one_way import OneWay\n"
        "rank = os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('PMI_RANK', ''))\n"
        "if rank == '2':\n"
        "    os.chdir('elsewhere')\n"
        "class Led(OneWay):\n"
        "    name = 'led'\n"
    )
    command = [mpi_python, "-m", "sottovoce", "run", "led:Led", "--data", "people.csv"]
    process = start([*command, "--no-rehearsal", "--out", "out"], cwd=tmp_path)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert errors.startswith(
        "sottovoce: rank 1: expected one table in people.csv at all parties, found one version "
        "read by ranks 1 and 3, another by rank 2: start again"
    )
    assert errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


# ---- columns


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"Jane {number}" for number in range(120)],
            "sex": ["f", "m"] * 60,
            "age": [17, 31, 40] * 40,
        }
    )


@pytest.mark.parametrize(
    "options", [{"drop": ["name"]}, {"columns": ["sex", "age"]}, {"columns": "age, sex"}]
)
def test_identifiers_are_refused_unless_they_are_dropped(
    people: pd.DataFrame, options: dict[str, Any], tmp_path: Path
) -> None:
    def quiet(**options: Any) -> sottovoce.Run:
        return sottovoce.run("one-way", people, aggregator="masks", **options)

    with pytest.raises(UsageError, match=r"in 'name', found 120 different values .* --drop name"):
        quiet()
    done = quiet(**options)
    assert done.domain is not None
    assert done.domain.attributes == ("sex", "age")
    assert done.judgement["utility"] is not None  # the judge sees the same columns
    assert done.synthetic is not None
    assert list(done.synthetic.columns) == ["sex", "age"]
    done.save(tmp_path / "out")
    assert "Jane" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_columns_of_a_schema_and_of_the_demo() -> None:
    schema = {"sex": ["f", "m"], "age": ["17", "31", "40"], "name": ["Jane"]}
    table = pd.DataFrame({"sex": ["f", "m"] * 60, "age": [17, 31, 40] * 40})
    done = sottovoce.run("one-way", table, aggregator="masks", schema=schema, drop=["name"])
    assert done.domain is not None
    assert done.domain.attributes == ("sex", "age")
    assert "drop" not in done.report["command"]  # the schema that the run leaves has no such column
    done = sottovoce.run("one-way", aggregator="masks", rows=300, columns=["sex", "income"])
    assert done.domain is not None
    assert done.domain.attributes == ("sex", "income")
    assert "columns=('sex', 'income')" in done.report["command"] or (
        "--columns sex,income" in done.report["command"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"drop": ["namez"]},
            "expected columns of the table for --drop, found 'namez': did you mean n",
        ),
        ({"columns": ["x"]}, r"expected columns of the table for --columns, found 'x'$"),
        ({"drop": ["name"], "columns": ["age"]}, "expected --drop or --columns, found both"),
        ({"drop": ["name", "sex", "age"]}, "expected --drop to leave a column of the table"),
        (
            {"drop": ["town"], "schema": {"sex": ["f", "m"]}},
            "expected columns of the schema for --drop, found 'town'$",
        ),
    ],
)
def test_unknown_columns_are_named(
    people: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        sottovoce.run("one-way", people, **options)


def test_the_same_columns_on_the_command_line_and_in_a_file(tmp_path: Path) -> None:
    import subprocess

    pd.DataFrame({"name": [f"J {n}" for n in range(90)], "a b": ["x", "y"] * 45, "c": 1}).to_csv(
        tmp_path / "t.csv", index=False
    )
    (tmp_path / "run.toml").write_text('data = "t.csv"\ndrop = ["name", "c"]\n')
    command = [sys.executable, "-m", "sottovoce", "run", "one-way", "--transport", "threads"]
    for number, words in enumerate(
        (
            ["--data", "t.csv", "--drop", "name", "c"],
            ["--data", "t.csv", "--columns", "a b"],
            ["--config", "run.toml"],
        )
    ):
        out = tmp_path / str(number)
        subprocess.run(
            [*command, *words, "--set", "aggregator=masks", "--out", str(out), "--quiet"],
            check=True,
            cwd=tmp_path,
            timeout=300,
        )
        assert pd.read_csv(out / "synthetic.csv").columns.tolist() == ["a b"]
