"""The plan of a run with edges: its budget, the number of edges, and the size of their tables.

All of it follows from public figures, so that all roles compute the same: the numbers of labels,
rows and parties, and the budget.

*The error of a pair* has three parts, predicted as total variation distances: the noise of its two
attributes, the noise of an edge's table, and what a noisy choice of edges loses. Each falls with a
power of its share of the budget, so the shares with the least sum have a closed form:

    error = a / s1^p + b / s2^p + c / s4^p    is least for    s1 : s2 : s4 = (a : b : c)^(1/(1 + p))

Here p is 1 for Laplace noise, and 1/2 for Gaussian noise. With tables of few cells most of the
budget goes to choices, and with wide tables to counts. The noise of single attributes is in all
pairs. That of an edge is in its own pair, and where edges are strong in all pairs that they join.

*A table is useful* if its noise is at most 1/theta in total variation. Labels are merged until the
average table is. There are two edges for each attribute, or half of one where the noise is Laplace,
since Laplace noise grows with the number of tables and Gaussian noise with its root. There are
fewer where tables would have less than a few groups, and more where even tables of all labels would
be useful at twice theta. So the number of edges, or the size of their tables, grows with epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, sqrt
from typing import Final

import numpy as np

from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ..secure_sum import Family, SumBatch, Tables
from .budget import PhaseBudgets
from .usefulness import CELL_NOISE

__all__ = ["EdgeFigures", "EdgePlan", "plan_edges"]

EDGES: Final[Mapping[Unit, float]] = {"rho": 2.0, "epsilon": 0.5}
"""Edges for each attribute, where the noise allows them."""
MAX_EDGES: Final[Mapping[Unit, float]] = {"rho": 4.0, "epsilon": 1.0}
"""Most edges for each attribute: with more, raking takes longer than it gains."""
MIN_GROUPS: Final[Mapping[Unit, int]] = {"rho": 4, "epsilon": 6}
"""Groups of labels that a table must allow, before more edges are counted."""
CHOICE_LOSS: Final = 1.5
"""What a noisy choice loses on average, in scales of its noise."""
MIN_AMOUNT: Final = 1e-12
"""Least budget with which the noise of tables is computed; no table is worth less."""
THETA_OF_LAPLACE: Final = 1.5
"""Usefulness of Laplace noise over that of Gaussian noise: it has heavier tails."""


@dataclass(frozen=True, kw_only=True)
class EdgeFigures:
    """What is known of a run before a record is looked at, and what follows for its tables."""

    domain: Domain
    whole: Budget
    rows: int
    parties: int
    inflation: float
    theta: float

    @cached_property
    def sizes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The numbers of labels of the attributes that have two or more."""
        sizes = self.domain.shape(self.domain.attributes)
        return np.array([size for size in sizes if size > 1], np.int64)

    @property
    def pairs(self) -> int:
        """The number of pairs of attributes."""
        return comb(len(self.sizes), 2)

    @property
    def power(self) -> float:
        """How fast noise falls with the share of the budget."""
        return 0.5 if self.whole.concentrated else 1.0

    def cells(self, groups: int) -> float:
        """Compute the cells of the average pair where attributes have at most so many groups."""
        merged = np.minimum(self.sizes, groups)
        return float(merged.sum() ** 2 - (merged**2).sum()) / 2 / max(self.pairs, 1)

    @cached_property
    def single_noise(self) -> float:
        """The error of the tables of all single attributes together, with the whole budget."""
        single = Tables(self.domain, _singles(self.domain), self.whole, weighted=True).error
        return single * CELL_NOISE * sqrt(self.inflation) / self.rows

    @property
    def single_error(self) -> float:
        """The noise of a pair's two attributes, with the whole budget."""
        return 2 * self.single_noise / len(self.sizes)

    def cell_noise(self, edges: int, budget: Budget) -> float:
        """Compute the error of a cell in one of so many tables, in total variation."""
        batch = SumBatch.of(budget, cells=1, sensitivity=2 * edges, squares=2 * edges)
        return CELL_NOISE * batch.deviation * sqrt(self.inflation) / self.rows

    @property
    def usual_noise(self) -> float:
        """The error of a cell in as many equal tables as a run with Laplace noise counts.

        By it a budget in epsilon is compared with one in rho: if Gaussian noise is less for so few
        tables, it is less for more. The noise of single attributes alone does not do. Those of two
        labels are one number each, and cheap with Laplace noise; tables of pairs are not.
        """
        attributes = len(self.sizes)
        tables = attributes + min(self.pairs, round(EDGES["epsilon"] * attributes))
        return self.cell_noise(max(tables, 1), self.whole)

    @property
    def reach(self) -> float:
        """How much of an edge's noise is in the pairs that paths of edges join.

        With 1 it is in all of these pairs, as in a tree of strong edges; with 0 in the edge's own
        pair. What a path carries passes through the labels of the attributes on it, and two labels
        carry little. With Gaussian noise a smaller reach gains nothing (docs/dp-subn.md).
        """
        if self.whole.concentrated or not len(self.sizes):
            return 1.0
        return float(np.mean((self.sizes - 2) / (self.sizes - 1)))

    def errors(self, edges: int, groups: int) -> tuple[float, float, float]:
        """Predict the parts of a pair's error, each as if it had the whole budget."""
        single = self.single_error
        # Few edges are the pairs of few attributes; in a tree they join the pairs of all.
        joined = min(1.0, edges / max(1, len(self.sizes) - 1))
        alone = min(1.0, edges / max(1, self.pairs))
        part = self.reach * joined + (1 - self.reach) * alone
        counts = part * self.cells(groups) * self.cell_noise(edges, self.whole)
        if edges >= self.pairs:
            return single, 0.0, counts  # all pairs are edges: none is chosen
        of_choice = self.whole.share(min(1.0, self.parties / edges)).of_choice
        choices = part * 2 * self.parties / (self.rows * of_choice) * CHOICE_LOSS
        return single, choices, counts

    def shares(self, edges: int, groups: int) -> tuple[float, float, float]:
        """Compute the shares with the least error."""
        parts = np.array(self.errors(edges, groups)) ** (1 / (1 + self.power))
        single, choices, counts = (parts / parts.sum()).tolist()
        return single, choices, counts

    def useful_groups(self, edges: int, *, times: float = 1.0) -> int:
        """Find the most groups of an attribute with which so many tables are useful; 0: none."""
        theta = self.theta * times * (1.0 if self.whole.concentrated else THETA_OF_LAPLACE)

        def is_useful(groups: int) -> bool:
            budget = self.whole.share(self.shares(edges, groups)[2])
            return self.cells(groups) * self.cell_noise(edges, budget) * theta <= 1

        low, high = 0, int(self.sizes.max())
        while low < high:
            middle = (low + high + 1) // 2
            if is_useful(middle):
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """What every role knows before a record is looked at."""

    domain: Domain
    budget: PhaseBudgets
    edges: int
    """The most edges; with none phase 1 spends the whole budget."""
    chosen: bool
    """Whether edges are chosen; otherwise all pairs are counted."""
    groups: int
    """The most groups of an attribute's labels."""
    edge_noise: float
    """The error of a cell in a single table, in total variation; it grows with the edges."""
    usual_noise: float
    """`EdgeFigures.usual_noise`, by which a budget in epsilon is compared with one in rho."""

    @property
    def single_attributes(self) -> Tables:
        """The batch of phase 1."""
        return Tables(self.domain, _singles(self.domain), self.budget.correlations, weighted=True)

    def parameters(self, grouped: Domain, families: Sequence[Family]) -> Tables:
        """The batch of phase 4, with attributes in groups."""
        return Tables(grouped, tuple(families), self.budget.parameters, weighted=True)


