"""Neighbouring tables in which columns do not go together: for mistakes that take several at once.

A maximum in each group changes twice where a record keeps the largest number and changes its group.
In tables whose columns all have their first value or all their last one, no record does. Here each
column has a pattern of its own. Pairs are drawn in four ways, as mistakes need different tables:

    alike       the other rows are alike, with the first value of each column or the last one
    crossed     each column has a pattern of its own, such as either end by chance, or in order
    by rank     one column is in order, and the record goes from one end of it to the other, so
                that all ranks move; other columns have either end
    few change  columns have few or many values by chance, and one or two of the record change

Most pairs show nothing, so many are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .records import Records

__all__ = ["CrossedTables", "two_counts"]

Places = npt.NDArray[np.int64]

MANY_VALUES: Final = 16
"""Columns of more values may be in order. They have one pattern, where columns share any."""
FEW_VALUES: Final = (2, 3, 5, 10, 20)
"""Numbers of values that a column has where it has few."""
MAX_TRIES: Final = 20
"""Draws until the record changes; where no column has two values it never does."""


class _Column(NamedTuple):
    """A column: the place of each row's value among its values, and how many values there are."""

    places: Places
    values: int
    row: int
    """The row that changes."""

    def ends(self, generator: np.random.Generator, size: int) -> Places:
        """Draw first and last places."""
        return (self.values - 1) * generator.integers(2, size=size)


class _ColumnDraw(NamedTuple):
    """The places of a column, and those of the record that changes: before and after."""

    places: Places
    record: Places


class CrossedTables:
    """Draws pairs of tables that differ in one row."""

    def __init__(self, records: Records, generator: np.random.Generator) -> None:
        self._records = records
        self._generator = generator
        self._columns: list[tuple[Places, int]] = []
        records.changed(self._note)
        self._many = [
            number for number, (_, values) in enumerate(self._columns) if values > MANY_VALUES
        ]

    def _note(self, places: Places, values: int) -> Places:
        self._columns.append((places, values))
        return places

    def pair(self, *, row: int, way: int) -> tuple[Records, Records, str]:
        """Draw two tables that differ in this row alone, in the way of this number, from 0.

        Gives the way in words, too.
        """
        draw, text = WAYS[way % len(WAYS)]
        columns = [_Column(places, values, row) for places, values in self._columns]
        for _ in range(MAX_TRIES):
            drawn = draw(columns, self._many, self._generator)
            if any(before != after for before, after in (column.record for column in drawn)):
                break
        return self._with(drawn, row, after=False), self._with(drawn, row, after=True), text

    def _with(self, drawn: list[_ColumnDraw], row: int, *, after: bool) -> Records:
        columns = iter(drawn)

        def change(_places: Places, _values: int) -> Places:
            column = next(columns)
            places = column.places.copy()
            places[row] = column.record[int(after)]
            return places

        return self._records.changed(change)


