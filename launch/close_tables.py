"""Pairs of neighbouring tables, on which a rehearsal plays a part: `launch.rehearsal`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import combinations, islice, pairwise, zip_longest
from typing import Final

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
from ..parties.crossed import CrossedTables
from ..parties.lacking import Rules
from ..parties.named_values import Constant
from .counted_tables import (
    Maker,
    Neighbours,
    counted,
    counted_twice,
    sized,
    thresholds_of,
    varied,
    with_named,
)

__all__ = ["close_tables"]

DIVIDED_FIRST: Final = 8
"""Pairs with divided records that come before those with named values."""
MAX_NAMED_PAIRS: Final = 12
"""Pairs in which a record has values that the part's program names."""
MAX_CROSSED: Final = 1000
"""Pairs in which each column has a pattern of its own."""
SMALL: Final = (4, 2)
"""Numbers of records of the smallest tables."""
CUT_SHARES: Final = (10, 5, 4, 20)
"""Shares of records beyond which programs take values for outlying, as parts of all."""
SHARE_OF_VALUES: Final = 10
"""Number of records of which one has values, where most are missing."""
DRAWN: Final = "on records drawn by chance"
ALIKE: Final = "where all other records are alike"
DIVIDED: Final = "where each record has the first value of every column or the last"


def close_tables(
    records: Records,
    *,
    generator: np.random.Generator,
    fewer: bool,
    rules: Rules,
    constants: Collection[Constant] = (),
    share: tuple[int, int] = (0, 1),
) -> Iterator[Neighbours]:
    """Make pairs of neighbouring tables, those first that show most mistakes.

    Equal records give the most extreme statistics, such as counts of 0. Where each record has the
    first value of every column or the last, one more with the last moves a median or another
    quantile from one end to the other. The last pairs are many and of seven kinds, in turn.

    Args:
        records: a party's records.
        generator: the source of the draws.
        fewer: whether neighbouring tables differ by a record.
        rules: what is declared of columns without a schema.
        constants: texts and numbers that the part's program names.
        share: the number of this party, from 0, and the number of parties. All run the same code,
            so each begins with a different share of the last pairs.
    """
    alike = equal_records(records)
    usual = ((records, DRAWN), (alike, ALIKE))
    for table, text in usual:
        other = _neighbour(table, generator=generator, farthest=True, fewer=fewer)
        yield Neighbours(table, other, text)
    outlying = outlying_record(records, outlier=True)
    inlying = outlying_record(records, outlier=False)
    other = outlying.take(np.arange(1, len(records))) if fewer else inlying
    yield Neighbours(outlying, other, "with an outlying record")
    if fewer:
        yield from _small(records)
    for less, *versions in lacking_neighbours(records, generator=generator, rules=rules):
        for first, second in combinations([less if fewer else records, *versions], 2):
            if not (fewer and first is not less):
                yield Neighbours(first, second, "with a value that was lacking", has_lacking=True)
    if not fewer:
        for table, text in usual:
            other = _neighbour(table, generator=generator, farthest=False, fewer=False)
            yield Neighbours(table, other, text)
    divided = [*_divided(records, fewer=fewer)]
    for make in divided[:DIVIDED_FIRST]:
        yield make()
    yield from _with_gaps(outlying, None if fewer else inlying)
    row = np.array([len(records) // 2])
    less = records.take(np.delete(np.arange(len(records)), row))
    named_values = records.named(constants, rules)
    for values in islice(named_in_turn(named_values, generator=generator), MAX_NAMED_PAIRS):
        named = records.put(row, values)
        yield with_named(less if fewer else records, named, count=1)
    in_turn = [*named_in_turn(named_values, generator=generator)]
    every = np.arange(len(records))
    others = ((values, records.put(every, other)) for values, other in pairwise(in_turn))
    thresholds = thresholds_of(constants, rows=len(records))
    crossed = _crossed(records, generator=generator, fewer=fewer)
    of_one = counted(((values, alike) for values in in_turn), thresholds, fewer=fewer)
    yield from _in_turn(
        _begun_by_share(of_one, share),
        crossed,
        _begun_by_share(divided[DIVIDED_FIRST:], share),
        crossed,
        _begun_by_share(counted_twice(records, thresholds, fewer=fewer), share),
        _begun_by_share(varied(records, thresholds, fewer=fewer), share),
        _begun_by_share(sized(records, thresholds) if fewer else (), share),
        crossed,
        _begun_by_share(counted(others, thresholds, fewer=fewer), share),
    )


def _in_turn(*kinds: Iterable[Maker]) -> Iterator[Neighbours]:
    """Make one pair of each kind after another: all of them are many, and time may be short."""
    for together in zip_longest(*kinds):
        for make in together:
            if make is not None:
                yield make()


def _begun_by_share(makers: Iterable[Maker], share: tuple[int, int]) -> list[Maker]:
    """Put a party's share of the makers first: number 1 of 3 begins with the second, the fifth, ...

    >>> [make() for make in _begun_by_share([lambda n=n: n for n in range(5)], (1, 3))]
    [1, 4, 0, 2, 3]
    """
    number, of = share
    return [make for _, make in sorted(enumerate(makers), key=lambda each: each[0] % of != number)]


def _crossed(records: Records, *, generator: np.random.Generator, fewer: bool) -> Iterator[Maker]:
    """Make pairs in which each column has a pattern of its own; half of them change a usual row."""
    usual = (0, len(records) // 2, len(records) - 1)
    tables = CrossedTables(records, generator)

    def pair(number: int) -> Neighbours:
        row = int(generator.integers(len(records)))
        if generator.random() < 0.5:
            row = usual[generator.integers(len(usual))]
        first, second, text = tables.pair(row=row, way=number)
        less = np.delete(np.arange(len(records)), row)
        return Neighbours(first, first.take(less) if fewer else second, text)

    for number in range(MAX_CROSSED):
        yield partial(pair, number)


def _divided(records: Records, *, fewer: bool) -> Iterator[Maker]:
    """Make pairs in which each record has the first value of every column or the last."""

    def pair(high: int, left_out: int | None) -> Neighbours:
        table = divided_records(records, high=high + 1)
        if left_out is None:
            return Neighbours(divided_records(records, high=high), table, DIVIDED)
        less = table.take(np.delete(np.arange(len(records)), left_out))
        return Neighbours(table, less, DIVIDED)

    for high in _middle_first(len(records)):
        for left_out in (0, len(records) - 1) if fewer else (None,):
            yield partial(pair, high, left_out)


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
                yield Neighbours(divided, other, f"with {rows} records", is_unlikely=True)


def _with_gaps(first: Records, second: Records | None) -> Iterator[Neighbours]:
    """Make a pair in which nine of ten records have no values; the first one has.

    What parts put in their place, such as the mean of the others, changes with that one.

    Args:
        first: records.
        second: the same but for the first one, or `None` if a neighbour is without it.
    """
    nulls = {name: values[:1] for name, values in first.unlikely().items()}
    if nulls:
        rows = np.flatnonzero(np.arange(len(first)) % SHARE_OF_VALUES)
        table = first.put(rows, nulls)
        less = table.take(np.arange(1, len(table))) if second is None else second.put(rows, nulls)
        yield Neighbours(table, less, "where most values are missing", is_unlikely=True)


def _middle_first(count: int) -> list[int]:
    """List numbers below a count: the middle, the ends, usual shares at each end, and all others.

    Of two values the rarer one lies beyond c standard deviations if less than 1 / (1 + c²) have it:
    a fifth for 2, and a tenth for 3. Fences and trimmed means cut at a quarter or a twentieth.
    """
    first = [count // 2, (count - 1) // 2, 0, count - 1]
    near = [count // share + step for share in CUT_SHARES for step in (0, -1, 1, -2)]
    at_ends = [end for number in near for end in (number, count - 1 - number)]
    listed = [number for number in [*first, *at_ends] if 0 <= number < count]
    return [*dict.fromkeys([*listed, *range(count)])]


def _neighbour(
    records: Records, *, generator: np.random.Generator, farthest: bool, fewer: bool
) -> Records:
    """Replace a record, or remove one where that makes a neighbouring table."""
    if fewer:
        return records.take(np.delete(np.arange(len(records)), generator.integers(len(records))))
    return neighbour(records, generator=generator, farthest=farthest)
