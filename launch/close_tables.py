"""Pairs of neighbouring tables, on which a rehearsal plays a part: `launch.rehearsal`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..parties import Records
from ..parties.alternatives import (
    divided_records,
    equal_records,
    lacking_neighbours,
    neighbour,
    outlying_record,
)
from ..parties.lacking import Rules

__all__ = ["Neighbours", "close_tables"]


class Neighbours(NamedTuple):
    """A pair of neighbouring tables."""

    first: Records
    second: Records
    has_lacking: bool = False
    """Whether the record in which they differ has values that the made-up table lacks."""


def close_tables(
    records: Records, *, generator: np.random.Generator, fewer: bool, rules: Rules
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
    for less, *versions in lacking_neighbours(records, generator=generator, rules=rules):
        for first, second in combinations([less if fewer else records, *versions], 2):
            if not (fewer and first is not less):
                yield Neighbours(first, second, has_lacking=True)
    if not fewer:
        for table in (records, alike):
            other = _neighbour(table, generator=generator, farthest=False, fewer=False)
            yield Neighbours(table, other)
    for high in _middle_first(len(records)):
        divided = divided_records(records, high=high + 1)
        if fewer:
            yield Neighbours(divided, divided.take(np.arange(1, len(records))))
            yield Neighbours(divided, divided.take(np.arange(len(records) - 1)))
        else:
            yield Neighbours(divided_records(records, high=high), divided)


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
