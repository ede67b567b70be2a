"""The plan of a run: what follows from public figures alone, so that every role computes the same.

How much of the budget goes to which phase, which tables are counted first, and how large a table
may become: the usefulness of PrivBayes says whether the records that fall into an average cell are
theta times the average noise in it (spec section 8). No figure here depends on a record; n is
public, as neighbours replace one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, floor, log, prod, sqrt
from typing import Any, Final

import numpy as np

from ...curator import BayesianNetwork
from ...messages import UsageError
from ...privacy import Domain
from ..protocol import Mode
from ..secure_sum import Family, NoiseKind, SumOptions, Tables
from .covering import covering
from .settings import Budget, Choices, Settings, Views
from .views import algorithm_2, best_design, mixed_design, pairs_missed, views_of

__all__ = [
    "Plan",
    "Sizes",
    "binary_degree",
    "edges_worth",
    "forest_budget",
    "inflation_of",
    "most_cells",
    "plan_run",
    "useful_sizes",
    "view_families",
]

MOST_PARENTS: Final = 4
NOISE: Final = 0.4
"""Of the standard deviation: by how much noise moves a cell's share of the total variation
distance, E|X| / 2.
"""


def binary_degree(
    *, rows: int, attributes: int, epsilon: float, theta: float, inflation: float
) -> int:
    """Find the largest k for which n epsilon / ((d - k) 2^(k + 2)) is at least theta; 0 when even
    none is.

    Noise that is `inflation` times as much in variance counts as so much less epsilon.

    >>> [binary_degree(rows=45222, attributes=52, epsilon=e, theta=t, inflation=1) for e, t in ((0.05, 6), (0.05, 2), (0.4, 6))]
    [0, 2, 3]
    """
    useful = [
        k
        for k in range(attributes)
        if rows * epsilon / sqrt(inflation) / ((attributes - k) << (k + 2)) >= theta
    ]
    return max(useful, default=0)


def most_cells(
    *, rows: int, attributes: int, epsilon: float, theta: float, inflation: float
) -> int:
    """Say how many cells a table of attributes of any sizes may have: n epsilon / (2 d theta),
    PrivBayes section 5.
    """
    return floor(rows * epsilon / sqrt(inflation) / (2 * attributes * theta))


def useful_sizes(
    domain: Domain,
    *,
    rows: int,
    epsilon: float,
    theta: float,
    most_parents: int,
    inflation: float = 1.0,
    least_parents: int = 0,
) -> tuple[Sizes, int]:
    """Say how large a table may be, and how many parents an attribute may have, by
    theta-usefulness.

    Of bits all tables of k parents are alike, so `least_parents` can be asked for; of others what
    fits decides.
    """
    if not domain.attributes:
        raise UsageError(
            "expected attributes with two or more labels for attributes=binary, found none"
        )
    public: dict[str, Any] = {
        "rows": rows,
        "attributes": len(domain.attributes),
        "inflation": inflation,
    }
    if set(domain.shape(domain.attributes)) == {2}:
        k = max(binary_degree(epsilon=epsilon, theta=theta, **public), least_parents)
        k = min(k, most_parents, len(domain.attributes) - 1)
        return Sizes(domain, 2 ** (k + 1)), k
    sizes = Sizes(domain, most_cells(epsilon=epsilon, theta=theta, **public))
    return sizes, min(sizes.degree, most_parents)


def inflation_of(options: SumOptions, *, noise: NoiseKind, parties: int) -> float:
    """Say how many times one full noise's variance is in a sum: with shares K / (K - c)."""
    return parties / (parties - min(options.colluding, parties - 1)) if noise == "shares" else 1.0


