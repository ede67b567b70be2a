"""Log-linear models: tables of parameters that add up to the logarithm of a row's probability.

A model has a table of parameters for each of some sets of attributes, here called a term. The terms
are added to the potentials of a junction tree in whose cliques they lie. Belief propagation then
gives the distribution of each clique, and from these the marginal of each term's attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..privacy.domain import Domain
from .belief_propagation import axes_without, clique_tree, spread
from .marginal import Numbers

__all__ = ["Attributes", "LogLinearTerms"]

Attributes: TypeAlias = tuple[str, ...]


class LogLinearTerms:
    """The terms of a log-linear model, and where in the junction tree each is added.

    A term whose attributes are among those of a larger one, its host, is first added to this one.
    The largest terms are added to a clique. So fewer tables of the size of a clique are added.
    """

    def __init__(self, domain: Domain, terms: Sequence[Attributes]) -> None:
        self.tree = clique_tree(domain, terms)
        self.terms = tuple(terms)
        self._shapes = [domain.shape(term) for term in terms]
        self._ends = np.cumsum([domain.cells(term) for term in terms], dtype=int)
        sets = [frozenset(term) for term in terms]
        largest = [
            term
            for term, attributes in zip(terms, sets, strict=True)
            if not any(attributes < other for other in sets)
        ]
        self._cliques = {term: self.tree.home(term) or 0 for term in largest}
        """The clique to which each of the largest terms is added."""
        self._guests: dict[Attributes, list[Attributes]] = {term: [] for term in largest}
        """The terms that are added to each of the largest."""
        for term, attributes in zip(terms, sets, strict=True):
            if term not in self._guests:
                host = next(other for other in largest if attributes < frozenset(other))
                self._guests[host].append(term)

    @property
    def cells(self) -> int:
        """Number of parameters of all terms."""
        return int(self._ends[-1]) if self.terms else 0

    def split(self, values: Numbers) -> dict[Attributes, Numbers]:
        """Split a vector of numbers for all terms, one after another, into a table for each."""
        tables = np.split(values, self._ends[:-1]) if self.terms else []
        return {
            term: table.reshape(shape)
            for term, table, shape in zip(self.terms, tables, self._shapes, strict=True)
        }

    def cliques(self, theta: Numbers) -> tuple[list[Numbers], float]:
        """Compute the cliques' distributions for parameters, and the logarithm of the constant Z.

        Args:
            theta: The parameters of all terms, one after another.
        """
        parameters = self.split(theta)
        tables = self.tree.zeros()
        for host, place in self._cliques.items():
            table = parameters[host]
            for guest in self._guests[host]:
                table = table + spread(parameters[guest], guest, host)
            tables[place] += spread(table, host, self.tree.nodes[place].attributes)
        logarithm = self.tree.propagate(tables)
        return tables, logarithm

    def marginals(self, cliques: Sequence[Numbers]) -> Numbers:
        """Compute the marginals of all terms' attributes, one after another, from the cliques'."""
        tables: dict[Attributes, Numbers] = {}
        for host, place in self._cliques.items():
            clique = self.tree.nodes[place].attributes
            table = cliques[place].sum(axis=axes_without(clique, host))
            tables[host] = table
            for guest in self._guests[host]:
                tables[guest] = table.sum(axis=axes_without(host, guest))
        if not tables:
            return np.zeros(0)
        return np.concatenate([tables[term].reshape(-1) for term in self.terms])
