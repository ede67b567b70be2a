"""The plan of a run: what follows from public figures alone, so that every role computes the same.

How much of the budget goes to which phase, which tables are counted first, and how large a table may become: the usefulness
of PrivBayes says whether the records that fall into an average cell are theta times the average noise in it (spec section 8).
No figure here depends on a record; n is public, as neighbours replace one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, floor, gcd, log, prod, sqrt
from typing import Final, Literal, TypeAlias

import numpy as np

from ...curator import Estimate, Marginal
from ...messages import UsageError
from ...parties import Records
from ...privacy import Domain
from ..secure_sum import CuratorSums, PartySums
from .views import algorithm_2, best_design, mixed_design, pairs_missed, views_of

__all__ = [
    "Budget", "Family", "Init", "Score", "Sizes", "Tables", "Update", "Views", "binary_degree", "edges_worth", "forest_budget",
    "most_cells", "view_families",
]  # fmt: skip

Family: TypeAlias = tuple[str, ...]
"""An attribute after its parents, or any set of attributes that is counted as one table."""
Views: TypeAlias = Literal["nocd", "algorithm-2", "pairs", "one-way"]
Init: TypeAlias = Literal["mst", "em", "forest"]
Update: TypeAlias = Literal["none", "joint", "sequential", "replace"]
Score: TypeAlias = Literal["I", "R"]

WEIGHTS: Final = 8
"""The most that one table may be weighed against another."""
NOISE: Final = 0.4
"""Of the standard deviation: by how much noise moves a cell's share of the total variation distance, E|X| / 2."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon of the four phases that look at records."""

    correlations: float
    initialisation: float
    update: float
    parameters: float

    @classmethod
    def split(cls, epsilon: float, shares: str) -> Budget:
        """Split by shares such as 0.3,0,0.1,0.6, which must sum to 1."""
        try:
            parts = [float(part) for part in shares.split(",")]
        except ValueError:
            parts = []
        if len(parts) != 4 or not min(parts) >= 0 or not abs(sum(parts) - 1) <= 1e-9 or parts[3] == 0:  # NaN is none of it
            raise UsageError(f"expected budget=a,b,c,d, four shares that sum to 1, the last above 0, found {shares!r}")
        return cls(*(epsilon * part for part in parts))


def binary_degree(*, rows: int, attributes: int, epsilon: float, theta: float, inflation: float) -> int:
    """Find the largest k for which n epsilon / ((d - k) 2^(k + 2)) is at least theta; 0 when even none is.

    Noise that is `inflation` times as much in variance counts as so much less epsilon.

    >>> [binary_degree(rows=45222, attributes=52, epsilon=e, theta=t, inflation=1) for e, t in ((0.05, 6), (0.05, 2), (0.4, 6))]
    [0, 2, 3]
    """
    useful = [k for k in range(attributes) if rows * epsilon / sqrt(inflation) / ((attributes - k) << (k + 2)) >= theta]
    return max(useful, default=0)


def most_cells(*, rows: int, attributes: int, epsilon: float, theta: float, inflation: float) -> int:
    """Say how many cells a table of attributes of any sizes may have: n epsilon / (2 d theta), PrivBayes section 5."""
    return floor(rows * epsilon / sqrt(inflation) / (2 * attributes * theta))


def forest_budget(
    domain: Domain, *, rows: int, epsilon: float, inflation: float, theta: float, initialisation: float = 0.1
) -> tuple[Budget, int]:
    """Split epsilon between the tables of single attributes and those of M edges, and say how many edges that is.

    Counted alike, d tables of A cells in all have the squared error 2 A (2 d / eps1)^2, M tables of B cells each
    2 M B (2 M / eps4)^2; their sum is least for eps1 / eps4 = (A d^2 / (B M^3))^(1/3). M is the largest number of edges whose
    average table then has its noise below 1/theta in total variation.
    """
    names = domain.attributes
    single = sum(domain.shape(names))
    pairs = [domain.cells(pair) for pair in combinations(names, 2)]
    average = float(np.mean(pairs)) if pairs else 0.0
    for edges in range(len(names) - 1, 0, -1):
        ratio = (single * len(names) ** 2 / (average * edges**3)) ** (1 / 3)
        parameters = (1 - initialisation) / (1 + ratio)
        noise = NOISE * average * 2 * edges * sqrt(2 * inflation)  # times 1 / (epsilon parameters)
        if noise * theta <= epsilon * parameters * rows:
            shares = (1 - initialisation - parameters, initialisation, 0.0, parameters)
            return Budget(*(epsilon * share for share in shares)), edges
    return Budget(epsilon, 0.0, 0.0, 0.0), 0