def two_counts(records: Records, *, count: int) -> tuple[Records, Records]:
    """Let so many records have the first value of every column, and one less the last.

    All others have one between. In the second table one record has the last value and not the
    first. So two counts cross a threshold at once.
    """

    def change(moved: int) -> Callable[[Places, int], Places]:
        def changed(column: Places, values: int) -> Places:
            places = np.full(len(column), values // 2, np.int64)
            places[: 2 * count - 1] = values - 1
            places[moved:count] = 0
            return places

        return changed

    return records.changed(change(0)), records.changed(change(1))


def _all_alike(
    columns: list[_Column], _many: list[int], generator: np.random.Generator
) -> list[_ColumnDraw]:
    """Let all rows be alike, and a record that may be like them become another one."""
    is_alike, shares = generator.random(2) < 0.5

    def draw(column: _Column, generator: np.random.Generator) -> _ColumnDraw:
        places = _alike(column, generator)
        record = column.ends(generator, 2)
        if is_alike:
            record[0] = places[0]
        return _ColumnDraw(places, record)

    return _each(columns, draw, generator, shares=bool(shares))


def _each_its_own(
    columns: list[_Column], _many: list[int], generator: np.random.Generator
) -> list[_ColumnDraw]:
    """Let each column have a pattern of its own, and the record two ends, or any values."""

    def draw(column: _Column, generator: np.random.Generator) -> _ColumnDraw:
        places = PATTERNS[generator.integers(len(PATTERNS))](column, generator)
        return _ColumnDraw(places, _record(column, generator))

    return _each(columns, draw, generator, shares=bool(generator.random() < 0.5))


def _by_rank(
    columns: list[_Column], many: list[int], generator: np.random.Generator
) -> list[_ColumnDraw]:
    """Let one column be in order, and the record go from one end of it to the other."""
    keys = many or [*range(len(columns))]
    key = keys[generator.integers(len(keys))]
    drawn = []
    for number, column in enumerate(columns):
        if number == key:
            ends = np.array([0, column.values - 1])
            record = ends if generator.random() < 0.5 else ends[::-1]
            drawn.append(_ColumnDraw(_in_order(column, generator), record))
        else:
            pattern = (_alike, _either_end, _either_end)[generator.integers(3)]
            drawn.append(_ColumnDraw(pattern(column, generator), _record(column, generator)))
    return drawn


def _few_change(
    columns: list[_Column], _many: list[int], generator: np.random.Generator
) -> list[_ColumnDraw]:
    """Let one or two columns of a record change, which is usual otherwise."""
    changing = generator.integers(len(columns), size=2)
    drawn = []
    for number, column in enumerate(columns):
        pattern = (_as_it_is, _few_values)[generator.integers(2)]
        places = pattern(column, generator)
        record = np.full(2, places[column.row])
        if number in changing:
            record[1] = places[generator.integers(len(places))]
            if generator.random() < 0.5:
                record[1] = column.ends(generator, 1)[0]
        drawn.append(_ColumnDraw(places, record))
    return drawn


def _each(
    columns: list[_Column],
    draw: Callable[[_Column, np.random.Generator], _ColumnDraw],
    generator: np.random.Generator,
    *,
    shares: bool,
) -> list[_ColumnDraw]:
    """Draw all columns: each by itself, or alike those with many values, and those with few."""
    seeds = generator.integers(1 << 32, size=len(columns))
    if shares:
        seeds = seeds[[int(column.values > MANY_VALUES) % len(seeds) for column in columns]]
    return [
        draw(column, np.random.default_rng(int(seed)))
        for column, seed in zip(columns, seeds, strict=True)
    ]


def _record(column: _Column, generator: np.random.Generator) -> Places:
    """Draw what the record has before and after: ends or any values, often the same."""
    record = column.ends(generator, 2)
    if generator.random() < 0.2:
        record = generator.integers(column.values, size=2)
    if generator.random() < 0.4:
        record[:] = record[0]
    return record


Pattern = Callable[[_Column, np.random.Generator], Places]
"""Draws the places of all rows' values."""


def _alike(column: _Column, generator: np.random.Generator) -> Places:
    return np.full(len(column.places), column.ends(generator, 1)[0])


def _either_end(column: _Column, generator: np.random.Generator) -> Places:
    return column.ends(generator, len(column.places))


def _few_values(column: _Column, generator: np.random.Generator) -> Places:
    few = generator.integers(column.values, size=FEW_VALUES[generator.integers(len(FEW_VALUES))])
    places: Places = few[generator.integers(len(few), size=len(column.places))]
    return places


def _in_order(column: _Column, _generator: np.random.Generator) -> Places:
    rows = len(column.places)
    return np.arange(rows) * column.values // rows


def _divided(column: _Column, _generator: np.random.Generator) -> Places:
    return np.where(np.arange(len(column.places)) < column.row, 0, column.values - 1)


def _as_it_is(column: _Column, _generator: np.random.Generator) -> Places:
    return column.places


PATTERNS: Final[tuple[Pattern, ...]] = (
    _alike,
    _alike,
    _either_end,
    _either_end,
    _few_values,
    _in_order,
    _divided,
)
WAYS: Final = (
    (_all_alike, "where all other records are alike"),
    (_each_its_own, "where each column has a pattern of its own"),
    (_by_rank, "where the record goes from one end of a column to the other"),
    (_few_change, "where columns have few values or many"),
)
