"""How a run divides its budget, and how many edges it looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

from ...messages import UsageError
from ...privacy import Budget, Domain
from .parameters import JTreeParameters

__all__ = [
    "Parts",
    "corrected_budget",
    "is_low",
    "least_noise",
    "printed_budget",
    "tree_budget",
]

LOW: Final = 0.35
"""Epsilon below which single attributes need most of it. Chosen looking at Adult."""
TABLES: Final = 8
"""Number of tables that the bound on a clique's cells assumes: m0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of the budget, all absolute, and the bounds that follow from them."""

    single: Budget
    """Budget of the tables of single attributes."""
    graph: Budget
    """Budget of the dependency graph."""
    clusters: Budget
    """Budget of the clusters' tables."""
    edges: int
    """Edges that are chosen; of a tree, edges that join two parts of it."""
    triangles: int = 0
    """Edges that close triangles within a tree."""
    usefulness: float
    """Average count of a clique's cells, in noise scales: tau."""
    low: bool = False
    """Whether the budget is so small that single attributes need most of it."""
    inflation: float
    """Factor on the noise's deviation, as colluding parties know their own shares of it."""

    @property
    def choices(self) -> int:
        """Number of choices that the graph's budget pays for."""
        return self.edges + self.triangles

    @property
    def epsilon_of_choice(self) -> float:
        """Epsilon of one choice."""
        return self.graph.share(1 / self.choices).of_choice

    def clusters_after(self, choices: int) -> Budget:
        """Compute the clusters' budget after one holder has made so many choices.

        The clusters get what the graph did not need. Without any choice there was no graph to find,
        and its part stays unspent.
        """
        if not choices:
            return self.clusters
        left = self.graph.amount * (1 - choices / self.choices)
        return Budget(self.clusters.unit, self.clusters.amount + left)

    def max_cells(self, rows: int) -> float:
        """Bound the cells of a clique: each is to count `usefulness` noise scales on average."""
        epsilon = self.clusters.laplace_epsilon(tables=TABLES)
        return rows * epsilon / (2 * TABLES * self.usefulness)

    def noise_scale(self, *, tables: int = TABLES) -> float:
        """Predict the noise scale of a clique's table, of so many tables."""
        epsilon = self.clusters.laplace_epsilon(tables=tables)
        return 2 * tables / epsilon * self.inflation if epsilon else inf


def is_low(whole: Budget) -> bool:
    """Check whether the budget is so small that single attributes need most of it.

    Half of it is compared, which is about what the clusters get.
    """
    return whole.share(0.5).laplace_epsilon(tables=TABLES) < LOW / 2


def least_noise(divided: Sequence[Parts], *, domain: Domain) -> Parts:
    """Take the parts with less noise in the clusters, of which there are few in a small domain."""
    tables = min(TABLES, max(1, len(domain.attributes)))
    return min(divided, key=lambda parts: parts.noise_scale(tables=tables))


def printed_budget(parameters: JTreeParameters) -> tuple[float, float]:
    """Divide epsilon between the graph and the clusters' tables as the paper does (section 5.1).

    The graph gets 0.1 of any epsilon, but half of epsilon 0.1 itself.
    """
    epsilon = parameters.epsilon
    graph = parameters.graph or min(0.1, epsilon / 2) / epsilon
    return graph * epsilon, _rest(0.0, graph) * epsilon


def corrected_budget(
    parameters: JTreeParameters, whole: Budget, *, domain: Domain, parties: int, graph: float
) -> Parts:
    """Divide a budget where nothing is known before the graph; `graph` is its default share."""
    attributes = len(domain.attributes)
    graph = parameters.graph or graph
    return Parts(
        single=whole.share(0.0),
        graph=whole.share(graph),
        clusters=whole.share(_rest(0.0, graph)),
        edges=_edges(parameters, default=round(4 * attributes / 3), attributes=attributes),
        usefulness=_usefulness(parameters, default=4.0),
        inflation=_inflation(parameters, parties=parties),
    )


def tree_budget(
    parameters: JTreeParameters, whole: Budget, *, domain: Domain, parties: int
) -> Parts:
    """Divide a budget where single attributes are counted before a tree is found.

    Gaussian noise grows with the root of the number of tables, so a tree of all attributes is
    looked for; an edge that is not worth its noise is left out. Laplace noise grows with the
    number itself, so fewer edges are looked for.
    """
    attributes, low = len(domain.attributes), is_low(whole)
    single = parameters.one_way or (0.55 if low else 0.38)
    graph = parameters.graph or (0.12 if low else 0.1)
    joins = round(attributes * (1 if low else 4 / 3) / 2)
    if whole.concentrated:
        joins = attributes - 1
    return Parts(
        single=whole.share(single),
        graph=whole.share(graph),
        clusters=whole.share(_rest(single, graph)),
        edges=_edges(parameters, default=joins, attributes=attributes),
        low=low,
        triangles=0 if low or parameters.edges else round(0.4 * attributes),
        usefulness=_usefulness(parameters, default=2.0),
        inflation=_inflation(parameters, parties=parties),
    )


def _rest(single: float, graph: float) -> float:
    """Compute the share of the budget that is left for the clusters' tables."""
    if single + graph >= 1:
        raise UsageError(
            "expected shares of the budget that leave some for the tables, "
            f"found {single:g} and {graph:g}"
        )
    return 1 - single - graph


def _edges(parameters: JTreeParameters, *, default: int, attributes: int) -> int:
    edges, pairs = parameters.edges, attributes * (attributes - 1) // 2
    if edges is not None and not 0 < edges <= pairs:
        raise UsageError(
            f"expected edges from 1 to all pairs of {attributes} attributes, found {edges}"
        )
    return max(1, min(edges or default, pairs))


def _usefulness(parameters: JTreeParameters, *, default: float) -> float:
    usefulness = parameters.usefulness
    if usefulness is not None and not 0 < usefulness < inf:
        raise UsageError(f"expected a usefulness above 0, found {usefulness:g}")
    return usefulness or default


def _inflation(parameters: JTreeParameters, *, parties: int) -> float:
    colluding = min(parameters.colluding, parties - 1)
    return sqrt(parties / (parties - colluding))