def edges_worth(domain: Domain, *, rows: int, epsilon: float, inflation: float, theta: float) -> int:
    """Say how many edges' tables are worth their noise for so much epsilon: the average one's below 1/theta."""
    pairs = [domain.cells(pair) for pair in combinations(domain.attributes, 2)]
    if not pairs:
        return 0
    noise_of_one = NOISE * float(np.mean(pairs)) * 2 / epsilon * sqrt(2 * inflation)
    return min(len(domain.attributes) - 1, floor(rows / theta / noise_of_one))


def view_families(domain: Domain, *, views: Views, largest: int) -> tuple[Family, ...]:
    """List the tables that quantify all correlations."""
    names = domain.attributes
    sizes = domain.shape(names)
    if views == "one-way" or len(names) == 1:
        return tuple((name,) for name in names)
    if views == "algorithm-2":
        chosen = views_of(algorithm_2(len(names)), len(names))
    elif views == "pairs":
        chosen = list(combinations(range(len(names)), 2))
    elif set(sizes) == {2}:
        chosen = best_design(len(names), largest=largest)
    else:
        chosen = mixed_design(domain)
    if pairs_missed(chosen, len(names)) != (0, 0):
        raise AssertionError(f"views={views} do not cover every pair of {len(names)} attributes exactly once")
    return tuple(tuple(names[at] for at in view) for view in chosen)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that are counted in one batch. A replaced record changes each by at most 2.

    `weighted` tables share the budget by the root of their sizes, which makes the sum of all cells' absolute errors least: each
    is counted in multiples of a whole number, and divided again.
    """

    domain: Domain
    families: tuple[Family, ...]
    epsilon: float
    weighted: bool = False

    @property
    def weights(self) -> list[int]:
        cells = [self.domain.cells(family) for family in self.families]
        if not self.weighted:
            return [1] * len(cells)
        weights = [max(1, round(WEIGHTS * sqrt(own / max(cells)))) for own in cells]
        return [weight // gcd(*weights) for weight in weights]

    @property
    def batch(self) -> dict[str, int | float]:
        """What everybody knows of the batch: its size, its sensitivity and its budget."""
        weights = self.weights
        cells = sum(self.domain.cells(family) for family in self.families)
        return {"cells": cells, "sensitivity": 2 * sum(weights), "epsilon": self.epsilon, "weight": max(weights)}

    def contribute(self, records: Records, sums: PartySums) -> None:
        """Count them and add them to the batch. Called by a party."""
        counted = zip(self.weights, records.marginals(self.families), strict=True)
        sums.contribute((weight * counts for weight, counts in counted), **self.batch)  # type: ignore[arg-type]

    def receive(self, sums: CuratorSums) -> list[Estimate]:
        """Receive the noisy sums. Called by the curator."""
        batch = self.batch
        variance = sums.variance(**batch)  # type: ignore[arg-type]
        ends = np.cumsum([self.domain.cells(family) for family in self.families])[:-1]
        cells = np.split(sums.total(**batch), ends)  # type: ignore[arg-type]
        return [
            Estimate(Marginal.of(self.domain, family, own / weight), variance / weight**2)
            for family, own, weight in zip(self.families, cells, self.weights, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which families are small enough."""

    domain: Domain
    most: int

    def fits(self, child: str, parents: Collection[str]) -> bool:
        return self.domain.cells((child, *parents)) <= self.most

    @property
    def degree(self) -> int:
        """How many parents an average attribute may have."""
        sizes = [size for size in self.domain.shape(self.domain.attributes) if size > 1]
        if len(sizes) < 2 or prod(sorted(sizes)[:2]) > self.most:
            return 0  # not even the smallest pair fits
        return max(1, round(log(self.most) / (sum(map(log, sizes)) / len(sizes))) - 1)

    def parent_sets(self, child: str, parents: Sequence[str], *, degree: int) -> list[tuple[str, ...]]:
        """List the subsets of `parents` of at most `degree` that fit and to which none of the others could be added."""
        of = dict(zip(self.domain.attributes, self.domain.shape(self.domain.attributes), strict=True))
        room = self.most // of[child]
        largest = min(degree, len(parents))
        found = [chosen for chosen in combinations(parents, largest) if prod([of[name] for name in chosen]) <= room]
        if len(found) == comb(len(parents), largest):
            return found  # every smaller set is part of one of these
        for size in range(largest - 1, -1, -1):
            for chosen in combinations(parents, size):
                own = prod([of[name] for name in chosen])
                if own <= room and all(own * of[name] > room for name in parents if name not in chosen):
                    found.append(chosen)
        return found or [()]
