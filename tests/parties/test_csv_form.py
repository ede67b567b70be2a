"""The form of CSV files: separators, encodings, and what is no text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.parties import CsvForm, blocks, join_tables, load

PEOPLE = pd.DataFrame({"name": ["Zoë", 'An "odd" one', "a;b,c\td"], "weight": ["61,5", "7", ""]})


@pytest.mark.parametrize("separator", [",", ";", "tab", "bar"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_every_form_gives_the_same_table(separator: str, encoding: str, tmp_path: Path) -> None:
    form = CsvForm.of(separator=separator, encoding=encoding)
    path = tmp_path / "people.csv.gz"
    PEOPLE.to_csv(path, sep=form.separator, encoding=encoding, index=False)
    table = join_tables(list(blocks(str(path), form=form))).frame()
    pd.testing.assert_frame_equal(table, PEOPLE.astype(object), check_dtype=False)


def test_a_byte_order_mark_before_a_quoted_header_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b'\xef\xbb\xbf"a,b",c\r\n1,2\r\n')
    assert list(load(str(path)).attributes) == ["a,b", "c"]


def test_a_long_file_of_another_encoding_is_read_in_blocks(tmp_path: Path) -> None:
    rows = 70_000
    places = np.random.default_rng(0).integers(3, size=rows)
    towns = np.array(["Łódź", "Bern", "São Paulo"])[places]
    path = tmp_path / "towns.csv"
    pd.DataFrame({"town": towns, "row": range(rows)}).to_csv(path, encoding="utf-16", index=False)
    records = load(str(path), form=CsvForm.of(encoding="utf-16"))
    assert records.column("town").tolist() == towns.tolist()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "found an empty file"),
        (b"name,age\nZo\xeb,3\n", "line 2 of .*found the byte 0xeb: say how .*--encoding latin-1"),
        (b"na\xefve,age\n1,3\n", "line 1 of .*found the byte 0xef"),
        (b"name,age\nZ,3\nA\0nn,4\n", "line 3 of .*found a NUL byte"),
        (
            b"a,b,a\n1,2,3\n",
            "different names of columns in .*found a twice, in columns 1, 3: rename them",
        ),
    ],
)
def test_what_is_no_text_is_named_with_the_way_out(
    content: bytes, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        load(str(path))


def test_a_wrong_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"name,age\nZo\xeb,3\n")
    with pytest.raises(UsageError, match=r"expected text in utf-8 in line 2"):
        load(str(path), form=CsvForm.of(encoding="ascii"))
    with pytest.raises(UsageError, match="an encoding such as utf-8"):
        CsvForm.of(encoding="klingon")
    for separator in ("", ";;", "a", "\n"):
        with pytest.raises(UsageError, match="one character for --separator"):
            CsvForm.of(separator=separator)


def test_a_ragged_line_is_named_with_another_separator(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a;b\n1;2\n1;2;3\n")
    with pytest.raises(UsageError, match=r"expected 2 fields in line 3 of .*found 3"):
        load(str(path), form=CsvForm.of(separator=";"))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", b"\x1f\x8b\x08\x00\x00", "found a compressed file: let its name end in .gz"),
        ("a.csv", b"BZh91AY&", "found a compressed file: let its name end in .bz2"),
        ("a.xlsx", b"PK\x03\x04\x14\x00", "if it is a workbook, save the sheet as CSV"),
        ("a.csv", b'x,y\n1,2\n"3,4\n', "expected a closing quote for that of line 3 of"),
    ],
)
def test_files_that_are_no_tables_are_named(
    name: str, content: bytes, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(str(path))
    assert complaint in str(caught.value)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found a folder at"):
        load(str(tmp_path))
