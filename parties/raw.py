"""Raw tables: rows as they come from a source, before a schema encodes them.

pandas takes half a second to start. So it is imported only to convert from a DataFrame or to one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Change",
    "Declared",
    "NumberColumn",
    "RawColumn",
    "RawTable",
    "TextColumn",
    "Value",
    "join_tables",
]

Integers: TypeAlias = npt.NDArray[np.int64]
Declared: TypeAlias = Literal["categorical", "ordered", "booleans", "dates", "texts"]
"""What the type of a DataFrame's column says of its values."""
Change: TypeAlias = Callable[[Integers, int], Integers]
"""Changes a column: from its values' places among so many values to other places."""
Value: TypeAlias = str | float | None
"""A value of a column: a text, a number, or a null."""


DECLARED: Final[dict[str, Declared]] = {
    "boolean": "booleans",
    "date": "dates",
    "datetime": "dates",
    "datetime64": "dates",
    "string": "texts",
}
"""What pandas' name of a type says."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberColumn:
    """A column of numbers. NaN is a null."""

    numbers: npt.NDArray[np.integer[Any] | np.floating[Any]]

    @classmethod
    def of(cls, numbers: npt.NDArray[np.integer[Any] | np.floating[Any]]) -> NumberColumn:
        """Take numbers over, those of single precision as they are written.

        The label 0.1 is 0.10000000149011612 in single precision, and the text 0.1 in a file. This
        holds for each number by itself: a record's value may not depend on other records.
        """
        is_narrow = numbers.dtype.kind == "f" and numbers.dtype.itemsize < np.dtype(float).itemsize
        return cls(numbers.astype(np.str_).astype(np.float64) if is_narrow else numbers)

    def as_texts(self) -> TextColumn:
        """Write the numbers as texts."""
        # Adding 0.0 makes -0.0 a 0.0. In double precision texts are read back as the same numbers.
        numbers = self.numbers.astype(np.float64) + 0.0 if self.is_float else self.numbers
        different, places = np.unique(numbers, return_inverse=True)
        places = np.where(np.isnan(numbers), -1, places) if self.is_float else places
        return TextColumn(places.astype(np.int64), [str(number) for number in different])

    def take(self, rows: Integers | slice) -> NumberColumn:
        return NumberColumn(self.numbers[rows])

    def value(self, row: int) -> str:
        """Write the value of a row; a whole number without a fraction."""
        number = self.numbers[row].item()
        return (
            str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)
        )

    def changed(self, change: Change) -> NumberColumn:
        """Change the numbers, each to another one of the column; nulls become numbers."""
        numbers, places = np.unique(self.numbers, return_inverse=True)
        count = len(numbers) - int(self.is_float and np.isnan(numbers).sum())
        if not count:
            return self
        return NumberColumn(numbers[change(np.minimum(places, count - 1), count)])

    def put(self, rows: Integers, values: Sequence[Value]) -> NumberColumn:
        """Put these numbers into these rows in turn; with a null all become floats."""
        has_null = None in values
        numbers = self.numbers.astype(np.float64) if has_null else self.numbers.copy()
        new = np.array([np.nan if value is None else float(value) for value in values])
        numbers[rows] = np.resize(new, len(rows)).astype(numbers.dtype)
        return NumberColumn(numbers)

    def array(self) -> npt.NDArray[Any]:
        return self.numbers

    @property
    def is_float(self) -> bool:
        return self.numbers.dtype.kind == "f"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextColumn:
    """A column of texts."""

    places: Integers
    """The place of each row's text in `texts`; that of a null is -1."""
    texts: Sequence[str]
    """Texts. One may be listed twice, and need not occur."""
    declared: Declared | None = None
    """What the values are, where their source says so. Categories are listed in their order."""

    def as_texts(self) -> TextColumn:
        return self

    def take(self, rows: Integers | slice) -> TextColumn:
        return TextColumn(self.places[rows], self.texts, self.declared)

    def value(self, row: int) -> str:
        """Write the value of a row."""
        place = int(self.places[row])
        return self.texts[place] if place >= 0 else "nan"

    def changed(self, change: Change) -> TextColumn:
        """Change the texts, each to another one of the column; nulls become texts."""
        texts = sorted({self.texts[place] for place in set(self.places.tolist()) if place >= 0})
        if not texts:
            return self
        numbers = {text: number for number, text in enumerate(texts)}
        numbers_of_places = np.array([numbers.get(text, 0) for text in self.texts] + [0])
        places = change(numbers_of_places[self.places], len(texts))
        others = sorted({*self.texts} - {*texts})
        return TextColumn(places, [*texts, *others], self.declared)

    def put(self, rows: Integers, values: Sequence[Value]) -> TextColumn:
        """Put these texts into these rows in turn."""
        new = np.array(
            [-1 if value is None else len(self.texts) + n for n, value in enumerate(values)]
        )
        places = self.places.copy()
        places[rows] = np.resize(new, len(rows))
        texts = [*self.texts, *("" if value is None else str(value) for value in values)]
        return TextColumn(places, texts, self.declared)

    def array(self) -> npt.NDArray[np.object_]:
        """Make an array of texts, in which a null is None."""
        return np.array([*self.texts, None], dtype=object)[self.places]


