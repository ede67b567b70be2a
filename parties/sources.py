"""Sources of tables, read block by block: CSV (also .gz), Parquet, a DataFrame, or the demo table.

No process holds a whole file as text. A block of 65,536 rows is read, encoded and forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..messages import Private, UsageError
from .arrow import column_of_arrow, refuse_kind
from .columns import ALL_COLUMNS, ColumnChoice, check_header, select_columns
from .csv_form import COMMAS, CsvForm
from .demo import DEMO_ROWS, demo_blocks
from .digest import DigestedFile, TableNote, watched
from .raw import RawTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BLOCK", "DEMO", "blocks"]

DEMO: Final = "demo"
BLOCK: Final = 1 << 16
"""Rows of a block. Tables are split block by block, so another size would be another split."""


def blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None = None,
    seed: int = 0,
    only: Collection[str] | None = None,
    choice: ColumnChoice = ALL_COLUMNS,
    numeric: Collection[str] = (),
    note: TableNote | None = None,
    form: CsvForm = COMMAS,
) -> Iterator[RawTable]:
    """Read a table. Bad input is a `UsageError` that names the file.

    Args:
        source: A path, "demo", or a DataFrame.
        rows: Number of rows to read, from the first on. The default is all.
        seed: Seed of the demo table.
        only: Names of the columns to read. The default is what `choice` chooses.
        choice: Columns to take, or to drop. It is of no account with `only`.
        numeric: Columns of a CSV file that are read as numbers, if they all are. Others are texts.
        note: Is given the digest and the number of rows when all blocks have been read.
        form: What separates columns of a CSV file, and its encoding.
    """
    note = TableNote() if note is None else note
    note.rows = 0
    for block in _blocks(
        source,
        rows=rows,
        seed=seed,
        only=only,
        choice=choice,
        numeric=numeric,
        note=note,
        form=form,
    ):
        note.rows += len(block)
        yield block
    if not note.rows:
        name = source if isinstance(source, str) else "the table"
        raise UsageError(f"expected a header and at least one row in {name}, found 0 rows")


def _blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None,
    seed: int,
    only: Collection[str] | None,
    choice: ColumnChoice,
    numeric: Collection[str],
    note: TableNote,
    form: CsvForm,
) -> Iterator[RawTable]:
    if not isinstance(source, str):
        yield from map(RawTable.of, _slices(source, rows=rows, only=only, choice=choice))
    elif source == DEMO:
        for block in demo_blocks(DEMO_ROWS if rows is None else rows, seed=seed):
            names = select_columns(list(block.columns), only=only, choice=choice, where=DEMO)
            yield RawTable({name: block.columns[name] for name in names}, len(block))
    elif not os.path.isfile(source):  # noqa: PTH113 - false for names that are too long
        content = "a folder" if os.path.isdir(source) else "none"  # noqa: PTH112 - as above
        raise UsageError(f"expected a data file, found {content} at {source}: check --data")
    else:
        # The decompressors are imported for files alone.
        from .csv_file import csv_blocks

        try:
            frames = (
                _parquet(source, rows=rows, only=only, choice=choice, note=note)
                if source.endswith(".parquet")
                else csv_blocks(
                    source,
                    block=BLOCK,
                    rows=rows,
                    only=only,
                    choice=choice,
                    numeric=numeric,
                    note=note,
                    form=form,
                )
            )
            has_types = source.endswith(".parquet")
            yield from (RawTable.of(frame, has_types=has_types) for frame in frames)
        except UsageError:
            raise
        except broken_file_errors() as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reason = error.strerror if isinstance(error, OSError) else None
            raise UsageError(
                f"expected a CSV (or .csv.gz, .parquet) table in {source}, found ",
                reason or Private(lines[0]),
            ) from None


def broken_file_errors() -> tuple[type[Exception], ...]:
    """List the errors on broken files.

    They are raised by pandas, by pyarrow, and by the decompressors.
    """
    import lzma
    import tarfile
    import zipfile
    import zlib

    return (
        ValueError,
        OSError,
        ImportError,
        EOFError,
        zlib.error,
        zipfile.BadZipFile,
        lzma.LZMAError,
        tarfile.TarError,
    )


def _slices(
    source: pd.DataFrame, *, rows: int | None, only: Collection[str] | None, choice: ColumnChoice
) -> Iterator[pd.DataFrame]:
    names = [*map(str, source.columns)]
    check_header(names, where="the table")
    kept = select_columns(names, only=only, choice=choice, where="the table")
    table = source.set_axis(names, axis="columns")[kept]
    for name, dtype in zip(kept, table.dtypes, strict=True):
        kind = getattr(dtype, "pyarrow_dtype", None)
        if kind is not None:
            refuse_kind(name, kind, "the table")
    end = len(table) if rows is None else min(rows, len(table))
    for start in range(0, end, BLOCK):
        yield table.iloc[start : min(start + BLOCK, end)]


def _parquet(
    source: str,
    *,
    rows: int | None,
    only: Collection[str] | None,
    choice: ColumnChoice,
    note: TableNote,
) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UsageError(
            f"expected pyarrow for {source}, found none: pip install 'sottovoce[parquet]'"
        ) from None
    import pandas as pd

    with Path(source).open("rb") as opened, watched(opened, source):
        note.digest = DigestedFile(opened).finish()
        opened.seek(0)
        try:
            file = parquet.ParquetFile(opened)
            names = [*map(str, file.schema_arrow.names)]
            check_header(names, where=source)
            columns = select_columns(names, only=only, choice=choice, where=source)
            total = file.metadata.num_rows
            remaining = total if rows is None else min(rows, total)
            pending: list[pd.DataFrame] = []
            """Tables that do not fill a block yet, because batches end with row groups."""
            for batch in file.iter_batches(batch_size=BLOCK, columns=columns):
                part = batch.slice(0, remaining)
                remaining -= len(part)
                table = {name: column_of_arrow(name, part.column(name), source) for name in columns}
                pending.append(pd.DataFrame(table))
                while (size := sum(map(len, pending))) >= BLOCK or (pending and not remaining):
                    whole = (
                        pd.concat(pending, ignore_index=True) if len(pending) > 1 else pending[0]
                    )
                    yield whole.iloc[:BLOCK]
                    pending = [whole.iloc[BLOCK:].copy()] if size > BLOCK else []
                if not remaining:
                    break
        except ArrowException as error:
            raise ValueError(str(error)) from None