def forest_budget(
    domain: Domain,
    *,
    rows: int,
    epsilon: float,
    inflation: float,
    theta: float,
    initialisation: float = 0.1,
) -> tuple[Budget, int]:
    """Split epsilon between the tables of single attributes and those of M edges, and say how many
    edges that is.

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


def edges_worth(
    domain: Domain, *, rows: int, epsilon: float, inflation: float, theta: float
) -> int:
    """Say how many edges' tables are worth their noise for so much epsilon: the average one's below
    1/theta.
    """
    pairs = [domain.cells(pair) for pair in combinations(domain.attributes, 2)]
    if not pairs:
        return 0
    noise_of_one = NOISE * float(np.mean(pairs)) * 2 / epsilon * sqrt(2 * inflation)
    return min(len(domain.attributes) - 1, floor(rows / theta / noise_of_one))


def view_families(
    domain: Domain, *, views: Views, largest: int, block: int = 8
) -> tuple[Family, ...]:
    """List the tables that quantify all correlations."""
    names = domain.attributes
    sizes = domain.shape(names)
    if views == "one-way" or len(names) == 1:
        return tuple((name,) for name in names)
    if views == "algorithm-2":
        chosen = views_of(algorithm_2(len(names)), len(names))
    elif views == "priview":
        if set(sizes) != {2}:
            raise UsageError(
                "expected attributes=binary for views=priview, found others, whose blocks would be too large"
            )
        chosen = covering(len(names), size=block)
    elif views == "pairs":
        chosen = list(combinations(range(len(names)), 2))
    elif set(sizes) == {2}:
        chosen = best_design(len(names), largest=largest)
    else:
        chosen = mixed_design(domain)
    missed, twice = pairs_missed(chosen, len(names))
    if missed or (twice and views != "priview"):
        raise AssertionError(
            f"views={views} do not cover every pair of {len(names)} attributes exactly once"
        )
    return tuple(tuple(names[at] for at in view) for view in chosen)


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

    def extensions(self, known: Sequence[str], *, degree: int) -> list[Family]:
        """List every attribute that is not known yet, after each of its largest parent sets among
        the known.
        """
        names = self.domain.attributes
        own = sorted(known, key=names.index)
        return [
            (*parents, name)
            for name in names
            if name not in known
            for parents in self.parent_sets(name, own, degree=degree)
        ]

    def parent_sets(
        self, child: str, parents: Sequence[str], *, degree: int
    ) -> list[tuple[str, ...]]:
        """List the subsets of `parents` of at most `degree` that fit and to which none of the
        others could be added.
        """
        of = dict(
            zip(self.domain.attributes, self.domain.shape(self.domain.attributes), strict=True)
        )
        room = self.most // of[child]
        largest = min(degree, len(parents))
        found = [
            chosen
            for chosen in combinations(parents, largest)
            if prod([of[name] for name in chosen]) <= room
        ]
        if len(found) == comb(len(parents), largest):
            return found  # every smaller set is part of one of these
        for size in range(largest - 1, -1, -1):
            for chosen in combinations(parents, size):
                own = prod([of[name] for name in chosen])
                if own <= room and all(
                    own * of[name] > room for name in parents if name not in chosen
                ):
                    found.append(chosen)
        return found or [()]


@dataclass(frozen=True, slots=True)
class Plan:
    """What every role knows before a record is looked at."""

    domain: Domain
    rows: int
    budget: Budget
    views: tuple[Family, ...]
    updates: int
    """How many frontiers share eps3."""
    edges: int
    """How many a forest may have."""
    noise_of_a_cell: float
    """What a cell's noise in the table of one of its edges costs, in total variation."""
    sizes: Sizes
    degree: int
    """The network's k."""
    wide: Sizes
    wide_degree: int
    """The frontier's k'."""
    flat: bool
    """No network is worth its noise: all of epsilon goes to the tables of single attributes."""
    weighted: bool
    """Whether tables share a batch's budget by their sizes; those of bits are alike, and the paper
    knows no such thing.
    """

    @property
    def correlations(self) -> Tables:
        """Phase 1: the views."""
        return Tables(self.domain, self.views, self.budget.correlations, weighted=self.weighted)

    def frontier(self, families: Sequence[Family]) -> Tables:
        """Phase 3: one of the joint frontiers."""
        return Tables(
            self.domain, tuple(families), self.budget.update / self.updates, weighted=self.weighted
        )

    def parameters(self, families: Sequence[Family]) -> Tables:
        """Phase 4: what the network is fitted to."""
        return Tables(self.domain, tuple(families), self.budget.parameters, weighted=self.weighted)

    def to_count(self, network: BayesianNetwork) -> tuple[Family, ...]:
        """List the families that phase 4 counts: the maximal ones, but for those that phase 1
        counted for themselves.
        """
        maximal = network.maximal_families
        new = tuple(family for family in maximal if len(family) > 1 or family not in self.views)
        return new or maximal  # no edges were found: what is left goes to the same tables again


def plan_run(
    domain: Domain, choices: Choices, settings: Settings, *, mode: Mode, rows: int, parties: int
) -> Plan:
    """Plan a run from public figures."""
    if not domain.attributes:
        raise UsageError(
            "expected attributes with two or more labels for attributes=binary, found none"
        )
    profile, epsilon = settings.profile, choices.epsilon
    inflation = inflation_of(choices, noise=settings.noise, parties=parties)
    public: dict[str, Any] = {"rows": rows, "inflation": inflation}
    edges = 0
    if settings.budget is None:
        budget, edges = forest_budget(domain, epsilon=epsilon, theta=profile.theta, **public)
    else:
        budget = settings.budget
        if profile.init == "forest":
            edges = edges_worth(domain, epsilon=budget.parameters, theta=profile.theta, **public)
    public["attributes"] = len(domain.attributes)
    spent, searched = (
        budget.parameters or epsilon,
        budget.update / choices.updates or budget.parameters or epsilon,
    )
    if set(domain.shape(domain.attributes)) == {2}:
        k = binary_degree(epsilon=spent, theta=profile.theta, **public)
        wide = binary_degree(epsilon=searched, theta=profile.theta_frontier, **public)
        k = min(max(k, 1) if mode == "paper" else k, MOST_PARENTS)
        most, most_wide = 2 ** (k + 1), 2 ** (min(max(k + 1, wide), MOST_PARENTS + 2) + 1)
    else:
        most = most_cells(epsilon=spent, theta=profile.theta, **public)
        most_wide = most_cells(epsilon=searched, theta=profile.theta_frontier, **public)
    sizes, wide_sizes = Sizes(domain, most), Sizes(domain, max(most, most_wide))
    views: dict[str, Any] = {"largest": choices.largest_view, "block": choices.block}
    flat = edges == 0 if profile.init == "forest" else sizes.degree == 0
    if flat:
        budget = Budget(epsilon, 0.0, 0.0, 0.0)
    scale = 2 * edges / budget.parameters if budget.parameters else 0.0
    return Plan(
        domain=domain,
        rows=rows,
        budget=budget,
        views=view_families(domain, views="one-way" if flat else profile.views, **views),
        updates=choices.updates,
        edges=edges,
        noise_of_a_cell=NOISE * scale * sqrt(2 * inflation) / rows,
        sizes=sizes,
        degree=min(sizes.degree, MOST_PARENTS),
        wide=wide_sizes,
        wide_degree=min(wide_sizes.degree, MOST_PARENTS + 2),
        flat=flat,
        weighted=mode == "rigorous" and not settings.binary,
    )