RawColumn: TypeAlias = NumberColumn | TextColumn


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RawTable:
    """Columns of one length by name. Printing it shows its size and nothing else."""

    columns: Mapping[str, RawColumn]
    rows: int

    @classmethod
    def of(cls, frame: pd.DataFrame, *, has_types: bool = True) -> RawTable:
        """Convert a DataFrame; without types its texts may stand for anything."""
        columns = {str(name): _column(frame[name], has_types=has_types) for name in frame.columns}
        return cls(columns, len(frame))

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"RawTable({self.rows} rows of {len(self.columns)} columns)"

    def take(self, rows: Integers | slice) -> RawTable:
        """Keep only these rows."""
        count = len(range(*rows.indices(self.rows))) if isinstance(rows, slice) else len(rows)
        return RawTable({name: column.take(rows) for name, column in self.columns.items()}, count)

    def changed(self, change: Change) -> RawTable:
        """Change every column's values to others of the column."""
        columns = {name: column.changed(change) for name, column in self.columns.items()}
        return RawTable(columns, self.rows)

    def put(self, rows: Integers, values: Mapping[str, Sequence[Value]]) -> RawTable:
        """Put values of some columns into these rows, each column's in turn."""
        changed = {name: self.columns[name].put(rows, values[name]) for name in values}
        return RawTable({**self.columns, **changed}, self.rows)

    def with_column_of(self, other: RawTable, attribute: str) -> RawTable:
        """Take one column from another table of as many rows."""
        return RawTable({**self.columns, attribute: other.columns[attribute]}, self.rows)

    def frame(self) -> pd.DataFrame:
        """Make a DataFrame of texts and numbers."""
        import pandas as pd

        columns = {name: column.array() for name, column in self.columns.items()}
        return pd.DataFrame(columns, index=range(self.rows))


def join_tables(tables: Sequence[RawTable]) -> RawTable:
    """Put tables with the same columns one after another."""
    columns = {name: _join([table.columns[name] for table in tables]) for name in tables[0].columns}
    return RawTable(columns, sum(map(len, tables)))


def _join(columns: Sequence[RawColumn]) -> RawColumn:
    numbers = [column.numbers for column in columns if isinstance(column, NumberColumn)]
    if len(numbers) == len(columns):
        return NumberColumn(np.concatenate(numbers))
    parts = [column.as_texts() for column in columns]
    if all(part.texts is parts[0].texts for part in parts):
        places = np.concatenate([part.places for part in parts])
        return TextColumn(places, parts[0].texts, parts[0].declared)
    texts: list[str] = []
    moved = []
    for part in parts:
        moved.append(np.where(part.places < 0, -1, part.places + len(texts)))
        texts += part.texts
    declared = {part.declared for part in parts}
    return TextColumn(np.concatenate(moved), texts, declared.pop() if len(declared) == 1 else None)


def _column(series: pd.Series[Any], *, has_types: bool) -> RawColumn:
    """Convert a column of a DataFrame."""
    import pandas as pd

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        return NumberColumn.of(series.to_numpy())
    if isinstance(series.dtype, pd.CategoricalDtype):
        texts = [str(value) for value in series.cat.categories]
        declared: Declared = "ordered" if series.cat.ordered else "categorical"
        return TextColumn(np.asarray(series.cat.codes, np.int64), texts, declared)
    if pd.api.types.is_float_dtype(series.dtype):
        numbers = getattr(series.dtype, "numpy_dtype", np.float64)
        return NumberColumn.of(series.to_numpy(numbers, na_value=np.nan))
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if series.dtype == object and inferred != "string":
        # 1, 1.0 and True are equal and have one hash, but they are three texts.
        nulls = series.isna()
        texts_or_none = [
            None if is_null else str(value) for value, is_null in zip(series, nulls, strict=True)
        ]
        series = pd.Series(texts_or_none, dtype=object)
    places, values = pd.factorize(series, use_na_sentinel=True)
    texts = [str(value) for value in values]
    stated = DECLARED.get(inferred) if has_types and texts else None
    return TextColumn(np.asarray(places, np.int64), texts, stated)
