"""Theta-usefulness: how large a table may be, so that its counts outweigh their noise.

The usefulness of PrivBayes compares the records in an average cell with the noise in it (spec
section 8). A table is useful if the ratio is at least theta. No figure here depends on a record: n
is public, as neighbours replace a record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, floor, log, prod, sqrt
from typing import Final

from ...messages import UsageError
from ...privacy import Domain
from ..secure_sum import Family, NoiseKind, SumOptions

__all__ = [
    "CELL_NOISE",
    "Sizes",
    "binary_degree",
    "inflation_of",
    "max_cells",
    "useful_sizes",
]

MAX_FAMILIES: Final = 2_000_000
"""Families of an attribute and its parents that are scored: those of 159 attributes with two."""
MAX_BIT_FAMILIES: Final = 14_000_000
"""The same for bits, which are counted 64 rows at a time: those of 52 bits with four."""
CELL_NOISE: Final = 0.4
"""E|X| / 2 over the standard deviation of X: a noisy cell's share of the variation distance."""


def binary_degree(
    *, rows: int, attributes: int, epsilon: float, theta: float, inflation: float
) -> int:
    """Find the largest k with n epsilon / ((d - k) 2^(k + 2)) >= theta, or 0 if there is none.

    Noise with `inflation` times the variance counts as an epsilon that is smaller by the root.

    >>> figures = {"rows": 45222, "attributes": 52, "inflation": 1}
    >>> [binary_degree(epsilon=e, theta=t, **figures) for e, t in ((0.05, 6), (0.05, 2), (0.4, 6))]
    [0, 2, 3]
    """
    useful = [
        k
        for k in range(attributes)
        if rows * epsilon / sqrt(inflation) / ((attributes - k) << (k + 2)) >= theta
    ]
    return max(useful, default=0)


def max_cells(*, rows: int, attributes: int, epsilon: float, theta: float, inflation: float) -> int:
    """Compute how many cells a table may have: n epsilon / (2 d theta), PrivBayes section 5."""
    return floor(rows * epsilon / sqrt(inflation) / (2 * attributes * theta))


def inflation_of(options: SumOptions, *, noise: NoiseKind, parties: int) -> float:
    """Compute the variance of a sum's noise over that of one full noise; K / (K - c) for shares."""
    return parties / (parties - min(options.colluding, parties - 1)) if noise == "shares" else 1.0


def useful_sizes(
    domain: Domain,
    *,
    rows: int,
    epsilon: float,
    theta: float,
    max_parents: int,
    inflation: float = 1.0,
    min_parents: int = 0,
) -> tuple[Sizes, int]:
    """Find how large a table may be, and how many parents an attribute may have.

    On bits all tables of k parents have the same size, so `min_parents` can be required. On other
    attributes only the sizes decide.
    """
    if not domain.attributes:
        raise UsageError(
            "expected attributes with two or more labels for attributes=binary, found none"
        )
    attributes = len(domain.attributes)
    if set(domain.shape(domain.attributes)) == {2}:
        k = binary_degree(
            rows=rows, attributes=attributes, epsilon=epsilon, theta=theta, inflation=inflation
        )
        k = max(min(k, countable_degree(attributes, bits=True)), min_parents)
        k = min(k, max_parents, attributes - 1)
        return Sizes.of_bits(domain, parents=k), k
    cells = max_cells(
        rows=rows, attributes=attributes, epsilon=epsilon, theta=theta, inflation=inflation
    )
    sizes = Sizes(domain, cells)
    return sizes, min(sizes.degree, countable_degree(attributes, bits=False), max_parents)


def countable_degree(attributes: int, *, bits: bool) -> int:
    """Find the largest k for which all families of an attribute and k parents can be scored.

    >>> [countable_degree(d, bits=bits) for d, bits in ((15, False), (300, False), (52, True))]
    [14, 1, 4]
    """
    limit = MAX_BIT_FAMILIES if bits else MAX_FAMILIES
    degree = 1
    while degree + 1 < attributes and (degree + 2) * comb(attributes, degree + 2) <= limit:
        degree += 1
    return degree


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which families are small enough: those whose tables have at most `max_cells` cells."""

    domain: Domain
    max_cells: int

    @classmethod
    def of_bits(cls, domain: Domain, *, parents: int) -> Sizes:
        """Bound the tables of bits to those of so many parents."""
        return cls(domain, 2 ** (parents + 1))

    def fits(self, child: str, parents: Collection[str]) -> bool:
        return self.domain.cells((child, *parents)) <= self.max_cells

    @property
    def degree(self) -> int:
        """The number of parents that an average attribute may have."""
        sizes = [size for size in self.domain.shape(self.domain.attributes) if size > 1]
        if len(sizes) < 2 or prod(sorted(sizes)[:2]) > self.max_cells:
            return 0  # not even the smallest pair fits
        return max(1, round(log(self.max_cells) / (sum(map(log, sizes)) / len(sizes))) - 1)

    def extensions(self, placed: Sequence[str], *, degree: int) -> list[Family]:
        """List every attribute that is not placed yet, after each of its largest parent sets.

        The parents are taken from the attributes that are placed.
        """
        names = self.domain.attributes
        return [*_extensions(names, self.domain.shape(names), self.max_cells, (*placed,), degree)]

    def parent_sets(
        self, child: str, parents: Sequence[str], *, degree: int
    ) -> list[tuple[str, ...]]:
        """List the largest subsets of `parents` that fit: no other of them could be added.

        No subset has more than `degree` parents.
        """
        names = self.domain.attributes
        size_of = dict(zip(names, self.domain.shape(names), strict=True))
        return _parent_sets(child, parents, size_of, max_cells=self.max_cells, degree=degree)


@lru_cache(maxsize=2)
def _extensions(
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    max_cells: int,
    placed: tuple[str, ...],
    degree: int,
) -> tuple[Family, ...]:
    """List the extensions of what is placed. Roles in one process list them one after another."""
    size_of, candidates = dict(zip(names, sizes, strict=True)), sorted(placed, key=names.index)
    return tuple(
        [
            (*parents, name)
            for name in names
            if name not in placed
            for parents in _parent_sets(
                name, candidates, size_of, max_cells=max_cells, degree=degree
            )
        ]
    )


def _parent_sets(
    child: str,
    parents: Sequence[str],
    size_of: Mapping[str, int],
    *,
    max_cells: int,
    degree: int,
) -> list[tuple[str, ...]]:
    """List the largest sets of parents of an attribute, if attributes have these sizes."""
    room = max_cells // size_of[child]
    largest = min(degree, len(parents))
    fitting = [
        subset
        for subset, sizes in zip(
            combinations(parents, largest),
            combinations([size_of[name] for name in parents], largest),
            strict=True,
        )
        if prod(sizes) <= room
    ]
    if len(fitting) == comb(len(parents), largest):
        return fitting  # every smaller set is part of one of these
    for size in range(largest - 1, -1, -1):
        for subset in combinations(parents, size):
            cells = prod([size_of[name] for name in subset])
            if cells <= room and all(
                cells * size_of[name] > room for name in parents if name not in subset
            ):
                fitting.append(subset)
    return fitting or [()]
