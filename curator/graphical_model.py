"""A graphical model: a distribution over all attributes, kept clique by clique.

The cliques are those of a junction tree. Any marginal can be computed, and rows can be drawn,
although the joint table is never built. `model_fitting` fits a model to noisy tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from ..privacy.domain import Domain
from .belief_propagation import CliqueTree
from .log_linear import Attributes, LogLinearTerms
from .marginal import Marginal, Numbers
from .pair_marginals import Pair, pair_marginals
from .sampling import Chain

__all__ = ["GraphicalModel", "model_of"]


@dataclass(frozen=True)
class GraphicalModel:
    """A distribution over all attributes, by the distributions of a junction tree's cliques."""

    tree: CliqueTree
    beliefs: tuple[Marginal, ...]
    """The distribution of each clique, in the order of the tree's nodes."""
    parameters: Mapping[Attributes, Numbers] = field(repr=False)
    """The parameters of each term. They make the same model again (`model_of`)."""

    @classmethod
    def of(cls, terms: LogLinearTerms, theta: Numbers) -> GraphicalModel:
        """Make the model of these terms, with the parameters of one after another."""
        tables, _ = terms.cliques(theta)
        beliefs = tuple(
            Marginal(node.attributes, table)
            for node, table in zip(terms.tree.nodes, tables, strict=True)
        )
        return cls(terms.tree, beliefs, terms.split(theta))

    @property
    def domain(self) -> Domain:
        return self.tree.domain

    @property
    def cells(self) -> int:
        """Number of cells of all cliques."""
        return self.tree.junction_tree.cells

    def marginal(self, attributes: Sequence[str]) -> Marginal:
        """Compute the marginal of some attributes, which may lie in several cliques.

        The largest table on the way has the cells of a clique, times those of the wanted attributes
        behind it.
        """
        home = self.tree.home(attributes)
        if home is not None:
            return self.beliefs[home].project(attributes)
        return self._collect(0, attributes).project(attributes)

    def _collect(self, place: int, attributes: Sequence[str]) -> Marginal:
        """Compute what lies below a node of these attributes, conditional on its separator."""
        node = self.tree.nodes[place]
        table = self.beliefs[place]
        if node.separator:
            table = table / table.project(node.separator)
        for child in self._children[place]:
            if self._below[child].intersection(attributes).difference(node.attributes):
                table = table * self._collect(child, attributes)
                wanted = set(attributes) | set(node.attributes)
                table = table.project([name for name in table.attributes if name in wanted])
        wanted = set(attributes) | set(node.separator)
        return table.project([name for name in table.attributes if name in wanted])

    def pairs(self) -> dict[Pair, Marginal]:
        """Compute the tables of all pairs of attributes, in the domain's order."""
        return pair_marginals(self.tree, self.beliefs)

    def chain(self) -> Chain:
        """Make the steps that draw rows."""
        return self.tree.junction_tree.chain(self.beliefs)

    @cached_property
    def _children(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.tree.nodes]
        for place, node in enumerate(self.tree.nodes):
            if node.parent >= 0:
                below[node.parent].append(place)
        return below

    @cached_property
    def _below(self) -> list[set[str]]:
        """The attributes of each node and of those below it."""
        below = [set(node.attributes) for node in self.tree.nodes]
        for place in range(len(below) - 1, 0, -1):
            below[self.tree.nodes[place].parent] |= below[place]
        return below


def model_of(
    domain: Domain,
    parameters: Mapping[Attributes, Numbers],
    *,
    max_cells: float = inf,
) -> GraphicalModel:
    """Make the model with these parameters for tables of these sets of attributes.

    Raises:
        ValueError: its cliques have more than `max_cells` cells.
    """
    terms = LogLinearTerms(domain, list(parameters))
    if (cells := terms.tree.junction_tree.cells) > max_cells:
        raise ValueError(f"expected a model of at most {max_cells:,} cells, found {cells:,}")
    tables = [np.asarray(table, np.float64).reshape(-1) for table in parameters.values()]
    return GraphicalModel.of(terms, np.concatenate(tables) if tables else np.zeros(0))
