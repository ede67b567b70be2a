"""CSV files: lines that pandas would swallow, files in one column, and files that change."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.parties import blocks, digest_of, load
from sottovoce.parties.csv_lines import MAX_RECORD, CheckedLines
from sottovoce.parties.digest import TableNote

FIELDS = [
    "",
    "x",
    "12",
    " ",
    "a b",
    'half of 5" pipe',
    '"a,b"',
    '"two\nlines"',
    '"say ""hi"""',
    '""',
]


def checked(data: bytes, *, fields: int, sizes: Callable[[], int]) -> str:
    """Read bytes in pieces of these sizes; give the problem, if there is one."""
    lines = CheckedLines(io.BytesIO(data), fields=fields, where="people.csv")
    while lines.read(sizes()):
        pass
    return str(lines.problem or "")


@pytest.mark.parametrize("seed", range(40))
def test_the_first_wrong_line_is_named(seed: int) -> None:
    """The referee knows the line by construction: how many lines each row before it has."""
    generator = np.random.default_rng(seed)
    fields, rows = int(generator.integers(2, 5)), int(generator.integers(1, 30))
    choices = FIELDS if seed % 2 else FIELDS[:5]
    end = "\r\n" if seed % 3 == 0 else "\n"
    table = [[str(text) for text in generator.choice(choices, fields)] for _ in range(rows)]
    lines = [",".join(row) for row in table]

    def sizes() -> int:
        return int(generator.integers(1, 40))

    good = end.join(lines) + (end if seed % 4 else "") + end * int(generator.integers(0, 3))
    assert checked(good.encode(), fields=fields, sizes=sizes) == ""
    place = int(generator.integers(0, rows))
    number = 1 + sum(1 + line.count("\n") for line in lines[:place])
    empty = (
        f"expected a row in line {number} of people.csv, found an empty line: "
        "remove all empty lines"
    )
    wrong = {
        ",".join(["x"] * (fields - 1)): f"expected {fields} fields in line {number} of people.csv, "
        f"as in its header, found {fields - 1}: complete the line, or leave it out",
        ",".join(["x"] * (fields + 1)): f"expected {fields} fields in line {number} of people.csv, "
        f"as in its header, found {fields + 1}: complete the line, or leave it out",
        "": empty,
        " \t": empty,
    }
    for line, problem in wrong.items():
        text = end.join([*lines[:place], line, *lines[place:]])
        assert checked(text.encode(), fields=fields, sizes=sizes) == problem


def test_one_column_has_no_empty_lines_either() -> None:
    assert checked(b"a\n1\n\n", fields=1, sizes=lambda: 3) == ""
    assert "line 2 of" in checked(b"a\n\n1\n", fields=1, sizes=lambda: 3)


def test_a_quoted_field_without_a_text_is_a_row_of_one_column(tmp_path: Path) -> None:
    """pandas and the csv module write a missing value of a single column so."""
    for field in (b'""', b'" "'):
        assert checked(b"a\n" + field + b"\n1\n", fields=1, sizes=lambda: 3) == ""
        problem = checked(b"a,b\n" + field + b"\n1,2\n", fields=2, sizes=lambda: 3)
        assert problem.startswith("expected 2 fields in line 2")
    table = pd.DataFrame({"a": ["x", None, "y", None] * 25})
    table.to_csv(path := tmp_path / "one.csv", index=False)
    run = sottovoce.run(
        "one-way", str(path), parties=2, epsilon=20, aggregator="masks", seed=1, judge=False
    )
    (again := tmp_path / "again.csv").write_bytes(run.files["synthetic.csv"])
    assert sottovoce.evaluate(path, again, ways=[1]).distances[0].average < 0.1


def test_a_quoted_empty_row_between_rows_ends_no_empty_lines() -> None:
    assert checked(b'a\n1\n\n""\n', fields=1, sizes=lambda: 3).startswith(
        "expected a row in line 3"
    )


def test_old_ends_of_lines_are_ends() -> None:
    assert checked(b"a,b\r1,2\r3,4\r", fields=2, sizes=lambda: 100) == ""
    assert "in line 2" in checked(b"a,b\r1\r3,4\r", fields=2, sizes=lambda: 100)


def test_a_quote_that_is_never_closed_is_noticed_before_it_fills_the_memory() -> None:
    data = b'a,b\n1,"2\n' + b"3,4\n" * MAX_RECORD
    problem = checked(data, fields=2, sizes=lambda: 1 << 16)
    assert "expected 2 fields in line 2" in problem


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a,b\n1,2\n\n3,4\n", "expected a row in line 3 of .*table.csv, found an empty line"),
        ("a,b\n1,2\n3\n5,6\n", "expected 2 fields in line 3 of .*table.csv, .* found 1"),
        ("a,b\n1,2\n3,4,5\n", "expected 2 fields in line 3 of .*table.csv, .* found 3"),
        ("a,b\n1,2,3\n4,5,6\n", "expected 2 fields in line 2 of .*table.csv, .* found 3"),
        ("\na,b\n1,2\n", "expected a row in line 1 of .*table.csv"),
    ],
)
@pytest.mark.parametrize("numeric", [(), ("a", "b")])
def test_lines_that_pandas_would_swallow_are_refused(
    content: str, complaint: str, numeric: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(UsageError, match=complaint):
        list(blocks(str(tmp_path / "table.csv"), numeric=numeric))


def test_a_wrong_line_far_behind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 200_000 + "1\n" + "1,2\n" * 5)
    with pytest.raises(UsageError, match="in line 200002 of"):
        load(str(path))
    assert len(load(str(path), rows=10)) == 10


