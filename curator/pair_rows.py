"""A synthetic table from tables of all pairs: rows along a junction tree, then raked to all pairs.

A junction tree of cliques that are not too large keeps the strongest pairs and loses the others.
Its rows are a good start. They are weighted until all pairs have nearly their tables (`raking`),
and a sample of them is published (`balanced_sampling`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from ..messages import is_uncounted
from ..privacy.domain import Domain
from .impossible_cells import possible_pairs
from .information import information_of_all
from .junction_tree import JunctionTree, junction_tree
from .marginal import Marginal
from .maximum_entropy import fit
from .raking import ReportProgress, rake
from .sampling import Chain, SampleCodes, synthesise
from .triangulation import GrowingGraph, dependency_graph

__all__ = ["draw_rows", "pair_tree"]

MAX_CLIQUE_CELLS: Final = 4096
MIN_BITS: Final = 1e-3
"""Least mutual information for an edge."""
SWEEPS: Final = 30
MIN_ROWS: Final = 100_000
"""Least rows that are weighted: with fewer rows the weights add more noise than they remove."""
TRIES: Final = 4
"""Edges that are tried for each attribute."""
MAX_RAKED: Final = 5000
"""Pairs to which rows are raked: all pairs of 100 attributes.

Of more pairs those are taken that the tree's rows miss most.
"""
COMPARED_ROWS: Final = 20_000
"""Rows by which it is judged what a tree misses."""


def draw_rows(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    progress: ReportProgress | None = None,
) -> tuple[list[SampleCodes], JunctionTree]:
    """Draw rows that have nearly these tables of pairs, and return their junction tree as well.

    Combinations that the domain declares impossible get no mass. If nobody
    reads the rows or the work that they take (`Unread.WORK`), only as many as are asked for are
    weighted.
    """
    pairs, singles = possible_pairs(domain, pairs, singles)
    tree, chain = pair_tree(domain, pairs, singles)
    weighted = rows if is_uncounted() else max(rows, MIN_ROWS)
    drawn = synthesise(chain, weighted, generator=generator).codes
    wanted = {pair: table for pair, table in pairs.items() if min(domain.shape(pair)) > 1}
    if len(wanted) > MAX_RAKED:
        wanted = farthest(domain, drawn, wanted, count=MAX_RAKED)
    return rake(domain, drawn, wanted, rows=rows, generator=generator, progress=progress), tree


def farthest(
    domain: Domain,
    codes: Sequence[SampleCodes],
    pairs: Mapping[tuple[str, ...], Marginal],
    *,
    count: int,
) -> dict[tuple[str, ...], Marginal]:
    """Take the pairs whose tables of the rows are farthest from the given ones, in their order.

    The distance is compared with what so few rows have by chance.
    """
    places = {name: place for place, name in enumerate(domain.attributes)}
    sizes = domain.shape(domain.attributes)
    columns = [np.asarray(column[:COMPARED_ROWS], np.int64) for column in codes]
    excess = np.zeros(len(pairs))
    for index, ((first, second), table) in enumerate(pairs.items()):
        left, right = places[first], places[second]
        target = table.values.reshape(-1)
        cells = columns[left] * sizes[right] + columns[right]
        counts = np.bincount(cells, minlength=target.size)
        by_chance = np.sqrt(target * (1 - target) / len(cells))
        excess[index] = np.abs(counts / len(cells) - target).sum() - by_chance.sum()
    kept = set(np.argsort(-excess, kind="stable")[:count].tolist())
    return {pair: table for index, (pair, table) in enumerate(pairs.items()) if index in kept}


def pair_tree(
    domain: Domain, pairs: Mapping[tuple[str, ...], Marginal], singles: Mapping[str, Marginal]
) -> tuple[JunctionTree, Chain]:
    """Join tables of pairs that agree on single attributes to a junction tree of the strongest.

    Pairs are added in order of mutual information while no clique gets too large. The table of a
    clique is the one of maximum entropy.
    """
    several = {
        pair: table
        for pair, table in pairs.items()
        if min(domain.shape(pair)) > 1 and table.total > 0
    }
    bits_of_all = information_of_all(
        [table.values for table in several.values()],
        [table.values.shape[1] for table in several.values()],
        base=2,
    )
    information = list(zip(bits_of_all.tolist(), several, strict=True))
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
