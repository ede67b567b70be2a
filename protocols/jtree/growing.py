"""How a dependency graph grows edge by edge, with a bound on the cells of its cliques.

The paper has no such bound (spec J11): a clique of all attributes would be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...curator import dependency_graph, triangulate
from ...privacy import Domain
from .budget import Parts
from .scores import Pair, Scores, pairs_of

__all__ = ["Choose", "grow", "grow_tree", "highest"]

Choose: TypeAlias = Callable[[Sequence[int]], int | None]
"""Picks one of these pairs by its index, or none."""


def grow(domain: Domain, edges: Sequence[Pair], *, max_cells: float) -> list[Pair]:
    """Add edges in this order, except those that would make a clique too large."""
    graph: list[Pair] = []
    for edge in edges:
        if _largest_clique(domain, [*graph, edge]) <= max_cells:
            graph.append(edge)
    return graph


def grow_tree(domain: Domain, budget: Parts, *, rows: int, choose: Choose) -> list[Pair]:
    """Add the edges that are chosen one by one, first of a tree, then triangles within it.

    An edge that joins two parts may have a table of any size: it was chosen as worth its noise.
    The search ends when none is chosen.
    """
    pairs = pairs_of(domain)
    graph: list[Pair] = []
    part = {name: name for name in domain.attributes}
    neighbours: dict[str, set[str]] = {name: set() for name in domain.attributes}
    max_cells = budget.max_cells(rows)

    def joins(left: str, right: str) -> bool:
        return part[left] != part[right]

    def closes_triangle(left: str, right: str) -> bool:
        return (
            right not in neighbours[left]
            and bool(neighbours[left] & neighbours[right])
            and _largest_clique(domain, [*graph, (left, right)]) <= max_cells
        )

    for allowed in [joins] * budget.edges + [closes_triangle] * budget.triangles:
        candidates = [index for index, pair in enumerate(pairs) if allowed(*pair)]
        if not candidates:
            continue
        index = choose(candidates)
        if index is None:
            break
        left, right = pairs[index]
        graph.append((left, right))
        neighbours[left].add(right)
        neighbours[right].add(left)
        joined = part[right]
        part = {name: part[left] if member == joined else member for name, member in part.items()}
    return graph


def highest(values: Scores, *, above: float) -> Choose:
    """Choose the highest value above a bound. It needs no noise: the values are released."""

    def choose(candidates: Sequence[int]) -> int | None:
        best = max(candidates, key=lambda index: (values[index], -index))
        return best if values[best] > above else None

    return choose


def _largest_clique(domain: Domain, edges: Sequence[Pair]) -> int:
    _, cliques = triangulate(domain, dependency_graph(domain, edges))
    return max(map(domain.cells, cliques))