@pytest.mark.parametrize(
    ("separator", "name"), [(";", "semicolons"), ("|", "vertical bars"), ("\t", "tabs")]
)
def test_a_file_in_one_column_is_refused_with_the_way_out(
    separator: str, name: str, tmp_path: Path
) -> None:
    """The attack: whole records of such a file were published as categories."""
    path = tmp_path / "people.csv"
    rows = [["name", "diagnosis"], ["Jane Doe", "HIV"], ["John Doe", "none"]]
    path.write_text("".join(f"{separator.join(row)}\n" for row in rows))
    complaint = f"separated by commas in {path}, found one column with {name} in its header"
    way_out = f"pandas.read_csv(..., sep={separator!r})"
    for source in (str(path), pd.read_csv(path)):
        with pytest.raises(UsageError) as caught:
            load(source)
        assert way_out in str(caught.value)
        assert complaint.replace(f" in {path}", "").split(", found ")[1] in str(caught.value)
        assert "diagnosis" not in str(caught.value)
    assert complaint in str(_error(lambda: load(str(path))))
    # the way out leads out
    assert load(pd.read_csv(path, sep=separator)).attributes == ("name", "diagnosis")


def _error(act: Callable[[], Any]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip"])
def test_every_reading_notes_the_digest_of_the_whole_file(ending: str, tmp_path: Path) -> None:
    text = ("age,sex\n" + "31,f\n40,m\n" * 50_000).encode()
    path = tmp_path / f"people{ending}"
    packers: dict[str, Callable[[bytes], bytes]] = {
        ".csv.gz": gzip.compress,
        ".csv.bz2": bz2.compress,
        ".csv.xz": lzma.compress,
    }
    if ending == ".csv.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("people.csv", text)
    else:
        path.write_bytes(packers.get(ending, bytes)(text))
    for rows, numeric in ((None, ()), (3, ()), (None, ("age",)), (None, ("sex",))):
        note = TableNote()
        tables = list(blocks(str(path), rows=rows, numeric=numeric, note=note))
        assert note.rows == sum(map(len, tables)) == (rows or 100_000)
        assert note.digest == digest_of(str(path))


def test_a_parquet_file_is_digested_and_read_in_part(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    pd.DataFrame({"a": range(100), "b": ["x"] * 100}).to_parquet(path)
    note = TableNote()
    (table,) = blocks(str(path), rows=7, note=note)
    assert (note.rows, note.digest) == (7, digest_of(str(path)))
    assert list(table.columns) == ["a", "b"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"people{ending}"
    frame = pd.DataFrame({"a": range(150_000)})
    if ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    reading = blocks(str(path))
    next(reading)
    with path.open("ab") as file:
        file.write(b"1\n")
    with pytest.raises(UsageError, match=rf"expected {path} to stay as it is, found that it chang"):
        list(reading)


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    path, other = tmp_path / "people.csv", tmp_path / "other.csv"
    path.write_text("a\n" + "1\n" * 150_000)
    before = digest_of(str(path))
    note = TableNote()
    reading = blocks(str(path), note=note)
    tables = [next(reading)]
    other.write_text("a\n" + "2\n" * 150_000)
    os.replace(other, path)  # noqa: PTH105 - what a careful program does
    tables += reading
    values = np.concatenate([table.frame()["a"] for table in tables])
    assert set(values) == {"1"}
    assert note.digest == before != digest_of(str(path))


@pytest.mark.parametrize(
    ("header", "name"),
    [(",age,sex", "Unnamed: 0"), ("age,sex,", "Unnamed: 2")],
    ids=["an index", "a comma at the end"],
)
def test_a_column_without_a_name_is_refused_until_it_is_named(
    tmp_path: Path, header: str, name: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n" + "1,2,3\n" * 40)
    options: dict[str, Any] = {"parties": 2, "aggregator": "masks", "judge": False}
    with pytest.raises(UsageError, match=rf"pandas calls {name}, .*--drop '{name}'"):
        sottovoce.run("one-way", str(path), **options)
    left = sottovoce.run("one-way", str(path), drop=[name], **options).synthetic
    assert left is not None
    assert name not in left.columns
    for ways in ({"columns": [name]}, {"schema": {name: ["1", "2", "3"]}}):
        taken = sottovoce.run("one-way", str(path), **options, **ways).synthetic
        assert taken is not None
        assert [*taken.columns] == [name]


def test_a_proposal_leaves_out_an_index_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    pd.DataFrame({"age": [1, 2] * 20}, index=[*range(7, 47)]).to_parquet(path)
    with pytest.raises(UsageError, match=r"--drop __index_level_0__"):
        sottovoce.run("one-way", str(path), parties=2, aggregator="masks", judge=False)
    proposal = sottovoce.propose_schema(str(path))
    assert [*proposal.schema] == ["age"]
    (_, left_out) = sorted(proposal.proposals, key=lambda item: item.name != "age")
    assert left_out.reason == "it has no name, so it may be an index that pandas wrote"
    assert proposal.check(str(path)).empty
