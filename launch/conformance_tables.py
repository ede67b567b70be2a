"""The tables of the conformance suite: one for each party, and others to compare a run with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ..parties import COMMAS, CsvForm, blocks
from ..parties.demo import demo_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "OtherRecords",
    "other_records",
    "party_tables",
    "remove_one_record",
    "replace_one_record",
    "whole_table",
]

OtherRecords: TypeAlias = Literal["others", "first", "last"]
"""Records drawn anew, or all alike with the first label or the last label of each column."""


def whole_table(data: str, *, rows: int, form: CsvForm = COMMAS) -> pd.DataFrame:
    """Read the suite's table: the demo's, or the beginning of a file."""
    if data == "demo":
        return demo_table(rows)
    return next(blocks(data, rows=rows, form=form)).frame().astype(str)


def party_tables(table: pd.DataFrame, *, parties: int) -> list[pd.DataFrame]:
    """Split a table evenly among the parties."""
    parts = np.array_split(np.arange(len(table)), parties)
    return [table.iloc[part].reset_index(drop=True) for part in parts]


def other_records(table: pd.DataFrame, kind: OtherRecords, *, seed: int) -> pd.DataFrame:
    """Make a table of as many records, with the same columns and labels."""
    import pandas as pd

    generator = np.random.default_rng(seed)
    columns = {}
    for name in table.columns:
        labels = sorted(table[name].unique())
        if kind == "others":
            columns[name] = generator.choice(labels, len(table))
        else:
            columns[name] = np.array([labels[0 if kind == "first" else -1]] * len(table))
    return pd.DataFrame(columns)


def remove_one_record(tables: Sequence[pd.DataFrame], *, seed: int) -> list[pd.DataFrame]:
    """Remove one record of one party."""
    generator = np.random.default_rng(seed)
    party = int(generator.integers(len(tables)))
    row = int(generator.integers(len(tables[party])))
    table = tables[party].drop(index=row).reset_index(drop=True)
    return [table if index == party else other for index, other in enumerate(tables)]


def replace_one_record(tables: Sequence[pd.DataFrame], *, seed: int) -> list[pd.DataFrame]:
    """Give one record of one party another label in each column, where the column has one."""
    generator = np.random.default_rng(seed)
    party = int(generator.integers(len(tables)))
    table = tables[party].copy()
    row = int(generator.integers(len(table)))
    for column, name in enumerate(table.columns):
        present = tables[party][name]
        labels = [label for label in present.unique() if label != present.iloc[row]]
        if labels:
            table.iloc[row, column] = generator.choice(labels)
    return [table if index == party else other for index, other in enumerate(tables)]
