"""Pairs of tables in which a number of records, or of values, crosses one that a program may name.

They are a part of those of `launch.close_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ..parties import Records
from ..parties.alternatives import varied_records
from ..parties.crossed import two_counts
from ..parties.named_values import Constant
from ..parties.raw import Value

__all__ = [
    "Maker",
    "Neighbours",
    "counted",
    "counted_twice",
    "sized",
    "thresholds_of",
    "varied",
    "with_named",
]

MAX_COUNTED_VALUES: Final = 24
"""Named values that more and more records have."""
USUAL_THRESHOLDS: Final = (1, 5, 10, 20)
"""Numbers of records with which parts often compare a count, beside those that they name."""
MAX_DIGITS: Final = 6
"""Digits before the decimal point to which a program may round."""
MAX_THRESHOLDS: Final = 32
"""Numbers of records that are tried for each value."""


class Neighbours(NamedTuple):
    """A pair of neighbouring tables."""

    first: Records
    second: Records
    tables: str
    """What they are, such as "with 4 records"; no value of a table is named."""
    has_lacking: bool = False
    """Whether the record in which they differ has values that the made-up table lacks."""
    is_unlikely: bool = False
    """Whether most parts do not expect such records, so that an error tells nothing new."""


Maker: TypeAlias = Callable[[], Neighbours]
"""Makes a pair when it is its turn."""


def thresholds_of(constants: Collection[Constant], *, rows: int) -> list[int]:
    """List numbers of records that a part may compare with: those that it names, and usual ones.

    What it compares by "at most" changes with one record more, and what it rounds to a multiple
    changes with one more than half of that. `round(count, -2)` names the multiple by its digits.
    """
    numbers = (
        int(number)
        for number in constants
        if isinstance(number, int | float) and math.isfinite(number)
    )
    whole = (10**-number if -MAX_DIGITS <= number < 0 else number for number in numbers)
    named = [count for number in whole for count in (number, number + 1, number // 2 + 1)]
    possible = dict.fromkeys(
        count for count in (1, *named, *USUAL_THRESHOLDS) if 1 <= count <= rows
    )
    return [*possible][:MAX_THRESHOLDS]


def counted(
    in_turn: Iterable[tuple[Mapping[str, list[Value]], Records]],
    thresholds: Sequence[int],
    *,
    fewer: bool,
) -> Iterator[Maker]:
    """Make pairs in which so many records have named values, and one record less.

    Each of these values comes with a table of which all records are alike: that of the others. A
    count that is suppressed or rounded below a threshold jumps between the two. So does a range
    that a program takes if it holds enough records, and the others are beyond it.
    """
    listed = [*islice(in_turn, MAX_COUNTED_VALUES)]

    def pair(values: Mapping[str, list[Value]], alike: Records, count: int) -> Neighbours:
        table = alike.put(np.arange(count), values)
        if fewer:
            less = table.take(np.arange(1, len(table)))
        else:
            less = alike.put(np.arange(count - 1), values) if count > 1 else alike
        return with_named(less, table, count=count)

    # The first values come early with later thresholds, and later values with the first ones.
    for distance in range(len(listed) + len(thresholds)):
        for place, (values, alike) in enumerate(listed[: distance + 1]):
            if distance - place < len(thresholds):
                yield partial(pair, values, alike, thresholds[distance - place])


def with_named(first: Records, second: Records, *, count: int) -> Neighbours:
    """Make a pair whose second table has so many records with values that a program names."""
    subject = f"{count:,} records have" if count > 1 else "a record has"
    text = f"where {subject} values that the program names"
    return Neighbours(first, second, text, has_lacking=True, is_unlikely=True)


def counted_twice(records: Records, thresholds: Sequence[int], *, fewer: bool) -> Iterator[Maker]:
    """Make pairs in which two counts cross a number at once, one of them downwards."""

    def pair(count: int) -> Neighbours:
        first, second = two_counts(records, count=count)
        other = first.take(np.arange(1, len(first))) if fewer else second
        return Neighbours(first, other, f"where two counts reach {count:,}")

    for count in thresholds:
        if 2 * count <= len(records):
            yield partial(pair, count)


def sized(records: Records, thresholds: Sequence[int]) -> Iterator[Maker]:
    """Make pairs of tables with so many records, and one record less."""

    def pair(rows: int) -> Neighbours:
        table = records.take(np.arange(rows))
        return Neighbours(table, table.take(np.arange(rows - 1)), f"with {rows:,} records")

    for rows in thresholds:
        if 1 < rows < len(records):
            yield partial(pair, rows)


def varied(records: Records, thresholds: Sequence[int], *, fewer: bool) -> Iterator[Maker]:
    """Make pairs in which one more value occurs: a program may count different ones."""

    def pair(different: int) -> Neighbours:
        table = varied_records(records, different=different, has_new=True)
        other = (
            table.take(np.arange(len(table) - 1))
            if fewer
            else varied_records(records, different=different, has_new=False)
        )
        text = f"where columns have {different:,} or {different + 1:,} different values"
        return Neighbours(table, other, text)

    numbers = dict.fromkeys(number for count in thresholds for number in (count, count - 1))
    for different in numbers:
        if 1 <= different < len(records):
            yield partial(pair, different)
