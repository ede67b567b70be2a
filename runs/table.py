"""Published tables as they travel from the curator's process to whoever started the run.

A table is a list of columns. A column of labels holds every different label once and a code for
each row, so that a million rows of fifteen attributes take fifteen megabytes. pandas is imported
only where a table is made from a DataFrame or read as one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ..privacy.domain import LabelledRows
from ..privacy.marginal_table import MarginalTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Table"]


class Column(msgspec.Struct, frozen=True):
    """One column: codes of labels, or numbers."""

    name: str
    labels: tuple[str, ...] | None
    """The label of each code; `None` for a column of numbers."""
    dtype: str
    values: bytes
    """The codes or numbers as the bytes of an array of this dtype."""

    @classmethod
    def of_labels(cls, name: str, values: pd.Series) -> Column:
        """Write a column as codes of its labels, which are kept as text."""
        import pandas as pd

        kept = (
            values if isinstance(values.dtype, pd.CategoricalDtype) else values.astype("category")
        )
        labels = tuple(map(str, kept.cat.categories))
        codes = kept.cat.codes.to_numpy()
        if (codes < 0).any():  # a missing value is an empty label, as in a CSV file
            codes, labels = np.where(codes < 0, len(labels), codes), (*labels, "")
        codes = codes.astype(np.min_scalar_type(max(len(labels) - 1, 0)))
        return cls(name, labels, codes.dtype.str, codes.tobytes())

    @classmethod
    def of_codes(
        cls, name: str, labels: tuple[str, ...], codes: np.ndarray[Any, np.dtype[np.integer]]
    ) -> Column:
        """Write codes of labels."""
        codes = codes.astype(np.min_scalar_type(max(len(labels) - 1, 0)))
        return cls(name, labels, codes.dtype.str, codes.tobytes())

    @classmethod
    def of_numbers(cls, name: str, numbers: npt.NDArray[Any]) -> Column:
        """Write a column of numbers."""
        return cls(name, None, numbers.dtype.str, np.ascontiguousarray(numbers).tobytes())

    def codes(self) -> np.ndarray[tuple[int], np.dtype[np.integer]]:
        """Read the codes of a column of labels."""
        return np.frombuffer(self.values, np.dtype(self.dtype))

    def array(self) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        """Read the column: labels as objects, numbers as they are."""
        values = np.frombuffer(self.values, np.dtype(self.dtype))
        return values.copy() if self.labels is None else np.array(self.labels, object)[values]


class Table(msgspec.Struct, frozen=True):
    """A published table."""

    columns: tuple[Column, ...]
    rows: int

    @classmethod
    def of(
        cls,
        table: pd.DataFrame | LabelledRows | MarginalTable | Sequence[Mapping[str, object]],
        *,
        numbers: Collection[str] = (),
    ) -> Table:
        """Take over a DataFrame or rows: columns in `numbers` as numbers, others as text."""
        if isinstance(table, LabelledRows):
            columns = map(Column.of_codes, table.columns, table.labels.values(), table.codes)
            return cls(tuple(columns), len(table))
        if isinstance(table, MarginalTable):
            return cls._of_marginals(table)
        if isinstance(table, Sequence):
            return cls._of_rows(table, numbers=numbers)
        frame = table
        return cls(tuple(cls._columns(frame, numbers)), len(frame))

    @staticmethod
    def _columns(frame: pd.DataFrame, numbers: Collection[str]) -> list[Column]:
        return [
            Column.of_numbers(str(name), frame[name].to_numpy())
            if name in numbers and frame[name].dtype.kind in "biuf"
            else Column.of_labels(str(name), frame[name])
            for name in frame.columns
        ]

    @classmethod
    def _of_marginals(cls, table: MarginalTable) -> Table:
        columns = [
            *map(Column.of_codes, table.labels, table.labels.values(), table.codes.values()),
            *map(Column.of_numbers, table.numbers, table.numbers.values()),
        ]
        return cls(tuple(columns), len(table))

    @classmethod
    def _of_rows(cls, rows: Sequence[Mapping[str, object]], *, numbers: Collection[str]) -> Table:
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = []
        for name in names:
            values = [row.get(name, "") for row in rows]
            if name in numbers:
                array = np.array(values)
                columns.append(Column(name, None, array.dtype.str, array.tobytes()))
            else:
                labels, codes = np.unique(np.array(list(map(str, values))), return_inverse=True)
                codes = codes.astype(np.min_scalar_type(max(len(labels) - 1, 0)))
                texts = tuple(map(str, labels))
                columns.append(Column(name, texts, codes.dtype.str, codes.tobytes()))
        return cls(tuple(columns), len(rows))

    @property
    def names(self) -> Sequence[str]:
        return [column.name for column in self.columns]

    def frame(self) -> pd.DataFrame:
        """Make a DataFrame. Labels are text, since a label such as 01 or NA is no number."""
        import pandas as pd

        return pd.DataFrame(
            {column.name: column.array() for column in self.columns}, index=range(self.rows)
        )

    def csv(self) -> bytes:
        """Write the table as a CSV file."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(zip(*(column.array().tolist() for column in self.columns), strict=True))
        return out.getvalue().encode()
