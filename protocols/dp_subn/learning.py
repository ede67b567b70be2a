"""What the curator learns from noisy tables: correlations of all pairs, and networks. All of it is
post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...curator import (
    BayesianNetwork,
    Estimate,
    Marginal,
    combine,
    dependency_graph,
    mutual_information,
)
from ...curator.projections import norm_mul
from ...privacy import Domain
from ..secure_sum import Family
from .frontier import Correlations, Fits, Parents, search_frontier, spanning_tree
from .plan import Plan, Sizes

__all__ = [
    "Search",
    "correlations_of",
    "directed",
    "pair_tables",
    "select_parents",
    "structure_of",
    "tree_of",
]


def correlations_of(
    domain: Domain, views: Sequence[Estimate], *, rows: int, averaged: bool = True
) -> Correlations:
    """Compute the mutual information of every pair, in bits, from the views in which each
    stands.
    """
    information = np.zeros((len(domain.attributes),) * 2)
    for x, y, table in pair_tables(domain, views, rows=rows, averaged=averaged):
        found = mutual_information(table.map(norm_mul), table.attributes[:1], base=2)
        information[x, y] = information[y, x] = max(found, 0.0)
    return information


def pair_tables(
    domain: Domain, views: Sequence[Estimate], *, rows: int, averaged: bool = True
) -> Iterator[tuple[int, int, Marginal]]:
    """Read the table of every pair from its views (section 5.1 of the spec); noise may have left
    cells below 0.

    n is public, so each view is given that sum. What all views with an attribute say of it alone is
    averaged, and every pair's table takes these averages for its margins: of its own it keeps only
    how the two belong together. That is free, and takes a third off the error. The paper does not
    (`averaged=False`): it takes each pair's table as it comes.
    """
    names = domain.attributes
    tables = [
        Estimate(view.table + (rows - view.table.total) / view.table.cells, view.variance)
        for view in views
    ]
    alone = {name: combine(tables, (name,)).table for name in names}
    homes: dict[Family, list[Estimate]] = {}
    for view in tables:
        for pair in combinations(sorted(view.attributes, key=names.index), 2):
            homes.setdefault(pair, []).append(view)
    for x, y in combinations(range(len(names)), 2):
        table = combine(homes[names[x], names[y]], (names[x], names[y])).table
        left, right = alone[names[x]], alone[names[y]]
        if averaged:
            table += (left - table.project(left.attributes)) / right.cells
            table += (right - table.project(right.attributes)) / left.cells
        yield x, y, table


def directed(domain: Domain, edges: Sequence[Family]) -> BayesianNetwork:
    """Direct a forest away from the first attribute of each tree."""
    import networkx as nx

    graph = dependency_graph(domain, [(one, other) for one, other in edges])
    parents: dict[str, tuple[str, ...]] = {}
    for name in domain.attributes:
        if name not in parents:
            parents[name] = ()
            parents |= {child: (parent,) for parent, child in nx.bfs_edges(graph, name)}
    return BayesianNetwork(domain, parents)


def structure_of(domain: Domain, families: Sequence[Family]) -> BayesianNetwork:
    """Read families, each an attribute after its parents."""
    return BayesianNetwork(domain, {family[-1]: family[:-1] for family in families})


def tree_of(information: Correlations, plan: Plan, *, root: int) -> BayesianNetwork:
    """Take the tree of largest correlations for N_0."""
    return _named(plan.domain, spanning_tree(information, root=root, fits=_fitting(plan.sizes)))


@dataclass(frozen=True, slots=True)
class Search:
    """What the curator searches with from one update to the next: the frontier around a network,
    the network in a frontier.
    """

    plan: Plan
    information: Correlations
    extended: bool

    def around(self, network: BayesianNetwork) -> BayesianNetwork:
        """Build the search frontier around a network."""
        places = {name: at for at, name in enumerate(self.plan.domain.attributes)}
        start = {places[x]: [places[y] for y in own] for x, own in network.parents.items()}
        found = search_frontier(
            start,
            self.information,
            fits=_fitting(self.plan.wide),
            degree=self.plan.wide_degree,
            extended=self.extended,
        )
        return _named(self.plan.domain, found)

    def within(self, frontier: BayesianNetwork, counted: Sequence[Estimate]) -> BayesianNetwork:
        """Select the best network within a frontier by its tables."""
        return select_parents(frontier, counted, sizes=self.plan.sizes, degree=self.plan.degree)


def _fitting(sizes: Sizes) -> Fits:
    names = sizes.domain.attributes
    return lambda x, parents: sizes.fits(names[x], [names[y] for y in parents])


def _named(domain: Domain, parents: Parents) -> BayesianNetwork:
    names = domain.attributes
    return BayesianNetwork(
        domain, {names[x]: tuple(names[y] for y in own) for x, own in parents.items()}
    )


def select_parents(
    frontier: BayesianNetwork, counted: Sequence[Estimate], *, sizes: Sizes, degree: int
) -> BayesianNetwork:
    """Choose each attribute's parents among the frontier's: those with which its noisy table has
    most information.

    As many as may be, since information only grows with them. The frontier has no circle, so no
    choice has one.
    """
    parents: dict[str, tuple[str, ...]] = {}
    for name, own in frontier.parents.items():
        family = (*own, name)
        table = min(
            (e.table for e in counted if e.table.covers(family)),
            key=lambda covering: covering.cells,
        )
        table = table.project(family)
        scored = [
            (
                -mutual_information(table.project((*chosen, name)).map(norm_mul), (name,), base=2)
                if chosen
                else 0.0,
                chosen,
            )
            for chosen in sizes.parent_sets(name, own, degree=degree)
        ]
        parents[name] = min(scored)[1]
    return BayesianNetwork(frontier.domain, parents)
