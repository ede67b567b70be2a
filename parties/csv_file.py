"""Reading a CSV file in blocks: decompressed, digested and checked line by line on the way."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from ..messages import UsageError
from .columns import ColumnChoice, check_header, select_columns
from .csv_form import CsvForm
from .csv_lines import CheckedLines, HeaderLines
from .digest import DigestedFile, TableNote, watched

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["csv_blocks"]

ZIP: Final = ".zip"
BUFFER: Final = 1 << 18
"""Bytes that are read at a time."""


def csv_blocks(
    source: str,
    *,
    block: int,
    rows: int | None,
    only: Collection[str] | None,
    choice: ColumnChoice,
    numeric: Collection[str],
    note: TableNote,
    form: CsvForm,
) -> Iterator[pd.DataFrame]:
    """Read a CSV file; columns in `numeric` are numbers, if they all are, and others are texts."""
    import pandas as pd

    with Path(source).open("rb") as file, watched(file, source):
        names = _column_names(file, source, form)
        kept = select_columns(names, only=only, choice=choice, where=source)
        done = 0
        for numbers in ({*numeric}, set[str]()):
            digest, lines = _checked(file, source, fields=len(names), form=form)
            types: dict[str, Any] = {
                name: np.float64 if name in numbers else object for name in names
            }
            try:
                with _reader(lines, types, rows=rows, block=block, form=form) as reader:
                    for number, table in enumerate(reader):
                        lines.require_good()
                        if number == done:
                            yield table[kept]
                            done += 1
                lines.require_good()
            except pd.errors.ParserError:
                lines.require_good()
                raise
            except ValueError:
                lines.require_good()
                if not numbers:
                    raise
                continue  # a text among the numbers: as text the error can name its row
            note.digest = digest()
            return


def _reader(
    lines: CheckedLines, types: dict[str, Any], *, rows: int | None, block: int, form: CsvForm
) -> pd.io.parsers.readers.TextFileReader:
    """Open pandas' reader.

    pandas must not choose what is a null, because the schema says what is missing. Numbers are read
    as Python reads them. So a value on the edge of a bin is on it in both ways.
    """
    import pandas as pd

    # From pandas 3.1 on this is the default, and asking for it is deprecated.
    exact: dict[str, Any] = (
        {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    )
    return pd.read_csv(
        cast("BinaryIO", io.BufferedReader(lines, BUFFER)),
        sep=form.separator,
        dtype=types,
        keep_default_na=False,
        nrows=rows,
        chunksize=block,
        index_col=False,
        compression=None,
        **exact,
    )


def _column_names(file: BinaryIO, source: str, form: CsvForm) -> list[str]:
    """Read a file's header.

    pandas would silently rename columns of one name.
    """
    import pandas as pd

    _refuse_compressed(file, source)
    lines = HeaderLines(form.recode(_decompressed(file, source)), where=source)
    try:
        header = pd.read_csv(
            cast("BinaryIO", io.BufferedReader(lines, BUFFER)),
            sep=form.separator,
            header=None,
            nrows=1,
            dtype=str,
            keep_default_na=False,
            compression=None,
            # pandas 2 decodes more than the header; lines that come later are checked when read.
            encoding_errors="replace",
        )
    except pd.errors.EmptyDataError:
        lines.require_good()
        raise UsageError(
            f"expected a header and at least one row in {source}, found an empty file"
        ) from None
    except (pd.errors.ParserError, UnicodeDecodeError):
        lines.require_good()
        raise
    lines.require_good()
    names = [str(name) for name in header.iloc[0]]
    check_header([name for name in names if name], where=source, separator=form.separator)
    return [name or f"Unnamed: {index}" for index, name in enumerate(names)]  # as pandas does


def _checked(
    file: BinaryIO, source: str, *, fields: int, form: CsvForm
) -> tuple[Callable[[], str], CheckedLines]:
    """Read a file from its beginning: give what digests it, and what checks its lines."""
    file.seek(0)
    digested = DigestedFile(file)
    if source.endswith(ZIP):  # an archive is read from its end
        whole = digested.finish()
        stream = form.recode(_decompressed(file, source))
        return lambda: whole, CheckedLines(
            stream, fields=fields, where=source, separator=form.separator
        )
    stream = form.recode(
        _decompressed(cast("BinaryIO", io.BufferedReader(digested, BUFFER)), source)
    )
    return digested.finish, CheckedLines(
        stream, fields=fields, where=source, separator=form.separator
    )


def _decompressed(file: BinaryIO, source: str) -> BinaryIO:
    """Decompress a file as its name says."""
    for ending, decompressor in _DECOMPRESSORS.items():
        if source.endswith(ending):
            return decompressor(file)
    return file


def _refuse_compressed(file: BinaryIO, source: str) -> None:
    """Refuse a compressed file whose name does not say that it is one."""
    begin = file.read(max(map(len, MAGIC)))
    file.seek(0)
    for magic, ending in MAGIC.items():
        if begin.startswith(magic) and not source.endswith(ending):
            way_out = f"let its name end in {ending}"
            if ending == ZIP:
                way_out = "if it is a workbook, save the sheet as CSV"
            raise UsageError(f"expected text in {source}, found a compressed file: {way_out}")


def _unzipped(file: BinaryIO) -> BinaryIO:
    """Open the only member of an archive."""
    archive = zipfile.ZipFile(file)
    members = archive.namelist()
    if len(members) != 1:
        raise UsageError(f"expected one table in a .zip file, found {len(members)} files")
    return cast("BinaryIO", archive.open(members[0]))


MAGIC: Final = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"PK\x03\x04": ZIP}
"""How compressed files begin."""
_DECOMPRESSORS: Final[dict[str, Callable[[BinaryIO], BinaryIO]]] = {
    ".gz": lambda file: cast("BinaryIO", gzip.GzipFile(fileobj=file)),
    ".bz2": lambda file: cast("BinaryIO", bz2.BZ2File(file)),
    ".xz": lambda file: cast("BinaryIO", lzma.LZMAFile(file)),  # noqa: SIM115 - the caller reads it to its end
    ZIP: _unzipped,
}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
