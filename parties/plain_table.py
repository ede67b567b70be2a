"""A table of raw values as arrays, column by column: what a party needs without a schema.

It needs no pandas, which takes longer to import than a small protocol takes to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PlainTable"]


class PlainTable:
    """Columns of equal length, by name. Printing it shows its size alone."""

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self._columns = dict(columns)
        self._rows = len(next(iter(self._columns.values()), ()))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"PlainTable({len(self)} rows of {len(self._columns)} columns)"

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._columns[name]

    def take(self, rows: npt.NDArray[np.int64]) -> PlainTable:
        """Keep these rows alone."""
        return PlainTable({name: column[rows] for name, column in self._columns.items()})

    def first(self, rows: int) -> PlainTable:
        """Keep the first rows."""
        return PlainTable({name: column[:rows] for name, column in self._columns.items()})

    def texts(self, name: str) -> npt.NDArray[np.object_]:
        """Write a column as texts."""
        column = self._columns[name]
        texts = column if column.dtype == object else column.astype(str).astype(object)
        return np.array(texts, dtype=object)

    def frame(self) -> pd.DataFrame:
        """Copy the table into a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self._columns).copy()

    @classmethod
    def join(cls, tables: Sequence[PlainTable]) -> PlainTable:
        """Put tables of the same columns below one another."""
        names = tables[0].columns
        return cls({name: np.concatenate([table[name] for table in tables]) for name in names})
