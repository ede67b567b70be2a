"""Belief propagation: the distributions of a log-linear model's cliques.

Each clique of a junction tree has a table of potentials. Their sum over all cliques is the
logarithm of a row's probability, up to a constant. Two passes along the tree turn potentials into
the cliques' distributions (Lauritzen and Spiegelhalter 1988). From the leaves to the root, each
clique sends its parent the sum over the attributes that the parent does not have. From the root
back, each clique is scaled to its parent. An exponential is taken once for each cell.

All attributes stand in the domain's order, so that tables are aligned by reshaping them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..privacy.domain import Domain
from .junction_tree import JunctionTree, junction_tree
from .marginal import Numbers
from .triangulation import dependency_graph

__all__ = ["CliqueTree", "Node", "axes_without", "clique_tree", "spread"]


@dataclass(frozen=True, slots=True)
class Node:
    """A clique with its place in the tree; parents come before their children."""

    attributes: tuple[str, ...]
    separator: tuple[str, ...]
    """The attributes that it shares with its parent."""
    parent: int
    """The place of the parent among the nodes; -1 at the root."""


class CliqueTree:
    """A junction tree in the order of drawing; the trees of a forest hang below the first root."""

    def __init__(self, tree: JunctionTree) -> None:
        self.domain = tree.domain
        self.junction_tree = tree
        self.nodes: list[Node] = []
        place: dict[int, int] = {}
        neighbours: dict[int, list[int]] = {number: [] for number in range(len(tree.cliques))}
        for first, second, _ in tree.edges:
            neighbours[first].append(second)
            neighbours[second].append(first)
        for number, shared in tree.walk():
            drawn = [place[other] for other in neighbours[number] if other in place]
            parent = drawn[0] if drawn else min(0, len(self.nodes) - 1)
            clique = tree.cliques[number]
            separator = tuple(name for name in clique if name in shared)
            place[number] = len(self.nodes)
            self.nodes.append(Node(clique, separator, parent))

    def home(self, attributes: Sequence[str]) -> int | None:
        """Find the smallest clique that has these attributes, if one has them all."""
        wanted = frozenset(attributes)
        covering = [
            place for place, node in enumerate(self.nodes) if wanted.issubset(node.attributes)
        ]
        cells = self.domain.cells
        return min(covering, key=lambda place: cells(self.nodes[place].attributes), default=None)

    def zeros(self) -> list[Numbers]:
        """Make a table of zeros for each node."""
        return [np.zeros(self.domain.shape(node.attributes)) for node in self.nodes]

    def propagate(self, potentials: Sequence[Numbers]) -> float:
        """Turn potentials into distributions, in place.

        Returns:
            The logarithm of the sum over all possible rows.
        """
        sums = [np.ones(()) for _ in self.nodes]
        logarithm = 0.0
        for place in range(len(self.nodes) - 1, -1, -1):
            node, table = self.nodes[place], potentials[place]
            others = axes_without(node.attributes, node.separator)
            # Each cell of the separator is scaled by itself, so that no sum is below 1.
            largest = table.max(axis=others, keepdims=True)
            table -= largest
            np.exp(table, out=table)
            sums[place] = np.asarray(table.sum(axis=others))
            message = np.log(sums[place]) + largest.reshape(sums[place].shape)
            if node.parent >= 0:
                above = self.nodes[node.parent].attributes
                potentials[node.parent][...] += spread(message, node.separator, above)
            else:
                logarithm = float(message)
        potentials[0][...] /= sums[0]
        for place, node in enumerate(self.nodes):
            if node.parent >= 0:
                above = self.nodes[node.parent].attributes
                belief = potentials[node.parent].sum(axis=axes_without(above, node.separator))
                ratio = np.asarray(belief / sums[place])
                potentials[place][...] *= spread(ratio, node.separator, node.attributes)
        return logarithm


def clique_tree(domain: Domain, sets: Iterable[Sequence[str]]) -> CliqueTree:
    """Make a junction tree in whose cliques each of these sets of attributes lies."""
    edges = {edge for attributes in sets for edge in combinations(attributes, 2)}
    return CliqueTree(junction_tree(domain, dependency_graph(domain, sorted(edges))))


def axes_without(clique: Sequence[str], attributes: Sequence[str]) -> tuple[int, ...]:
    """List the axes of a clique's table that belong to none of these attributes."""
    return tuple(axis for axis, name in enumerate(clique) if name not in attributes)


def spread(table: Numbers, attributes: Sequence[str], clique: Sequence[str]) -> Numbers:
    """Give a table of some of a clique's attributes an axis of length 1 for each other one."""
    sizes = dict(zip(attributes, table.shape, strict=True))
    return table.reshape([sizes.get(name, 1) for name in clique])
