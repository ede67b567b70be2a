"""How much of a pair's dependence a path of stronger pairs explains.

If a and c depend on each other through b alone, the pair a, c needs no measurement once a, b and
b, c are known. After the first round of pairs no model includes this yet. So it is predicted along
the maximum spanning tree (Chow and Liu 1968).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..marginal import Marginal
from ..spanning_forest import SpanningForest
from .estimate import PairEstimate
from .groups import Pair

__all__ = ["explained_shares"]


def explained_shares(estimate: PairEstimate) -> dict[Pair, float]:
    """Compute the share of each pair's dependence that its path explains; no edge is listed.

    A correlation r stands for a pair's mutual information I, with r^2 = 1 - exp(-2 I), and
    correlations multiply along a path.
    """
    shares = estimate.shares
    correlations = {pair: _correlation(table, shares) for pair, table in estimate.tables.items()}
    tree = _maximum_spanning_tree(correlations)
    neighbours: dict[str, dict[str, float]] = {name: {} for name in shares}
    for first, second in tree:
        neighbours[first][second] = neighbours[second][first] = correlations[first, second]
    explained: dict[Pair, float] = {}
    for start in shares:
        for end, product in _products_along(neighbours, start).items():
            if (start, end) in correlations and end not in neighbours[start]:
                explained[start, end] = min(1.0, product / max(correlations[start, end], 1e-9))
    return explained


def _maximum_spanning_tree(correlations: Mapping[Pair, float]) -> list[Pair]:
    """Take the largest correlations that close no circle; of equal ones the first (Kruskal)."""
    forest = SpanningForest()
    tree: list[Pair] = []
    for pair in sorted(correlations, key=correlations.__getitem__, reverse=True):
        if forest.joins(*pair):
            forest.add(*pair)
            tree.append(pair)
    return tree


def _products_along(neighbours: Mapping[str, Mapping[str, float]], start: str) -> dict[str, float]:
    """Multiply the numbers of edges along the path from one attribute to each that it reaches."""
    products, pending = {start: 1.0}, [start]
    while pending:
        parent = pending.pop()
        for child, factor in neighbours[parent].items():
            if child not in products:
                products[child] = products[parent] * factor
                pending.append(child)
    return products


def _correlation(table: Marginal, shares: Mapping[str, Marginal]) -> float:
    left, right = (shares[name].values for name in table.attributes)
    product = np.maximum(np.outer(left, right), 1e-12)
    ratio = np.log(np.maximum(table.values, 1e-12) / product)
    information = max(float((table.values * ratio).sum()), 0.0)
    return float(np.sqrt(1 - np.exp(-2 * information)))
