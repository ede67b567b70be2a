"""A synthetic table from tables of all pairs: rows along a junction tree, then raked to all pairs.

A junction tree of cliques that are not too large keeps the strongest pairs and loses the others.
Its rows are a good start. They are weighted until all pairs have nearly their tables, and drawn
again by these weights (`raking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ..privacy.domain import Domain
from .information import mutual_information
from .junction_tree import JunctionTree, junction_tree
from .marginal import Marginal
from .maximum_entropy import fit
from .raking import ReportProgress, rake
from .sampling import Chain, SampleCodes, synthesise
from .triangulation import GrowingGraph, dependency_graph

if TYPE_CHECKING:
    import numpy as np

__all__ = ["draw_rows", "pair_tree"]

MAX_CLIQUE_CELLS: Final = 4096
MIN_BITS: Final = 1e-3
"""Least mutual information for an edge."""
SWEEPS: Final = 30
MIN_ROWS: Final = 100_000
"""Least rows that are weighted: with fewer rows the weights add more noise than they remove."""
TRIES: Final = 4
"""Edges that are tried for each attribute."""


def draw_rows(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    progress: ReportProgress | None = None,
) -> tuple[list[SampleCodes], JunctionTree]:
    """Draw rows that have nearly these tables of pairs, and return their junction tree as well."""
    tree, chain = pair_tree(domain, pairs, singles)
    drawn = synthesise(chain, max(rows, MIN_ROWS), generator=generator).codes
    wanted = {pair: table for pair, table in pairs.items() if min(domain.shape(pair)) > 1}
    return rake(domain, drawn, wanted, rows=rows, generator=generator, progress=progress), tree


def pair_tree(
    domain: Domain, pairs: Mapping[tuple[str, ...], Marginal], singles: Mapping[str, Marginal]
) -> tuple[JunctionTree, Chain]:
    """Join tables of pairs that agree on single attributes to a junction tree of the strongest.

    Pairs are added in order of mutual information while no clique gets too large. The table of a
    clique is the one of maximum entropy.
    """
    information = [
        (mutual_information(table, pair[:1], base=2), pair)
        for pair, table in pairs.items()
        if min(domain.shape(pair)) > 1 and table.total > 0
    ]
    strongest = sorted(information, key=lambda entry: (-entry[0], entry[1]))
    graph, edges = GrowingGraph(domain), list[tuple[str, str]]()
    for bits, (left, right) in strongest[: TRIES * len(domain.attributes)]:
        if bits < MIN_BITS:
            break
        limit = max(MAX_CLIQUE_CELLS, domain.cells((left, right)))
        if graph.with_edge(left, right) <= limit:
            graph.add(left, right)
            edges.append((left, right))
    tree: JunctionTree = junction_tree(domain, dependency_graph(domain, edges))
    kept = {frozenset(edge) for edge in edges}
    return tree, tree.chain(
        [_clique_table(domain, clique, pairs, singles, kept) for clique in tree.cliques]
    )


def _clique_table(
    domain: Domain,
    clique: tuple[str, ...],
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    edges: set[frozenset[str]],
) -> Marginal:
    if len(clique) == 1:
        return singles[clique[0]]
    # Only edges: pairs that triangulation filled in are weak, and each of them costs a pass.
    within = [
        pairs[pair] if pair in pairs else pairs[pair[::-1]]
        for pair in combinations(clique, 2)
        if frozenset(pair) in edges
    ]
    if len(clique) == 2:
        return within[0].project(clique)
    return fit(domain, clique, within, sweeps=SWEEPS, tolerance=1e-5)
