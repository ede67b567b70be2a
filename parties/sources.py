"""Where tables come from, block by block: CSV (also .gz), Parquet, a DataFrame, or the demo people.

Nobody holds a whole file as text: a block of 65,536 rows is read, encoded and forgotten.
"""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..messages import UsageError
from .demo import DEMO_ROWS, demo_blocks

if TYPE_CHECKING:
    import pandas as pd

# What pandas, pyarrow and the decompressors that pandas chooses by a file's name raise on broken
# files.
BROKEN: Final = (
    ValueError,
    OSError,
    ImportError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    lzma.LZMAError,
    tarfile.TarError,
)

__all__ = ["BLOCK", "DEMO", "blocks", "column_names"]

DEMO: Final = "demo"
BLOCK: Final = 1 << 16
"""Rows. The partition of a table is drawn block by block, so another size would be another
partition.
"""


def blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None = None,
    seed: int = 0,
    only: Collection[str] | None = None,
    numeric: Collection[str] = (),
) -> Iterator[pd.DataFrame]:
    """Read a table: all columns, or `only` some; the first so many `rows`, or all.

    Columns of a CSV file come as text; those that are said to be `numeric` as numbers, as long as
    they are. Bad input is a `UsageError` that names the file.
    """
    some = False
    for block in _blocks(source, rows=rows, seed=seed, only=only, numeric=numeric):
        some = some or len(block) > 0
        yield block
    if not some:
        found = f"{source}, found 0 rows" if isinstance(source, str) else "the table, found 0 rows"
        raise UsageError(f"expected a header and at least one row in {found}")


def _blocks(
    source: str | pd.DataFrame,
    *,
    rows: int | None,
    seed: int,
    only: Collection[str] | None,
    numeric: Collection[str],
) -> Iterator[pd.DataFrame]:
    if source is DEMO or (isinstance(source, str) and source == DEMO):
        yield from (
            _some(block, only)
            for block in demo_blocks(DEMO_ROWS if rows is None else rows, seed=seed)
        )
    elif not isinstance(source, str):
        table = source.set_axis(_checked([*map(str, source.columns)], "the table"), axis="columns")
        end = len(table) if rows is None else min(rows, len(table))
        yield from (
            _some(table.iloc[start : min(start + BLOCK, end)], only)
            for start in range(0, end, BLOCK)
        )
    elif not Path(source).is_file():
        raise UsageError(f"expected a data file, found none at {source}: check --data")
    else:
        read = (
            _parquet(source, rows=rows, only=only)
            if source.endswith(".parquet")
            else _csv(source, rows, only, numeric)
        )
        try:
            yield from read
        except UsageError:
            raise
        except BROKEN as error:
            reason = (
                str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            )
            raise UsageError(
                f"expected a CSV (or .csv.gz, .parquet) table in {source}, found {reason}"
            ) from None


def _some(block: pd.DataFrame, only: Collection[str] | None) -> pd.DataFrame:
    """Take the columns that are wanted; one that is not there is an error that says what is."""
    if only is None:
        return block
    if missing := [name for name in only if name not in block.columns]:
        found = ", ".join(map(str, block.columns[:30])) + (
            ", ..." if len(block.columns) > 30 else ""
        )
        raise UsageError(f"expected a column {missing[0]!r}, as the schema says, found {found}")
    return block[[name for name in block.columns if name in only]]


def column_names(source: str) -> list[str]:
    """Read a CSV file's header; pandas would rename columns of one name, and shift lines that are
    longer, in silence.
    """
    import pandas as pd

    header = pd.read_csv(source, header=None, nrows=2, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    _checked([name for name in names if name], source)
    return [name or f"Unnamed: {at}" for at, name in enumerate(names)]  # as pandas names them


def _checked(names: list[str], where: str) -> list[str]:
    if len(set(names)) < len(names):
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        raise UsageError(
            f"expected different names of columns in {where}, found {', '.join(twice)} twice"
        )
    return names


def _csv(
    source: str, rows: int | None, only: Collection[str] | None, numeric: Collection[str]
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    names = column_names(source)
    # From 3.1 on that is the default, and asking for it is deprecated.
    exact: dict[str, Any] = (
        {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    )
    done = 0
    for numbers in ({*numeric}, set[str]()):
        kinds: dict[str, Any] = {name: np.float64 if name in numbers else object for name in names}
        # Nothing is a null of pandas' choosing: the schema says what is missing. Numbers are read
        # as Python reads them, so that what lies on the edge of a bin does so on either way.
        with pd.read_csv(
            source,
            dtype=kinds,
            keep_default_na=False,
            nrows=rows,
            chunksize=BLOCK,
            index_col=False,
            **exact,
        ) as reader:
            try:
                for number, block in enumerate(reader):
                    if number == done:
                        yield _some(block, only)
                        done += 1
            except pd.errors.ParserError:
                raise
            except ValueError:
                if not numbers:
                    raise
                continue  # a text among the numbers: read all as text, which can say where it is
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
        names = _checked([*map(str, file.schema_arrow.names)], source)
        left = file.metadata.num_rows if rows is None else min(rows, file.metadata.num_rows)
        held: list[pd.DataFrame] = []
        for batch in file.iter_batches(
            batch_size=BLOCK, columns=[name for name in names if only is None or name in only]
        ):
            part = batch.slice(0, left)
            left -= len(part)
            table = pd.DataFrame(
                {name: _column(name, part.column(name), source) for name in part.schema.names}
            )
            # Batches end with row groups; ours are all of one size.
            held.append(
                table if only is None or set(only) <= set(names) else table.reindex(columns=names)
            )
            while (size := sum(map(len, held))) >= BLOCK or (held and not left):
                whole = pd.concat(held, ignore_index=True) if len(held) > 1 else held[0]
                yield _some(whole.iloc[:BLOCK], only)
                held = [whole.iloc[BLOCK:].copy()] if size > BLOCK else []
            if not left:
                break
    except ArrowException as error:
        raise ValueError(str(error)) from None


def _column(name: str, values: Any, source: str) -> Any:
    """Take a column out of Arrow: numbers as they are if none is missing, everything else value by
    value as objects.

    Integers with a null among them would become floats on pandas' own way, and other texts.
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
    if values.null_count == 0 and (types.is_integer(values.type) or types.is_floating(values.type)):
        return values.to_numpy(zero_copy_only=False)
    if types.is_floating(values.type):
        return values.to_numpy(zero_copy_only=False)
    return np.array(values.to_pandas(integer_object_nulls=True), dtype=object)
