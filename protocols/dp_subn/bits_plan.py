"""The plan of a run on bits: what follows from public figures, so that all roles compute the same.

The plan splits the budget, names the tables of phase 1, and bounds the network's parents (k) and
the search frontier's (k').
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from ...messages import UsageError
from ...privacy import Budget, Domain
from ..secure_sum import Family, Tables
from .budget import PhaseBudgets
from .covering import covering
from .designs import Block, algorithm_2, best_design, blocks_of, pairs_missed
from .options import DPSUBNParameters, Profile
from .usefulness import Sizes, binary_degree

__all__ = ["BitsPlan", "Design", "Frontiers", "families_of", "pick_design", "plan_bits"]

Design: TypeAlias = Callable[[int], list[Block]]
"""Covers all pairs of so many bits by blocks."""

Frontiers: TypeAlias = tuple[tuple[Family, ...], ...]
"""The families of each search frontier that was counted."""

MAX_PARENTS: Final = 4
"""Bound on the network's parents."""
MAX_FRONTIER_PARENTS: Final = MAX_PARENTS + 2
"""Bound on the search frontier's parents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BitsPlan:
    """What every role knows before a record is looked at."""

    domain: Domain
    rows: int
    budget: PhaseBudgets
    views: tuple[Family, ...]
    """The families whose tables quantify all correlations."""
    updates: int
    """The number of frontiers that share eps3."""
    degree: int
    """The network's k; with k = 0 no network is worth its noise."""
    wide_degree: int
    """The frontier's k'."""
    as_printed: bool
    """Whether both cells of a single bit's table are counted."""

    @property
    def error(self) -> tuple[int, float]:
        """How well the plan can do: the larger its tables the better, and the less noise."""
        # There are about as many tables as bits.
        tables = len(self.domain.attributes)
        part = self.budget.parameters if self.degree else self.budget.correlations
        return -self.degree, -part.laplace_epsilon(tables=tables)

    @property
    def sizes(self) -> Sizes:
        """The families that the network may have."""
        return Sizes.of_bits(self.domain, parents=self.degree)

    @property
    def wide_sizes(self) -> Sizes:
        """The families that the frontier may have."""
        return Sizes.of_bits(self.domain, parents=self.wide_degree)

    @property
    def correlations(self) -> Tables:
        """The batch of phase 1."""
        return self._tables(self.views, self.budget.correlations)

    def frontier(self, families: Sequence[Family]) -> Tables:
        """The batch of one frontier of phase 3, where all parties count it together."""
        return self._tables(families, self.budget.update.share(1 / self.updates))

    def parameters(self, families: Sequence[Family]) -> Tables:
        """The batch of phase 4."""
        return self._tables(families, self.budget.parameters)

    def _tables(self, families: Sequence[Family], budget: Budget) -> Tables:
        return Tables(self.domain, tuple(families), budget, as_printed=self.as_printed)


def plan_bits(
    domain: Domain,
    profile: Profile,
    *,
    whole: Budget,
    budget: PhaseBudgets,
    design: Design,
    rows: int,
    inflation: float,
    updates: int = 1,
    min_parents: int = 0,
    as_printed: bool = False,
) -> BitsPlan:
    """Plan a run on bits.

    Where k = 0, no network is worth its noise: the tables of single bits have the whole budget.
    """
    names = domain.attributes
    if not names:
        raise UsageError(
            "expected attributes with two or more labels for attributes=binary, found none"
        )

    def useful_degree(share: Budget, theta: float) -> int:
        # With k parents there are about as many tables as bits.
        return binary_degree(
            rows=rows,
            attributes=len(names),
            epsilon=share.laplace_epsilon(tables=len(names)),
            theta=theta,
            inflation=inflation,
        )

    k = min(max(useful_degree(budget.parameters, profile.theta), min_parents), MAX_PARENTS)
    wide = useful_degree(budget.update.share(1 / updates), profile.theta_frontier)
    return BitsPlan(
        domain=domain,
        rows=rows,
        budget=budget if k else PhaseBudgets.of(whole, 1.0, 0.0, 0.0, 0.0),
        views=families_of(domain, design) if k else tuple((name,) for name in names),
        updates=updates,
        degree=k,
        wide_degree=min(max(k + 1, wide), MAX_FRONTIER_PARENTS),
        as_printed=as_printed,
    )


def pick_design(parameters: DPSUBNParameters, profile: Profile) -> Design:
    """Pick the design that `views` names."""
    designs: dict[str, Design] = {
        "nocd": lambda d: best_design(d, largest=parameters.largest_view),
        "algorithm-2": lambda d: blocks_of(algorithm_2(d), d),
        "priview": lambda d: covering(d, size=parameters.block),
        "pairs": lambda d: list(combinations(range(d), 2)),
    }
    return designs[profile.views]


def families_of(domain: Domain, design: Design) -> tuple[Family, ...]:
    """List the families whose tables give the tables of all pairs; a single bit is its own."""
    names = domain.attributes
    if len(names) == 1:
        return (names,)
    blocks = design(len(names))
    missed, _ = pairs_missed(blocks, len(names))
    if missed:
        raise AssertionError(f"{missed} pairs of {len(names)} attributes are in no block")
    return tuple(tuple(names[index] for index in block) for block in blocks)
