"""Pairs of neighbouring tables, on which a rehearsal plays a part: `launch.rehearsal`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, pairwise, zip_longest
from typing import Final, NamedTuple

import numpy as np

from ..parties import Records
from ..parties.alternatives import (
    divided_records,
    equal_records,
    lacking_neighbours,
    named_in_turn,
    neighbour,
    outlying_record,
)
from ..parties.lacking import Rules
from ..parties.named_values import Constant
from ..parties.raw import Value

__all__ = ["Neighbours", "close_tables"]

DIVIDED_FIRST: Final = 8
"""Pairs with divided records that come before those with named values."""
MAX_NAMED_PAIRS: Final = 12
"""Pairs in which a record has values that the part's program names."""
MAX_COUNTED_VALUES: Final = 24
"""Named values that more and more records have."""
USUAL_THRESHOLDS: Final = (1, 5, 10, 20)
"""Numbers of records with which parts often compare a count, beside those that they name."""
MAX_THRESHOLDS: Final = 32
"""Numbers of records that are tried for each value."""
SMALL: Final = (4, 2)
"""Numbers of records of the smallest tables."""


class Neighbours(NamedTuple):
    """A pair of neighbouring tables."""

    first: Records
    second: Records
    has_lacking: bool = False
    """Whether the record in which they differ has values that the made-up table lacks."""
    is_unlikely: bool = False
    """Whether most parts do not expect such records, so that an error tells nothing new."""


def close_tables(
    records: Records,
    *,
    generator: np.random.Generator,
    fewer: bool,
    rules: Rules,
    constants: Collection[Constant] = (),
) -> Iterator[Neighbours]:
    """Make pairs of neighbouring tables, those first that show most mistakes.

    Equal records give the most extreme statistics, such as counts of 0. In the last pairs each
    record has the first value of every column or the last: one more with the last moves a median
    or another quantile from one end to the other.
    """
    alike = equal_records(records)
    for table in (records, alike):
        other = _neighbour(table, generator=generator, farthest=True, fewer=fewer)
        yield Neighbours(table, other)
    outlying = outlying_record(records, outlier=True)
    other = outlying_record(records, outlier=False)
    yield Neighbours(outlying, outlying.take(np.arange(1, len(records))) if fewer else other)
    if fewer:
        yield from _small(records)
    for less, *versions in lacking_neighbours(records, generator=generator, rules=rules):
        for first, second in combinations([less if fewer else records, *versions], 2):
            if not (fewer and first is not less):
                yield Neighbours(first, second, has_lacking=True)
    if not fewer:
        for table in (records, alike):
            other = _neighbour(table, generator=generator, farthest=False, fewer=False)
            yield Neighbours(table, other)
    divided = _divided(records, fewer=fewer)
    yield from islice(divided, DIVIDED_FIRST)
    row = np.array([len(records) // 2])
    less = records.take(np.delete(np.arange(len(records)), row))
    named_values = records.named(constants, rules)
    for values in islice(named_in_turn(named_values, generator=generator), MAX_NAMED_PAIRS):
        named = records.put(row, values)
        yield Neighbours(less if fewer else records, named, has_lacking=True, is_unlikely=True)
    in_turn = [*named_in_turn(named_values, generator=generator)]
    thresholds = _thresholds(constants, rows=len(records))
    every = np.arange(len(records))
    others = ((values, records.put(every, other)) for values, other in pairwise(in_turn))
    counted = _counted(((values, alike) for values in in_turn), thresholds, fewer=fewer)
    among_others = _counted(others, thresholds, fewer=fewer)
    # All of these are many, and time may be short.
    mixed = chain.from_iterable(zip_longest(counted, divided, among_others))
    yield from (neighbours for neighbours in mixed if neighbours is not None)


def _counted(
    in_turn: Iterable[tuple[Mapping[str, list[Value]], Records]],
    thresholds: Sequence[int],
    *,
    fewer: bool,
) -> Iterator[Neighbours]:
    """Make pairs in which so many records have named values, and one record less.

    Each of these values comes with a table of which all records are alike: that of the others. A
    count that is suppressed or rounded below a threshold jumps between the two. So does a range
    that a program takes if it holds enough records, and the others are beyond it.
    """
    listed = [*islice(in_turn, MAX_COUNTED_VALUES)]
    # The first values come early with later thresholds, and later values with the first ones.
    for distance in range(len(listed) + len(thresholds)):
        for place, (values, alike) in enumerate(listed[: distance + 1]):
            if distance - place >= len(thresholds):
                continue
            count = thresholds[distance - place]
            table = alike.put(np.arange(count), values)
            if fewer:
                less = table.take(np.arange(1, len(table)))
            else:
                less = alike.put(np.arange(count - 1), values) if count > 1 else alike
            yield Neighbours(less, table, has_lacking=True, is_unlikely=True)


def _thresholds(constants: Collection[Constant], *, rows: int) -> list[int]:
    """List numbers of records that a part may compare with: those that it names, and usual ones.

    What it compares by "at most" changes with one record more, and what it rounds to a multiple
    changes with one more than half of that.
    """
    whole = (int(number) for number in constants if isinstance(number, int | float))
    named = [count for number in whole for count in (number, number + 1, number // 2 + 1)]
    possible = dict.fromkeys(
        count for count in (1, *named, *USUAL_THRESHOLDS) if 1 <= count <= rows
    )
    return [*possible][:MAX_THRESHOLDS]


def _divided(records: Records, *, fewer: bool) -> Iterator[Neighbours]:
    """Make pairs in which each record has the first value of every column or the last."""
    for high in _middle_first(len(records)):
        table = divided_records(records, high=high + 1)
        if fewer:
            yield Neighbours(table, table.take(np.arange(1, len(records))))
            yield Neighbours(table, table.take(np.arange(len(records) - 1)))
        else:
            yield Neighbours(divided_records(records, high=high), table)


def _small(records: Records) -> Iterator[Neighbours]:
    """Make pairs of few records, where the number of records is secret and may be any.

    What hardly changes with one record of two hundred, such as a mean, changes much with one of
    four. Each record has the first value of every column, or the last.
    """
    for rows in SMALL:
        if rows < len(records):
            few = records.take(np.arange(rows))
            divided = divided_records(few, high=(rows + 1) // 2)
            for row in (0, rows - 1):
                other = divided.take(np.delete(np.arange(rows), row))
                yield Neighbours(divided, other, is_unlikely=True)


def _middle_first(count: int) -> list[int]:
    """List numbers below a count: those in the middle, the ends, and all others."""
    first = (count // 2, (count - 1) // 2, 0, count - 1)
    return [*dict.fromkeys([*first, *range(count)])]


def _neighbour(
    records: Records, *, generator: np.random.Generator, farthest: bool, fewer: bool
) -> Records:
    """Replace a record, or remove one where that makes a neighbouring table."""
    if fewer:
        return records.take(np.delete(np.arange(len(records)), generator.integers(len(records))))
    return neighbour(records, generator=generator, farthest=farthest)
