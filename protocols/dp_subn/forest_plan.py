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
from ...privacy import Budget, Domain
from ..secure_sum import Family, SumBatch, Tables
from .budget import PhaseBudgets
from .usefulness import CELL_NOISE

__all__ = ["ForestPlan", "edges_worth", "forest_budget", "plan_forest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestPlan:
    """What every role knows before a record is looked at."""

    domain: Domain
    budget: PhaseBudgets
    edges: int
    """The most edges that the forest may have; with none phase 1 spends the whole budget."""
    cell_noise: float
    """The error of a cell in the table of an edge, in total variation."""

    @property
    def error(self) -> tuple[int, float]:
        """How well the plan can do: the more edges the better, and the less noise the better."""
        return -self.edges, self.cell_noise or self.single_attributes.error

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

        If no edge was chosen, single attributes are counted again with what is left.
        """
        maximal = network.maximal_families
        return tuple(family for family in maximal if len(family) > 1) or maximal


def plan_forest(
    domain: Domain,
    *,
    whole: Budget,
    budget: PhaseBudgets | None,
    theta: float,
    rows: int,
    inflation: float,
) -> ForestPlan:
    """Plan a run; without budgets of phases the whole is split by the sizes of the tables."""
    if not domain.attributes:
        raise UsageError("expected at least one attribute, found none")
    if budget is None:
        budget, edges = forest_budget(
            domain, rows=rows, whole=whole, inflation=inflation, theta=theta
        )
    else:
        edges = edges_worth(
            domain, rows=rows, budget=budget.parameters, inflation=inflation, theta=theta
        )
    if not edges:
        alone = PhaseBudgets.of(whole, 1.0, 0.0, 0.0, 0.0)
        return ForestPlan(domain=domain, budget=alone, edges=0, cell_noise=0.0)
    return ForestPlan(
        domain=domain,
        budget=budget,
        edges=edges,
        cell_noise=_cell_noise(edges, budget.parameters, inflation=inflation) / rows,
    )


def forest_budget(
    domain: Domain,
    *,
    rows: int,
    whole: Budget,
    inflation: float,
    theta: float,
    initialisation: float = 0.1,
) -> tuple[PhaseBudgets, int]:
    """Split a budget between tables of single attributes and tables of M edges, and compute M.

    If all cells have the same noise, d tables with A cells in all have the squared error
    2 A (2 d / eps1)^2, and M tables with B cells each have 2 M B (2 M / eps4)^2. The sum is least
    for eps1 / eps4 = (A d^2 / (B M^3))^(1/3). For Gaussian noise the errors are A d / rho1 and
    M B M / rho4, whose sum is least for rho1 / rho4 = (A d / (B M^2))^(1/2). M is the largest
    number of edges for which the noise of the average table is below 1/theta in total variation.
    """
    names = domain.attributes
    single = sum(domain.shape(names))
    pairs = [domain.cells(pair) for pair in combinations(names, 2)]
    average = float(np.mean(pairs)) if pairs else 0.0
    for edges in range(len(names) - 1, 0, -1):
        ratio = (
            sqrt(single * len(names) / (average * edges**2))
            if whole.concentrated
            else (single * len(names) ** 2 / (average * edges**3)) ** (1 / 3)
        )
        parameters = (1 - initialisation) / (1 + ratio)
        noise = average * _cell_noise(edges, whole.share(parameters), inflation=inflation)
        if noise * theta <= rows:
            shares = (1 - initialisation - parameters, initialisation, 0.0, parameters)
            return PhaseBudgets.of(whole, *shares), edges
    return PhaseBudgets.of(whole, 1.0, 0.0, 0.0, 0.0), 0


def edges_worth(
    domain: Domain, *, rows: int, budget: Budget, inflation: float, theta: float
) -> int:
    """Compute for how many edges the average table's noise is below 1/theta, at this budget."""
    pairs = [domain.cells(pair) for pair in combinations(domain.attributes, 2)]
    if not pairs:
        return 0
    # Noise grows with the number of edges, or with its root.
    worth = rows / theta / (float(np.mean(pairs)) * _cell_noise(1, budget, inflation=inflation))
    return min(len(domain.attributes) - 1, floor(worth**2 if budget.concentrated else worth))


def _cell_noise(edges: int, budget: Budget, *, inflation: float) -> float:
    """Compute the error of a cell in one of so many tables, as a share of total variation."""
    batch = SumBatch.of(budget, cells=1, sensitivity=2 * edges, squares=2 * edges)
    return CELL_NOISE * batch.deviation * sqrt(inflation)
