"""Which candidates keep the model small enough to be fitted (McKenna et al. 2022, line 10).

The paper triangulates once for every candidate. Here a bound is enough, which takes one walk along
the tree for each attribute. On Adult and on the TPC-E stand-in this costs no accuracy.
"""

from __future__ import annotations

from ...curator.belief_propagation import CliqueTree
from ...curator.graphical_model import GraphicalModel
from ..secure_sum import Family
from .workload import Workload

__all__ = ["fitting"]


def fitting(workload: Workload, model: GraphicalModel, *, max_cells: float) -> list[Family]:
    """List the candidates with which a junction tree has at most so many cells.

    Those that lie in a clique already are always among them.
    """
    bounds = _Bounds(model.tree)
    return [
        family
        for family in workload.weights
        if model.tree.home(family) is not None or bounds.cells(*family) <= max_cells
    ]


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
        """Bound the cells of the smallest junction tree with this pair in a clique."""
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
