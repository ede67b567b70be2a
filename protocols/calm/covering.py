"""Sets of attributes that cover all pairs, or all sets of another number of attributes.

The search is greedy. It starts with the uncovered set that has most cells, and adds the attribute
that covers most for the logarithm of its labels. A set that is too large stands alone. Attributes
are numbers here. Pairs, of which a wide table has ten thousands, are kept in a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, log, prod
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...privacy import Domain

__all__ = ["cover", "least_sets"]

Flags: TypeAlias = npt.NDArray[np.bool_]
Counts: TypeAlias = npt.NDArray[np.int64]


class Uncovered(Protocol):
    """The sets that are not covered yet."""

    def seeds(self) -> Iterator[Sequence[int]]:
        """Go through them: those of most cells first, then those of later attributes."""
        ...

    def count(self, chosen: Sequence[int], allowed: Flags) -> Counts:
        """Count for each allowed attribute those that it would cover, beside the chosen ones."""
        ...

    def remove(self, chosen: Sequence[int]) -> None:
        """Cover all sets of these attributes."""
        ...


class UncoveredPairs:
    """Pairs that are not covered yet, as a symmetric matrix."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = np.array(sizes, np.int64)
        self._pairs = ~np.eye(len(sizes), dtype=np.bool_)

    def seeds(self) -> Iterator[Sequence[int]]:
        left, right = np.triu_indices(len(self._sizes), 1)
        order = np.lexsort((-right, -left, -self._sizes[left] * self._sizes[right]))
        for first, second in zip(left[order].tolist(), right[order].tolist(), strict=True):
            if self._pairs[first, second]:
                yield first, second

    def count(self, chosen: Sequence[int], allowed: Flags) -> Counts:
        return np.where(allowed, self._pairs[chosen].sum(axis=0), 0)

    def remove(self, chosen: Sequence[int]) -> None:
        self._pairs[np.ix_(chosen, chosen)] = False


class UncoveredSets:
    """Sets of `of` attributes that are not covered yet."""

    def __init__(self, sizes: Sequence[int], *, of: int) -> None:
        self._sizes, self._of = sizes, of
        self._sets = {*combinations(range(len(sizes)), of)}

    def seeds(self) -> Iterator[Sequence[int]]:
        def rank(places: Sequence[int]) -> tuple[int, list[int]]:
            return -prod(self._sizes[place] for place in places), [-place for place in places]

        for places in sorted(self._sets, key=rank):
            if places in self._sets:
                yield places

    def count(self, chosen: Sequence[int], allowed: Flags) -> Counts:
        counts = np.zeros(len(allowed), np.int64)
        parts = [*combinations(chosen, self._of - 1)]
        for place in np.flatnonzero(allowed).tolist():
            counts[place] = sum(tuple(sorted((*part, place))) in self._sets for part in parts)
        return counts

    def remove(self, chosen: Sequence[int]) -> None:
        self._sets -= {*combinations(sorted(chosen), self._of)}


def cover(domain: Domain, *, of: int, most: int, cells: float) -> list[tuple[str, ...]]:
    """Cover all sets of `of` attributes by sets of at most `most` attributes and `cells` cells."""
    names, sizes = domain.attributes, domain.shape(domain.attributes)
    uncovered: Uncovered = UncoveredPairs(sizes) if of == 2 else UncoveredSets(sizes, of=of)
    labels = np.array(sizes, np.float64)
    prices = np.array([log(size) or 1.0 for size in sizes])
    sets = []
    for seed in uncovered.seeds():
        chosen, size = [*seed], float(prod(sizes[place] for place in seed))
        while len(chosen) < most:
            allowed = (size * labels <= cells) & (labels > 1)
            allowed[chosen] = False
            gains = uncovered.count(chosen, allowed) / prices
            best = int(gains.argmax())
            if not gains[best]:
                break
            chosen.append(best)
            size *= sizes[best]
        uncovered.remove(chosen)
        sets.append(tuple(names[place] for place in sorted(chosen)))
    return sets


def least_sets(attributes: int, *, of: int, most: int) -> int:
    """Bound from below how many sets of at most `most` attributes cover all sets of `of`.

    >>> least_sets(300, of=2, most=4)
    7475
    """
    return -(-comb(attributes, of) // comb(most, of))
