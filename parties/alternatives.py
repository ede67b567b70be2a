"""Other records of the same shape, on which a party's part is played again.

With them a replay shows whether a message depends on records (`runs.replay`). They are drawn from
the values that occur, or from the domain where there is one. Every value of a column is the value
of all records in one of the tables. So a statistic that grows with the number of records of some
value passes through all of its thresholds.

The number of records is public unless neighbouring tables differ by a record. Then some of the
tables have fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from .records import Records

__all__ = [
    "ALTERNATIVES",
    "alternatives",
    "divided_records",
    "equal_records",
    "neighbour",
    "outlying_record",
]

ALTERNATIVES: Final = 24
"""Number of tables in which all records are alike, with values at the same place."""
INDEPENDENT: Final = 8
"""Number of tables in which all records are alike, with values at independent places."""

Choice = Callable[[int, int], npt.NDArray[np.int64]]
"""Chooses the place of each row's value among so many values: `choice(values, rows)`."""


def alternatives(
    records: Records, *, rows_are_secret: bool, generator: np.random.Generator
) -> Iterator[Records]:
    """Make tables that differ from these records as much as a table can.

    The first is drawn uniformly. The second has whole records of this table, some of them twice, so
    that a part which checks its records accepts them. The third has one record fewer where the
    number of records is secret. In all others all records are alike: in most every column has its
    value at the same place, and in the last at places that do not depend on each other.
    """
    yield _table(records, lambda values, rows: generator.integers(values, size=rows))
    yield records.redrawn(generator.integers(len(records), size=len(records)))
    if rows_are_secret and len(records) > 1:
        yield records.take(np.arange(len(records) - 1))
    for number in _spread():
        yield _table(records, _alike(number))
    for _ in range(INDEPENDENT):
        yield _table(records, lambda values, rows: np.full(rows, generator.integers(values)))


def equal_records(records: Records) -> Records:
    """Make all records alike, with the last value of every column."""
    return _table(records, _alike(ALTERNATIVES - 1))


def divided_records(records: Records, *, high: int) -> Records:
    """Give so many records the last value of every column, and the others the first.

    With one record more on the high side, every median, maximum and other quantile moves from one
    end to the other at some number.
    """

    def choice(values: int, rows: int) -> npt.NDArray[np.int64]:
        return np.where(np.arange(rows) < high, values - 1, 0)

    return _table(records, choice)


def outlying_record(records: Records, *, outlier: bool) -> Records:
    """Keep all records in the lower half of every column, and move the first to the end or not."""

    def change(column: npt.NDArray[np.int64], values: int) -> npt.NDArray[np.int64]:
        changed = column // 2
        if outlier:
            changed[:1] = values - 1
        return changed

    return records.changed(change)


def neighbour(
    records: Records, *, generator: np.random.Generator, farthest: bool = False
) -> Records:
    """Replace one record by another, which differs from it in every column that has two values.

    With `farthest` the new value is the one at the other end of the column, else any other.
    """
    row = int(generator.integers(len(records)))

    def change(column: npt.NDArray[np.int64], values: int) -> npt.NDArray[np.int64]:
        changed = column.copy()
        if farthest:
            changed[row] = 0 if 2 * column[row] >= values - 1 else values - 1
        elif values > 1:
            changed[row] = (changed[row] + generator.integers(1, values)) % values
        return changed

    return records.changed(change)


def _spread() -> Iterator[int]:
    """List the tables with all records alike, those first that differ most."""
    yield from (ALTERNATIVES - 1, *range(ALTERNATIVES - 1))


def _alike(number: int) -> Choice:
    """Give all rows one value: the last first; every value of a column with few of them."""

    def choice(values: int, rows: int) -> npt.NDArray[np.int64]:
        if number == ALTERNATIVES - 1:
            place = values - 1
        elif values < ALTERNATIVES:
            place = number % values
        else:
            place = round(number * (values - 1) / (ALTERNATIVES - 1))
        return np.full(rows, place, np.int64)

    return choice


def _table(records: Records, choice: Choice) -> Records:
    return records.changed(lambda column, values: choice(values, len(column)))
