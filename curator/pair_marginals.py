"""The tables of all pairs of attributes of a model along a junction tree.

For each attribute, its joint distribution with one clique after another is carried along the tree,
from a clique that has the attribute to all others. Given the separator, a clique does not depend on
what lies before it. So the joint distribution with the separator, times the clique's conditional
distribution given the separator, is that with the clique.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from .belief_propagation import CliqueTree, axes_without
from .marginal import Marginal, Numbers

__all__ = ["Pair", "pair_marginals"]

Pair: TypeAlias = tuple[str, str]
"""Two attributes, in the domain's order."""


def pair_marginals(tree: CliqueTree, beliefs: Sequence[Marginal]) -> dict[Pair, Marginal]:
    """Compute the tables of all pairs of attributes, in the domain's order.

    Args:
        tree: The junction tree.
        beliefs: The distribution of each clique.
    """
    walk = _Walk(tree, beliefs)
    names = tree.domain.attributes
    tables: dict[Pair, Marginal] = {}
    for place, name in enumerate(names):
        others = names[place + 1 :]
        values = walk.tables_with(name, others)
        tables |= {(name, other): Marginal((name, other), values[other]) for other in others}
    return tables


class _Walk:
    """Walks along a tree, each from the attribute of one row of tables."""

    def __init__(self, tree: CliqueTree, beliefs: Sequence[Marginal]) -> None:
        self._sizes = dict(
            zip(tree.domain.attributes, tree.domain.shape(tree.domain.attributes), strict=True)
        )
        self._cliques = [node.attributes for node in tree.nodes]
        self._tables = [belief.values for belief in beliefs]
        self._edges: list[list[tuple[int, tuple[str, ...]]]] = [[] for _ in tree.nodes]
        """The neighbours of each clique, with the separator."""
        for place, node in enumerate(tree.nodes):
            if node.parent >= 0:
                self._edges[place].append((node.parent, node.separator))
                self._edges[node.parent].append((place, node.separator))
        self._conditionals: dict[tuple[int, tuple[str, ...]], Numbers] = {}
        self._home = {
            name: min(
                (place for place, clique in enumerate(self._cliques) if name in clique),
                key=lambda place: self._tables[place].size,
            )
            for name in tree.domain.attributes
        }

    def tables_with(self, name: str, others: Sequence[str]) -> dict[str, Numbers]:
        """Compute the tables of one attribute with each of these."""
        wanted = set(others)
        tables: dict[str, Numbers] = {}
        home = self._home[name]
        # Each entry is a clique, the one before it, and the joint distribution with the attribute.
        pending: list[tuple[int, int, Marginal]] = [
            (home, -1, Marginal(self._cliques[home], self._tables[home]))
        ]
        while pending:
            place, before, joint = pending.pop()
            for other in self._cliques[place]:
                if other in wanted and other not in tables:
                    tables[other] = joint.project((name, other)).values
            for following, separator in self._edges[place]:
                if following == before:
                    continue
                clique = self._cliques[following]
                if name in clique:
                    pending.append((following, place, Marginal(clique, self._tables[following])))
                    continue
                row = joint.project((name, *separator)).values
                pending.append((following, place, self._extended(name, row, following, separator)))
        return tables

    def _extended(
        self, name: str, row: Numbers, place: int, separator: tuple[str, ...]
    ) -> Marginal:
        """Extend the joint distribution with a separator to the clique behind it."""
        clique = self._cliques[place]
        rest = tuple(other for other in clique if other not in separator)
        conditional = self._conditional(place, separator)
        table = row.reshape(row.shape[0], -1, 1) * conditional[np.newaxis]
        attributes = (name, *separator, *rest)
        return Marginal(attributes, table.reshape([self._sizes[other] for other in attributes]))

    def _conditional(self, place: int, separator: tuple[str, ...]) -> Numbers:
        """Give a clique's distribution given the separator, a row for each cell of this."""
        key = (place, separator)
        if key not in self._conditionals:
            clique, table = self._cliques[place], self._tables[place]
            rest = axes_without(clique, separator)
            order = [axis for axis in range(len(clique)) if axis not in rest]
            rows = prod(self._sizes[name] for name in separator)
            values = table.transpose([*order, *rest]).reshape(rows, -1)
            sums = values.sum(axis=1, keepdims=True)
            self._conditionals[key] = np.divide(
                values, sums, out=np.zeros(values.shape), where=sums > 0
            )
        return self._conditionals[key]
