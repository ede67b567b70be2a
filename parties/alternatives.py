"""Other records of the same shape, on which a party's part is played again.

With them a replay shows whether a message depends on records (`runs.replay`). They are drawn from
the values that occur, or from the domain where there is one. Every value of a column is the value
of all records in one of the tables. So a statistic that grows with the number of records of some
value passes through all of its thresholds.

Some tables have values that no record has, but that a neighbouring table may have (`lacking`): a
label that does not occur, a number at the edge of its range or beyond, a null.

The number of records is public unless neighbouring tables differ by a record. Then some of the
tables have fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .lacking import Rules
from .named_values import Constant
from .raw import Value
from .records import Records

__all__ = [
    "ALTERNATIVES",
    "Alternative",
    "alternatives",
    "divided_records",
    "equal_records",
    "lacking_neighbours",
    "named_in_turn",
    "neighbour",
    "outlying_record",
    "varied_records",
]

ALTERNATIVES: Final = 24
"""Number of tables in which all records are alike, with values at the same place."""
INDEPENDENT: Final = 8
"""Number of tables in which all records are alike, with values at independent places."""

GROUPS: Final = 8
"""Groups of columns in which lacking values are tried apart from those of other columns."""

FIRST_ALIKE: Final = 4
"""Number of tables with equal records that come before those with unlikely values."""

UNLIKELY: Final = 2
"""Records that have unlikely values."""

NAMED_AT_RANDOM: Final = 16
"""Tables with values that the part's program names, of which each column takes one at random."""

Choice = Callable[[int, int], npt.NDArray[np.int64]]
"""Chooses the place of each row's value among so many values: `choice(values, rows)`."""


class Alternative(NamedTuple):
    """Other records, and what they are."""

    records: Records
    has_lacking: bool = False
    """Whether they have values that the party's own records lack."""
    is_unlikely: bool = False
    """Whether most parts do not expect these values, so that an error tells nothing new."""


def alternatives(
    records: Records,
    *,
    rows_are_secret: bool,
    generator: np.random.Generator,
    rules: Rules,
    constants: Collection[Constant] = (),
) -> Iterator[Alternative]:
    """Make tables that differ from these records as much as a table can.

    The first is drawn uniformly. The second has whole records of this table, some of them twice, so
    that a part which checks its records accepts them. Where the number of records is secret, the
    next have one record fewer, twice as many records, half of them, and a single one. Then a few
    records have values that the table lacks. In most others all records are alike: in most every
    column has its value at the same place, and in eight at places that do not depend on each other.
    In the last ones lacking values are tried in all records, and then in a few columns at a time,
    since one of them may end the part. After the first tables with equal records two records have
    values that most parts do not expect, and then all records have values that the part's program
    names.

    Args:
        records: a party's records.
        rows_are_secret: whether neighbouring tables differ by a record.
        generator: the source of the draws.
        rules: what is declared of columns without a schema.
        constants: texts and numbers that the part's program names.
    """
    yield Alternative(_table(records, lambda values, rows: generator.integers(values, size=rows)))
    yield Alternative(records.redrawn(generator.integers(len(records), size=len(records))))
    if rows_are_secret and len(records) > 1:
        yield Alternative(records.take(np.arange(len(records) - 1)))
        for size in (2 * len(records), len(records) // 2):
            yield Alternative(records.take(generator.integers(len(records), size=size)))
        yield Alternative(records.take(np.arange(1)), is_unlikely=True)
    lacking = records.lacking(rules)
    few = np.arange(min(-(-len(records) // 2), max(map(len, lacking.values()), default=0)))
    if lacking:
        yield Alternative(records.put(few, lacking), has_lacking=True)
    spread = [*_spread()]
    for number in spread[:FIRST_ALIKE]:
        yield Alternative(_table(records, _alike(number)))
    for values in _by_value(records.unlikely()):
        rows = np.arange(min(len(records), UNLIKELY))
        yield Alternative(records.put(rows, values), has_lacking=True, is_unlikely=True)
    for values in named_in_turn(records.named(constants, rules), generator=generator):
        of_program = records.put(np.arange(len(records)), values)
        yield Alternative(of_program, has_lacking=True, is_unlikely=True)
    for number in spread[FIRST_ALIKE:]:
        yield Alternative(_table(records, _alike(number)))
    for _ in range(INDEPENDENT):
        yield Alternative(
            _table(records, lambda values, rows: np.full(rows, generator.integers(values)))
        )
    if lacking:
        for start in range(0, max(map(len, lacking.values())), len(records))[:ALTERNATIVES]:
            turned = {name: values[start:] + values[:start] for name, values in lacking.items()}
            every = np.arange(len(records))
            yield Alternative(records.put(every, turned), has_lacking=True)
        for values in _by_group(lacking):
            yield Alternative(records.put(few, values), has_lacking=True)


def lacking_neighbours(
    records: Records, *, generator: np.random.Generator, rules: Rules
) -> Iterator[tuple[Records, Records, Records]]:
    """Give one record values that the table lacks, a few columns at a time.

    Gives the table without that record, and with two of its versions.
    """
    lacking = records.lacking(rules)
    for values in [lacking, *_by_group(lacking)] if lacking else []:
        row = int(generator.integers(len(records)))
        first = {name: of_name[:1] for name, of_name in values.items()}
        second = {name: of_name[:2][-1:] for name, of_name in values.items()}
        yield (
            records.take(np.delete(np.arange(len(records)), row)),
            records.put(np.array([row]), first),
            records.put(np.array([row]), second),
        )


def named_in_turn(
    named: Mapping[str, list[Value]], *, generator: np.random.Generator
) -> Iterator[dict[str, list[Value]]]:
    """Take one named value of every column at a time, until each was taken, and then at random.

    >>> named = {"age": [40, 39], "town": ["Oslo"]}
    >>> [*named_in_turn(named, generator=np.random.default_rng(1))]
    [{'age': [40], 'town': ['Oslo']}, {'age': [39], 'town': ['Oslo']}]
    """
    rounds = max(map(len, named.values()), default=0)
    for number in range(rounds):
        yield {name: [values[number % len(values)]] for name, values in named.items()}
    if sum(len(values) > 1 for values in named.values()) > 1:
        for _ in range(NAMED_AT_RANDOM):
            places = generator.random(len(named))
            yield {
                name: [values[int(place * len(values))]]
                for place, (name, values) in zip(places, named.items(), strict=True)
            }


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


def varied_records(records: Records, *, different: int, has_new: bool) -> Records:
    """Give the records so many values of every column in turn.

    The last record has a further value, where there is one, or the first one.
    """

    def choice(values: int, rows: int) -> npt.NDArray[np.int64]:
        places = np.arange(rows) % min(different, values)
        places[-1:] = min(different, values - 1) if has_new else 0
        return places

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


def _by_group(lacking: Mapping[str, list[Value]]) -> list[dict[str, list[Value]]]:
    """Split the columns of lacking values into groups."""
    names = [*lacking]
    groups = [names[start::GROUPS] for start in range(min(GROUPS, len(names)))]
    return [{name: lacking[name] for name in group} for group in groups] if names[1:] else []


def _by_value(unlikely: Mapping[str, list[Value]]) -> Iterator[dict[str, list[Value]]]:
    """Take each unlikely value in a few columns at a time."""
    for number in range(max(map(len, unlikely.values()), default=0)):
        alike = {name: values[number:][:1] for name, values in unlikely.items() if values[number:]}
        yield from _by_group(alike) or [alike]


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
