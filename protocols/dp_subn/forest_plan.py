"""The plan of a run on the original attributes: its budget, and the edges worth their noise.

It follows from public figures, so that all roles compute the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import floor, sqrt

import numpy as np

from ...curator import BayesianNetwork
from ...messages import UsageError
from ...privacy import Domain
from ..secure_sum import Family, Tables
from .budget import Budget
from .usefulness import CELL_NOISE

__all__ = ["ForestPlan", "edges_worth", "forest_budget", "plan_forest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestPlan:
    """What every role knows before a record is looked at."""

    domain: Domain
    budget: Budget
    edges: int
    """The most edges that the forest may have; with none all of epsilon goes to phase 1."""
    cell_noise: float
    """The error of a cell in the table of an edge, in total variation."""

    @property
    def single_attributes(self) -> Tables:
        """The batch of phase 1."""
        families = tuple((name,) for name in self.domain.attributes)
        return Tables(self.domain, families, self.budget.correlations, weighted=True)

    def parameters(self, families: Sequence[Family]) -> Tables:
        """The batch of phase 4."""
        return Tables(self.domain, tuple(families), self.budget.parameters, weighted=True)

    def to_count(self, network: BayesianNetwork) -> tuple[Family, ...]:
        """List the families that phase 4 counts: the edges.

        If no edge was chosen, single attributes are counted again with what is left of epsilon.
        """
        maximal = network.maximal_families
        return tuple(family for family in maximal if len(family) > 1) or maximal


def plan_forest(
    domain: Domain,
    *,
    epsilon: float,
    budget: Budget | None,
    theta: float,
    rows: int,
    inflation: float,
) -> ForestPlan:
    """Plan a run; without a budget epsilon is split by the sizes of the tables."""
    if not domain.attributes:
        raise UsageError("expected at least one attribute, found none")
    if budget is None:
        budget, edges = forest_budget(
            domain, rows=rows, epsilon=epsilon, inflation=inflation, theta=theta
        )
    else:
        edges = edges_worth(
            domain, rows=rows, epsilon=budget.parameters, inflation=inflation, theta=theta
        )
    if not edges:
        return ForestPlan(
            domain=domain, budget=Budget(epsilon, 0.0, 0.0, 0.0), edges=0, cell_noise=0.0
        )
    scale = 2 * edges / budget.parameters
    return ForestPlan(
        domain=domain,
        budget=budget,
        edges=edges,
        cell_noise=CELL_NOISE * scale * sqrt(2 * inflation) / rows,
    )


def forest_budget(
    domain: Domain,
    *,
    rows: int,
    epsilon: float,
    inflation: float,
    theta: float,
    initialisation: float = 0.1,
) -> tuple[Budget, int]:
    """Split epsilon between tables of single attributes and tables of M edges, and compute M.

    If all cells have the same noise, d tables with A cells in all have the squared error
    2 A (2 d / eps1)^2, and M tables with B cells each have 2 M B (2 M / eps4)^2. The sum is least
    for eps1 / eps4 = (A d^2 / (B M^3))^(1/3). M is the largest number of edges for which the noise
    of the average table is below 1/theta in total variation.
    """
    names = domain.attributes
    single = sum(domain.shape(names))
    pairs = [domain.cells(pair) for pair in combinations(names, 2)]
    average = float(np.mean(pairs)) if pairs else 0.0
    for edges in range(len(names) - 1, 0, -1):
        ratio = (single * len(names) ** 2 / (average * edges**3)) ** (1 / 3)
        parameters = (1 - initialisation) / (1 + ratio)
        # The noise of the average table, times epsilon and the share of the parameters.
        noise = CELL_NOISE * average * 2 * edges * sqrt(2 * inflation)
        if noise * theta <= epsilon * parameters * rows:
            shares = (1 - initialisation - parameters, initialisation, 0.0, parameters)
            return Budget(*(epsilon * share for share in shares)), edges
    return Budget(epsilon, 0.0, 0.0, 0.0), 0


def edges_worth(
    domain: Domain, *, rows: int, epsilon: float, inflation: float, theta: float
) -> int:
    """Compute for how many edges the average table's noise is below 1/theta, at this epsilon."""
    pairs = [domain.cells(pair) for pair in combinations(domain.attributes, 2)]
    if not pairs:
        return 0
    noise_of_one_edge = CELL_NOISE * float(np.mean(pairs)) * 2 / epsilon * sqrt(2 * inflation)
    return min(len(domain.attributes) - 1, floor(rows / theta / noise_of_one_edge))
