"""Sources of tables, read block by block: CSV (also .gz), Parquet, a DataFrame, or the demo table.

No process holds a whole file as text. A block of 65,536 rows is read, encoded and forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..messages import UsageError
from .demo import DEMO_ROWS, demo_blocks
from .raw import RawTable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["BLOCK", "DEMO", "blocks", "column_names"]

DEMO: Final = "demo"
BLOCK: Final = 1 << 16
"""Rows of a block. Tables are split block by block, so another size would be another split."""
MAX_SHOWN_COLUMNS: Final = 30


def blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None = None,
    seed: int = 0,
    only: Collection[str] | None = None,
    numeric: Collection[str] = (),
) -> Iterator[RawTable]:
    """Read a table. Bad input is a `UsageError` that names the file.

    Args:
        source: A path, "demo", or a DataFrame.
        rows: Number of rows to read, from the first on. The default is all.
        seed: Seed of the demo table.
        only: Names of the columns to read. The default is all.
        numeric: Columns of a CSV file that are read as numbers, if they all are. Others are texts.
    """
    is_empty = True
    for block in _blocks(source, rows=rows, seed=seed, only=only, numeric=numeric):
        is_empty = is_empty and len(block) == 0
        yield block
    if is_empty:
        name = source if isinstance(source, str) else "the table"
        raise UsageError(f"expected a header and at least one row in {name}, found 0 rows")


def _blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None,
    seed: int,
    only: Collection[str] | None,
    numeric: Collection[str],
) -> Iterator[RawTable]:
    if not isinstance(source, str):
        yield from map(RawTable.of, _slices(source, rows=rows, only=only))
    elif source == DEMO:
        for block in demo_blocks(DEMO_ROWS if rows is None else rows, seed=seed):
            names = _selected(list(block.columns), only)
            yield RawTable({name: block.columns[name] for name in names}, len(block))
    elif not Path(source).is_file():
        raise UsageError(f"expected a data file, found none at {source}: check --data")
    else:
        try:
            if source.endswith(".parquet"):
                yield from map(RawTable.of, _parquet(source, rows=rows, only=only))
            else:
                frames = _csv(source, rows=rows, only=only, numeric=numeric)
                yield from map(RawTable.of, frames)
        except UsageError:
            raise
        except broken_file_errors() as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(
                f"expected a CSV (or .csv.gz, .parquet) table in {source}, found {lines[0]}"
            ) from None


def broken_file_errors() -> tuple[type[Exception], ...]:
    """List the errors on broken files.

    They are raised by pandas, by pyarrow, and by the decompressors that pandas chooses by name.
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
    source: pd.DataFrame, *, rows: int | None, only: Collection[str] | None
) -> Iterator[pd.DataFrame]:
    names = [*map(str, source.columns)]
    _require_different(names, "the table")
    table = source.set_axis(names, axis="columns")
    end = len(table) if rows is None else min(rows, len(table))
    for start in range(0, end, BLOCK):
        yield _select(table.iloc[start : min(start + BLOCK, end)], only)


def _select(block: pd.DataFrame, only: Collection[str] | None) -> pd.DataFrame:
    return block if only is None else block[_selected(list(block.columns), only)]


def _selected(names: Sequence[str], only: Collection[str] | None) -> list[str]:
    """Select the columns `only`; a missing one is an error that lists those of the table."""
    if only is None:
        return list(names)
    if missing := [name for name in only if name not in names]:
        shown = ", ".join(map(str, names[:MAX_SHOWN_COLUMNS]))
        more = ", ..." if len(names) > MAX_SHOWN_COLUMNS else ""
        raise UsageError(
            f"expected a column {missing[0]!r}, as the schema says, found {shown}{more}"
        )
    return [name for name in names if name in only]


def column_names(source: str) -> list[str]:
    """Read a CSV file's header.

    Pandas would silently rename columns of one name, and shift lines that are longer.
    """
    import pandas as pd

    header = pd.read_csv(source, header=None, nrows=2, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    _require_different([name for name in names if name], source)
    return [name or f"Unnamed: {index}" for index, name in enumerate(names)]  # as pandas does


def _require_different(names: list[str], where: str) -> None:
    if len(set(names)) < len(names):
        duplicates = sorted(name for name in set(names) if names.count(name) > 1)
        raise UsageError(
            f"expected different names of columns in {where}, found {', '.join(duplicates)} twice"
        )


def _csv(
    source: str, *, rows: int | None, only: Collection[str] | None, numeric: Collection[str]
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    names = column_names(source)
    # From pandas 3.1 on this is the default, and asking for it is deprecated.
    exact: dict[str, Any] = (
        {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    )
    done = 0
    for numbers in ({*numeric}, set[str]()):
        types: dict[str, Any] = {name: np.float64 if name in numbers else object for name in names}
        # Pandas must not choose what is a null, because the schema says what is missing. Numbers
        # are read as Python reads them. So a value on the edge of a bin is on it in both ways.
        with pd.read_csv(
            source,
            dtype=types,
            keep_default_na=False,
            nrows=rows,
            chunksize=BLOCK,
            index_col=False,
            **exact,
        ) as reader:
            try:
                for number, block in enumerate(reader):
                    if number == done:
                        yield _select(block, only)
                        done += 1
            except pd.errors.ParserError:
                raise
            except ValueError:
                if not numbers:
                    raise
                continue  # a text among the numbers: as text the error can name its row
        return


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _parquet(
    source: str, *, rows: int | None, only: Collection[str] | None
) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UsageError(
            f"expected pyarrow for {source}, found none: pip install 'sottovoce[parquet]'"
        ) from None
    import pandas as pd

    try:
        file = parquet.ParquetFile(source)
        names = [*map(str, file.schema_arrow.names)]
        _require_different(names, source)
        remaining = file.metadata.num_rows if rows is None else min(rows, file.metadata.num_rows)
        columns = [name for name in names if only is None or name in only]
        pending: list[pd.DataFrame] = []
        """Tables that do not fill a block yet, because batches end with row groups."""
        for batch in file.iter_batches(batch_size=BLOCK, columns=columns):
            part = batch.slice(0, remaining)
            remaining -= len(part)
            table = pd.DataFrame(
                {name: _column(name, part.column(name), source) for name in part.schema.names}
            )
            is_complete = only is None or set(only) <= set(names)
            pending.append(table if is_complete else table.reindex(columns=names))
            while (size := sum(map(len, pending))) >= BLOCK or (pending and not remaining):
                whole = pd.concat(pending, ignore_index=True) if len(pending) > 1 else pending[0]
                yield _select(whole.iloc[:BLOCK], only)
                pending = [whole.iloc[BLOCK:].copy()] if size > BLOCK else []
            if not remaining:
                break
    except ArrowException as error:
        raise ValueError(str(error)) from None


def _column(name: str, values: pa.Array, source: str) -> Any:
    """Convert a column from Arrow: numbers if none is missing, otherwise objects.

    Pandas' own conversion would make floats of integers with a null among them, and other texts.
    """
    from pyarrow import types

    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if (
        types.is_nested(values.type)
        or types.is_binary(values.type)
        or types.is_large_binary(values.type)
    ):
        raise UsageError(
            f"expected texts and numbers in {source}, found {values.type} in column {name!r}"
        )
    is_integer, is_float = types.is_integer(values.type), types.is_floating(values.type)
    if is_float or (is_integer and values.null_count == 0):
        return values.to_numpy(zero_copy_only=False)
    return np.array(values.to_pandas(integer_object_nulls=True), dtype=object)
