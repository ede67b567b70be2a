"""Bayesian networks: a directed acyclic graph, and each attribute's distribution given its
parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..privacy.domain import Domain
from .marginal import Marginal
from .sampling import Chain, Empty, Step

__all__ = ["BayesianNetwork"]


class BayesianNetwork:
    """The structure: which attributes are each one's parents.

    >>> domain = Domain({name: ("0", "1") for name in "abc"})
    >>> BayesianNetwork(domain, {"c": ("a",), "a": ("b",)}).families
    (('b',), ('b', 'a'), ('a', 'c'))
    """

    def __init__(self, domain: Domain, parents: Mapping[str, Sequence[str]]) -> None:
        import networkx as nx  # a fifth of a second, which only those pay who use it

        self.domain = domain
        self.parents = {name: tuple(parents.get(name, ())) for name in domain.attributes}
        self.graph: nx.DiGraph[str] = nx.DiGraph()
        self.graph.add_nodes_from(domain.attributes)
        for name in parents:
            domain.shape([name, *parents[name]])
            if len(set(parents[name])) < len(parents[name]):
                raise ValueError(
                    f"expected different parents of {name}, found {', '.join(parents[name])}"
                )
            self.graph.add_edges_from((parent, name) for parent in parents[name])
        if not nx.is_directed_acyclic_graph(self.graph):
            circle = [edge[0] for edge in nx.find_cycle(self.graph)]
            raise ValueError(
                f"expected a network without circles, found {' -> '.join([*circle, circle[0]])}"
            )
        places = {name: at for at, name in enumerate(domain.attributes)}
        self.order: tuple[str, ...] = tuple(
            nx.lexicographical_topological_sort(self.graph, key=places.__getitem__)
        )
        """Parents before children; otherwise the domain's order."""

    @property
    def families(self) -> tuple[tuple[str, ...], ...]:
        """List each attribute after its parents, in topological order."""
        return tuple((*self.parents[name], name) for name in self.order)

    @property
    def degree(self) -> int:
        return max(map(len, self.parents.values()), default=0)

    @property
    def maximal_families(self) -> tuple[tuple[str, ...], ...]:
        """List the families that no other contains: the tables from which all others follow by
        summing out.

        Each in the domain's order, so that everybody who knows the network lists the same.
        """
        places = {name: at for at, name in enumerate(self.domain.attributes)}
        return maximal([tuple(sorted(family, key=places.__getitem__)) for family in self.families])

    def fit(self, tables: Sequence[Marginal], *, empty: Empty = "uniform") -> Chain:
        """Take every family's conditional distribution from the smallest table that covers it."""
        steps = []
        for family in self.families:
            covering = [table for table in tables if table.covers(family)]
            if not covering:
                raise ValueError(f"expected a table that covers {', '.join(family)}, found none")
            smallest = min(covering, key=lambda table: table.cells)
            steps.append(Step(family[-1:], family[:-1], smallest.project(family)))
        return Chain(self.domain, steps, empty=empty)


def maximal(sets: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Drop every set that another contains, and all but the first of equal ones.

    >>> maximal([("a",), ("b", "a"), ("c",), ("a", "b")])
    (('b', 'a'), ('c',))
    """
    own = [frozenset(one) for one in sets]
    return tuple(
        one
        for at, one in enumerate(sets)
        if not any(own[at] < other or (own[at] == other and n < at) for n, other in enumerate(own))
    )
