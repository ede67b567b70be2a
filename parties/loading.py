"""The loading of records: a table is read, and each party is given its share of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..messages import Private, UsageError
from .columns import ALL_COLUMNS, ColumnChoice
from .counting import CodedTable
from .csv_form import COMMAS, CsvForm
from .digest import TableNote
from .partition import SortKey, Split
from .raw import RawTable, join_tables
from .records import Records, texts_of
from .schema import Schema
from .sources import blocks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load", "load_shares"]


def load(
    source: str | pd.DataFrame,
    *,
    schema: Schema | None = None,
    rows: int | None = None,
    seed: int = 0,
    party: int = 1,
    split: Split | None = None,
    choice: ColumnChoice = ALL_COLUMNS,
    only: Collection[str] | None = None,
    note: TableNote | None = None,
    form: CsvForm = COMMAS,
) -> Records:
    """Read a table, or a party's share of it under a public `split`.

    With a schema the file is read in blocks and kept as codes, a byte or two for each value.
    Without one the columns of `choice` are kept, or those that `only` names. `note` is given the
    file's digest.
    """
    if split is None:
        tables = _tables(
            source,
            schema=schema,
            rows=rows,
            seed=seed,
            choice=choice,
            only=only,
            note=note,
            form=form,
        )
        return Records(_join([*tables]))
    shares = load_shares(
        source,
        split=split,
        parties=[party],
        schema=schema,
        rows=rows,
        seed=seed,
        choice=choice,
        only=only,
        note=note,
        form=form,
    )
    return shares[party]


def load_shares(
    source: str | pd.DataFrame,
    *,
    split: Split,
    parties: Sequence[int],
    schema: Schema | None = None,
    rows: int | None = None,
    seed: int = 0,
    choice: ColumnChoice = ALL_COLUMNS,
    only: Collection[str] | None = None,
    note: TableNote | None = None,
    form: CsvForm = COMMAS,
) -> dict[int, Records]:
    """Read a table once, and give these parties their shares of it under a public split.

    A split by attributes has to see all rows first. Any other keeps only the rows of the parties.
    """
    tables = _tables(
        source,
        schema=schema,
        rows=rows,
        seed=seed,
        choice=choice,
        only=only,
        note=note,
        form=form,
    )
    if split.by:
        whole = _join([*tables])
        split.check(len(whole))
        keys = [_sort_key(whole, name) for name in split.by]
        shares = split.of_table(keys, parties=parties, rows=len(whole), seed=seed)
        return {
            party: Records(whole.take(chosen), numbers=chosen) for party, chosen in shares.items()
        }
    parts: dict[int, list[CodedTable | RawTable]] = {party: [] for party in parties}
    indices: dict[int, list[npt.NDArray[np.int64]]] = {party: [] for party in parties}
    before = 0
    for number, table in enumerate(tables):
        rows_of_block = split.of_block(
            parties=parties, rows=len(table), before=before, number=number, seed=seed
        )
        for party, chosen in rows_of_block.items():
            parts[party].append(table.take(chosen))
            indices[party].append(before + chosen)
        before += len(table)
    split.check(before)
    # What is joined is forgotten, so that no two copies of all shares are there at once.
    return {
        party: Records(_join(parts.pop(party)), numbers=np.concatenate(indices.pop(party)))
        for party in parties
    }


def _tables(
    source: str | pd.DataFrame,
    *,
    schema: Schema | None,
    rows: int | None,
    seed: int,
    choice: ColumnChoice,
    only: Collection[str] | None,
    note: TableNote | None,
    form: CsvForm,
) -> Iterator[CodedTable | RawTable]:
    """Read a table block by block, and encode it if there is a schema."""
    domain = None if schema is None else schema.domain
    rows_read = rows_kept = 0
    source_blocks = blocks(
        source,
        rows=rows,
        seed=seed,
        only=only if schema is None else schema.attributes.keys(),
        choice=choice,
        note=note,
        form=form,
        numeric=() if schema is None else schema.numeric,
    )
    for block in source_blocks:
        table: CodedTable | RawTable = block
        if schema is not None and domain is not None:
            table = CodedTable(schema.encode(block, before=rows_read), domain)
        rows_read += len(block)
        rows_kept += len(table)
        yield table
    if not rows_kept:
        name = source if isinstance(source, str) else "the table"
        raise UsageError(
            f"expected at least one row without missing values in {name}, found ",
            Private(rows_read),
            " rows with some",
        )


def _join(tables: Sequence[CodedTable | RawTable]) -> CodedTable | RawTable:
    coded = [table for table in tables if isinstance(table, CodedTable)]
    if coded:
        columns = zip(*(table.codes for table in coded), strict=True)
        return CodedTable([np.concatenate(parts) for parts in columns], coded[0].domain)
    return join_tables([table for table in tables if isinstance(table, RawTable)])


def _sort_key(table: CodedTable | RawTable, name: str) -> SortKey:
    """Find the key of an attribute: its codes, or the order of its texts."""
    names = table.domain.attributes if isinstance(table, CodedTable) else (*table.columns,)
    if name not in names:
        raise UsageError(
            "expected an attribute of the data (",
            Private(", ".join(names)),
            f") in --split, found {name!r}",
        )
    if isinstance(table, CodedTable):
        return table.codes[names.index(name)]
    _, places = np.unique(texts_of(table, name), return_inverse=True)
    return places
