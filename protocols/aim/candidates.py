"""Which candidates keep the model small enough to be fitted (McKenna et al. 2022, line 10)."""

from __future__ import annotations

from ...curator import dependency_graph, junction_tree
from ...curator.belief_propagation import CliqueTree
from ...curator.graphical_model import GraphicalModel
from ...privacy import Domain
from ..secure_sum import Family
from .workload import Workload

__all__ = ["cells_with", "fitting"]


def fitting(workload: Workload, model: GraphicalModel, *, max_cells: float) -> list[Family]:
    """List the candidates with which the model's cliques have at most so many cells.

    Those that lie in a clique already are always among them. Triangulation is only needed where a
    simple bound does not tell (`cells_with`).
    """
    tree, domain = model.tree, workload.domain
    bounds = _Bounds(tree)
    edges = {(family[0], family[1]) for family in model.parameters if len(family) == 2}
    candidates = []
    for family in workload.weights:
        if tree.home(family) is None:
            first, second = family
            if bounds.cells(first, second) > max_cells and (
                cells_with(domain, edges, (first, second)) > max_cells
            ):
                continue
        candidates.append(family)
    return candidates


def cells_with(domain: Domain, edges: set[tuple[str, str]], new: tuple[str, str]) -> int:
    """Count the cells of all cliques of the graph with these edges and a new one."""
    return junction_tree(domain, dependency_graph(domain, sorted({*edges, new}))).cells


class _Bounds:
    """Bounds on the cells of a model with one more pair.

    If one of the two attributes is added to every clique on a way to the other, the result is a
    junction tree, too. Attributes of different components get a clique of their own.
    """

    def __init__(self, tree: CliqueTree) -> None:
        self._tree = tree
        self._size = {name: tree.domain.cells((name,)) for name in tree.domain.attributes}
        self._cells = [tree.domain.cells(node.attributes) for node in tree.nodes]
        self._neighbours: list[list[int]] = [[] for _ in tree.nodes]
        for place, node in enumerate(tree.nodes):
            if node.separator:
                self._neighbours[place].append(node.parent)
                self._neighbours[node.parent].append(place)
        self._ways = {name: self._way_from(name) for name in tree.domain.attributes}

    def cells(self, first: str, second: str) -> int:
        """Bound the cells of all cliques."""
        alone = self._size[first] * self._size[second]
        added = [
            (self._size[name] - 1) * self._ways[name][other]
            for name, other in ((first, second), (second, first))
            if other in self._ways[name]
        ]
        return sum(self._cells) + min(added, default=alone)

    def _way_from(self, name: str) -> dict[str, int]:
        """Count, for each other attribute, the least cells of the cliques on a way to it."""
        pending = [
            (place, -1, 0) for place, node in enumerate(self._tree.nodes) if name in node.attributes
        ]
        homes = {place for place, _, _ in pending}
        least: dict[str, int] = {}
        while pending:
            place, before, cells = pending.pop()
            for other in self._tree.nodes[place].attributes:
                least[other] = min(cells, least.get(other, cells))
            pending += [
                (following, place, cells + self._cells[following])
                for following in self._neighbours[place]
                if following != before and following not in homes
            ]
        return least
