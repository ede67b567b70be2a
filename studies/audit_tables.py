"""Worst-case neighbours: made-up tables of few rows, and one record that is replaced.

The audit's adversary knows all records but one. So tables are small, and the two candidates for the
unknown record differ in every attribute: then as many statistics as possible change, and by as much
as possible.

    lone      all records are alike but the one that is replaced, which differs from them in one
              half of the attributes, or in the other half
    opposite  half of the records have all first labels, the others all last labels; the replaced
              record changes sides
    mixed     labels drawn at random; the replaced record has all first labels, or all last labels
    pair      a party has two records alone
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..parties import COMMAS, DEMO_SCHEMA, CsvForm, Schema, blocks
from ..parties.demo import demo_table
from ..parties.schema_file import read_schema
from ..privacy import Neighbours

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AUDIT_TABLES",
    "NeighbouringTables",
    "audit_schema",
    "neighbouring_tables",
    "read_labels",
    "typed_schema",
]

MADE_UP: Final = "made-up"
LABEL_ROWS: Final = 2_000
"""Rows of a table from which its labels are read."""
AUDIT_TABLES: Final = ("lone", "opposite", "mixed", "pair")
"""The names of the made-up tables."""
PAIR_ROWS: Final = 2
SHUFFLE_SEED: Final = 5
"""Seed of the table of random labels. It is no secret."""

Codes = npt.NDArray[np.int64]


class NeighbouringTables(NamedTuple):
    """The parties' tables, and the table of the audited party with one record replaced."""

    name: str
    tables: tuple[pd.DataFrame, ...]
    neighbour: pd.DataFrame
    party: int
    """The audited party's number, from 1."""


def audit_schema(sizes: Sequence[int]) -> Mapping[str, list[str]]:
    """Give attributes a, b, c ... with so many labels each; the last one is called label."""
    names = [chr(ord("a") + index) for index in range(len(sizes) - 1)] + ["label"]
    return {
        name: [f"{name}{code}" for code in range(size)]
        for name, size in zip(names, sizes, strict=True)
    }


def neighbouring_tables(
    name: str,
    schema: Mapping[str, Sequence[Any]],
    *,
    rows: int,
    parties: int,
    party: int,
    neighbours: Neighbours,
    label: str | None = None,
) -> NeighbouringTables:
    """Make the tables of this name for all parties, and the neighbour of the audited party's.

    With a `label` both differ in that attribute alone.
    """
    sizes = np.array([len(labels) for labels in schema.values()])
    generator = np.random.default_rng(SHUFFLE_SEED)
    rows = PAIR_ROWS if name == "pair" else rows
    tables = [_codes(name, sizes, rows=rows, generator=generator) for _ in range(parties)]
    first, second = _candidates(name, sizes)
    if label is not None:
        place = [*schema].index(label)
        second = first.copy()
        second[place] = (first[place] + 1) % sizes[place]
    audited = tables[party - 1]
    audited[0] = first
    other = audited.copy()
    other[0] = second
    if neighbours == "add-or-remove-one":
        other = audited[1:]
    return NeighbouringTables(
        name,
        tuple(_frame(codes, schema) for codes in tables),
        _frame(other, schema),
        party,
    )


def _candidates(name: str, sizes: Codes) -> tuple[Codes, Codes]:
    """Give the two candidates for the unknown record."""
    first, last = np.zeros(len(sizes), np.int64), sizes - 1
    if name == "lone":
        half = np.arange(len(sizes)) < (len(sizes) + 1) // 2
        return np.where(half, last, first), np.where(half, first, last)
    return first, last


def _codes(name: str, sizes: Codes, *, rows: int, generator: np.random.Generator) -> Codes:
    """Make one party's codes, a row for each record."""
    if name == "lone":
        return np.zeros((rows, len(sizes)), np.int64)
    if name == "mixed":
        return np.column_stack([generator.integers(0, size, rows) for size in sizes])
    return np.where(np.arange(rows)[:, None] % 2 == 0, 0, sizes - 1)


def _frame(codes: Codes, schema: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            name: np.array(labels, object)[codes[:, column]]
            for column, (name, labels) in enumerate(schema.items())
        }
    )


def typed_schema(schema: Mapping[str, Sequence[Any]]) -> Schema:
    """Read the schema of made-up tables."""
    return read_schema({name: [str(label) for label in labels] for name, labels in schema.items()})


def read_labels(
    data: str, *, sizes: Sequence[int], form: CsvForm = COMMAS
) -> tuple[Mapping[str, Sequence[Any]], Schema | None]:
    """Read the attributes and the labels of tables: made up, or those of a file.

    The rows of a file are not used. The demo has a schema of its own.
    """
    if data == MADE_UP:
        return audit_schema(sizes), None
    table = (
        demo_table(LABEL_ROWS)
        if data == "demo"
        else next(blocks(data, rows=LABEL_ROWS, form=form)).frame()
    )
    labels = {str(name): sorted(table[name].dropna().unique()) for name in table.columns}
    return labels, DEMO_SCHEMA if data == "demo" else None