def plan_edges(figures: EdgeFigures, *, budget: PhaseBudgets | None = None) -> EdgePlan:
    """Plan a run; a budget of phases may be given, else it follows from the predicted errors."""
    whole, edges, groups = figures.whole, 0, 0
    if figures.pairs and whole.amount > MIN_AMOUNT:
        edges, groups = _size(figures)
    if not edges:
        return EdgePlan(
            domain=figures.domain,
            budget=PhaseBudgets.of(whole, 1.0, 0.0, 0.0, 0.0),
            edges=0,
            chosen=False,
            groups=1,
            edge_noise=0.0,
            usual_noise=figures.usual_noise,
        )
    if budget is None:
        single, choices, counts = figures.shares(edges, groups)
        budget = PhaseBudgets.of(whole, single, choices, 0.0, counts)
    return EdgePlan(
        domain=figures.domain,
        budget=budget,
        edges=edges,
        chosen=edges < figures.pairs,
        groups=groups,
        edge_noise=figures.cell_noise(1, budget.parameters),
        usual_noise=figures.usual_noise,
    )


def _size(figures: EdgeFigures) -> tuple[int, int]:
    """Find the number of edges, and the groups of their tables."""
    attributes, unit = len(figures.sizes), figures.whole.unit
    labels = int(figures.sizes.max())
    edges = min(figures.pairs, round(EDGES[unit] * attributes))
    least = min(labels, MIN_GROUPS[unit])
    while edges > 1 and figures.useful_groups(edges) < least:
        edges -= 1
    most = min(figures.pairs, round(MAX_EDGES[unit] * attributes))
    while edges < most and figures.useful_groups(edges + 1, times=2.0) >= labels:
        edges += 1
    groups = figures.useful_groups(edges)
    return (edges, groups) if groups > 1 else (0, 0)


def _singles(domain: Domain) -> tuple[Family, ...]:
    return tuple((name,) for name in domain.attributes)
