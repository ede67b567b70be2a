"""What the curator learns from noisy tables: correlations of all pairs, and networks.

All of it is post-processing of released tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from ...curator import BayesianNetwork, Estimate, Marginal, combine, mutual_information
from ...curator.projections import norm_mul
from ...privacy import Domain
from ..secure_sum import Family
from .bits_plan import BitsPlan
from .frontier import Correlations, Fits, Parents, search_frontier, spanning_tree
from .usefulness import Sizes

__all__ = ["Search", "correlations_of", "pair_tables", "select_parents", "tree_of"]


def correlations_of(
    domain: Domain, views: Sequence[Estimate], *, rows: int, averaged: bool = True
) -> Correlations:
    """Compute the mutual information of every pair, in bits, from the tables that contain it."""
    information = np.zeros((len(domain.attributes),) * 2)
    for x, y, table in pair_tables(domain, views, rows=rows, averaged=averaged):
        bits = mutual_information(table.map(norm_mul), table.attributes[:1], base=2)
        information[x, y] = information[y, x] = max(bits, 0.0)
    return information


def pair_tables(
    domain: Domain, views: Sequence[Estimate], *, rows: int, averaged: bool
) -> Iterator[tuple[int, int, Marginal]]:
    """Read the table of every pair from noisy tables; cells may be below 0.

    n is public, so each table is given that sum (spec 5.1). If `averaged`, the estimates of an
    attribute's own margin are averaged over all tables that contain it, and every pair's table
    takes these averages for its margins. That costs no budget and removes a third of the error.
    The paper does not average (`averaged=False`).
    """
    names = domain.attributes
    tables = [
        Estimate(view.table + (rows - view.table.total) / view.table.cells, view.variance)
        for view in views
    ]
    places = {name: place for place, name in enumerate(names)}
    containing: dict[Family, list[Estimate]] = {(name,): [] for name in names}
    for view in tables:
        ordered = sorted(view.attributes, key=places.__getitem__)
        for family in chain(combinations(ordered, 1), combinations(ordered, 2)):
            containing.setdefault(family, []).append(view)
    margins = {name: combine(containing[name,], (name,)).table for name in names}
    for x, y in combinations(range(len(names)), 2):
        table = combine(containing[names[x], names[y]], (names[x], names[y])).table
        left, right = margins[names[x]], margins[names[y]]
        if averaged:
            table += (left - table.project(left.attributes)) / right.cells
            table += (right - table.project(right.attributes)) / left.cells
        yield x, y, table


def tree_of(information: Correlations, plan: BitsPlan, *, root: int) -> BayesianNetwork:
    """Take the tree of largest correlations for N_0."""
    return _named(plan.domain, spanning_tree(information, root=root, fits=_fitting(plan.sizes)))


@dataclass(frozen=True, slots=True)
class Search:
    """The curator's search from one update to the next.

    It builds the search frontier around a network, and selects the network within a frontier.
    """

    plan: BitsPlan
    information: Correlations
    extended: bool

    def around(self, network: BayesianNetwork) -> BayesianNetwork:
        """Build the search frontier around a network."""
        places = {name: place for place, name in enumerate(self.plan.domain.attributes)}
        frontier = search_frontier(
            {
                places[child]: [places[parent] for parent in parents]
                for child, parents in network.parents.items()
            },
            self.information,
            fits=_fitting(self.plan.wide_sizes),
            degree=self.plan.wide_degree,
            extended=self.extended,
        )
        return _named(self.plan.domain, frontier)

    def within(self, frontier: BayesianNetwork, counted: Sequence[Estimate]) -> BayesianNetwork:
        """Select the best network within a frontier by its tables."""
        return select_parents(frontier, counted, sizes=self.plan.sizes, degree=self.plan.degree)


def select_parents(
    frontier: BayesianNetwork, counted: Sequence[Estimate], *, sizes: Sizes, degree: int
) -> BayesianNetwork:
    """Select each attribute's parents among the frontier's, by the information in its noisy table.

    Information only grows with the number of parents, so as many are taken as may be. The frontier
    has no circle, so no selection has one.
    """
    selected: dict[str, tuple[str, ...]] = {}
    for name, candidates in frontier.parents.items():
        family = (*candidates, name)
        table = min(
            (estimate.table for estimate in counted if estimate.table.covers(family)),
            key=lambda covering: covering.cells,
        ).project(family)
        scores = [
            (
                -mutual_information(table.project((*parents, name)).map(norm_mul), (name,), base=2)
                if parents
                else 0.0,
                parents,
            )
            for parents in sizes.parent_sets(name, candidates, degree=degree)
        ]
        selected[name] = min(scores)[1]
    return BayesianNetwork(frontier.domain, selected)


def _fitting(sizes: Sizes) -> Fits:
    names = sizes.domain.attributes
    return lambda x, parents: sizes.fits(names[x], [names[y] for y in parents])


def _named(domain: Domain, parents: Parents) -> BayesianNetwork:
    names = domain.attributes
    return BayesianNetwork(
        domain,
        {
            names[child]: tuple(names[parent] for parent in parents_of_child)
            for child, parents_of_child in parents.items()
        },
    )
