"""How a dependency graph grows edge by edge, with a bound on the cells of its cliques.

The paper has no such bound (spec J11): a clique of all attributes would be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator import GrowingGraph
from ...curator.raking import ReportProgress
from ...privacy import Domain
from .budget import Parts
from .scores import Pair, Scores, pairs_of

__all__ = ["Candidates", "Choose", "Fits", "fitting", "grow", "grow_tree", "highest"]

Candidates: TypeAlias = npt.NDArray[np.int64]
"""Indices of pairs, in ascending order."""
Fits: TypeAlias = Callable[[int], bool] | None
"""Tells whether a pair, by its index, would leave all cliques small enough; `None`: all do."""
Choose: TypeAlias = Callable[[Candidates, Fits], int | None]
"""Picks one of these pairs that fits, by its index, or none."""

ListCandidates: TypeAlias = Callable[[], Candidates]

MAX_TRIED: Final = 2016
"""Candidates that are tried for a choice among all that fit; of more, those with fewest cells.

They are all pairs of 64 attributes, so a narrower table has no more.
"""


def grow(domain: Domain, edges: Sequence[Pair], *, max_cells: float) -> list[Pair]:
    """Add edges in this order, except those that would make a clique too large."""
    graph, added = GrowingGraph(domain), list[Pair]()
    for edge in edges:
        if graph.with_edge(*edge) <= max_cells:
            graph.add(*edge)
            added.append(edge)
    return added


def grow_tree(
    domain: Domain,
    budget: Parts,
    *,
    rows: int,
    choose: Choose,
    progress: ReportProgress | None = None,
) -> list[Pair]:
    """Add the edges that are chosen one by one, first of a tree, then triangles within it.

    An edge that joins two parts may have a table of any size: it was chosen as worth its noise.
    The search ends when none is chosen.
    """
    pairs = pairs_of(domain)
    places = {name: place for place, name in enumerate(domain.attributes)}
    left, right = np.array([[places[name] for name in pair] for pair in pairs], np.int64).T
    part = np.arange(len(places))
    adjacent = np.zeros((len(places), len(places)), np.bool_)
    graph, edges = GrowingGraph(domain), list[Pair]()
    max_cells = budget.max_cells(rows)

    def joining() -> Candidates:
        return np.flatnonzero(part[left] != part[right])

    def closing_triangles() -> Candidates:
        shared = adjacent.astype(np.float32) @ adjacent
        return np.flatnonzero((shared[left, right] > 0) & ~adjacent[left, right])

    def is_small(index: int) -> bool:
        return graph.with_edge(*pairs[index]) <= max_cells

    joins: tuple[ListCandidates, Fits] = (joining, None)
    steps = [joins] * budget.edges + [(closing_triangles, is_small)] * budget.triangles
    for number, (list_candidates, fits) in enumerate(steps):
        if progress is not None:
            progress(number, of=len(steps))
        candidates = list_candidates()
        if not len(candidates):
            continue
        index = choose(candidates, fits)
        if index is None:
            break
        first, second = left[index], right[index]
        graph.add(*pairs[index])
        edges.append(pairs[index])
        adjacent[first, second] = adjacent[second, first] = True
        part[part == part[second]] = part[first]
    return edges


def highest(values: Scores, *, above: float) -> Choose:
    """Choose the highest value above a bound. It needs no noise: the values are released."""

    def choose(candidates: Candidates, fits: Fits) -> int | None:
        # Highest values first, of equal ones the first pair; most of them are never tried.
        order = candidates[np.argsort(-values[candidates], kind="stable")]
        above_bound = order[values[order] > above].tolist()
        return next((index for index in above_bound if fits is None or fits(index)), None)

    return choose


def fitting(
    candidates: Candidates, fits: Fits, *, domain: Domain, pairs: Sequence[Pair]
) -> Candidates:
    """List the candidates that fit, of the `MAX_TRIED` with fewest cells, which are public."""
    if fits is None:
        return candidates
    if len(candidates) > MAX_TRIED:
        cells = np.array([domain.cells(pairs[index]) for index in candidates.tolist()])
        candidates = np.sort(candidates[np.argsort(cells, kind="stable")[:MAX_TRIED]])
    return candidates[np.array([fits(index) for index in candidates.tolist()], np.bool_)]
