"""A synthetic table from tables of all pairs: along a junction tree of those that tell most, then
raked to all of them.

A junction tree of cliques that are not too large has the strongest pairs and loses the others. Its
rows are a good beginning: weighed so that all pairs' tables come near what they should be, and
drawn anew by these weights, they have them all (`curator.raking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ...curator import (
    Chain,
    JunctionTree,
    Marginal,
    dependency_graph,
    junction_tree,
    mutual_information,
    synthesise,
    triangulate,
)
from ...curator.maximum_entropy import fit
from ...curator.raking import ReportProgress, rake
from ...curator.sampling import SampleCodes
from ...privacy import Domain

if TYPE_CHECKING:
    import numpy as np

__all__ = ["joined", "rows_of"]

MOST_CELLS: Final = 4096
"""Of a clique."""
LEAST_BITS: Final = 1e-3
"""Of mutual information that is worth an edge."""
SWEEPS: Final = 30
LEAST_ROWS: Final = 100_000
"""That are weighed: of fewer, the weights would have more noise than they take away."""
TRIES: Final = 4
"""Edges that are tried, for each attribute."""


def rows_of(
    domain: Domain,
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    *,
    rows: int,
    generator: np.random.Generator,
    told: ReportProgress | None = None,
) -> tuple[list[SampleCodes], JunctionTree]:
    """Draw rows that have these tables of pairs, or nearly; and say along which tree."""
    tree, chain = joined(domain, pairs, singles)
    drawn = synthesise(chain, max(rows, LEAST_ROWS), generator=generator).codes
    wanted = {pair: table for pair, table in pairs.items() if min(domain.shape(pair)) > 1}
    return rake(domain, drawn, wanted, rows=rows, generator=generator, progress=told), tree


def joined(
    domain: Domain, pairs: Mapping[tuple[str, ...], Marginal], singles: Mapping[str, Marginal]
) -> tuple[JunctionTree, Chain]:
    """Join tables of pairs that agree on single attributes: a junction tree of the pairs that tell
    most of one another.

    Pairs are added in order of information while no clique gets too large; a clique's table is the
    one of maximum entropy.
    """
    telling = [
        (mutual_information(table, pair[:1], base=2), pair)
        for pair, table in pairs.items()
        if min(domain.shape(pair)) > 1 and table.total > 0
    ]
    edges: list[tuple[str, str]] = []
    for bits, (one, other) in sorted(telling, key=lambda own: (-own[0], own[1]))[
        : TRIES * len(domain.attributes)
    ]:
        if bits < LEAST_BITS:
            break
        _, cliques = triangulate(domain, dependency_graph(domain, [*edges, (one, other)]))
        if max(map(domain.cells, cliques)) <= max(MOST_CELLS, domain.cells((one, other))):
            edges.append((one, other))
    tree: JunctionTree = junction_tree(domain, dependency_graph(domain, edges))
    known = {frozenset(edge) for edge in edges}
    return tree, tree.chain(
        [_table(domain, clique, pairs, singles, known) for clique in tree.cliques]
    )


def _table(
    domain: Domain,
    clique: tuple[str, ...],
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    known: set[frozenset[str]],
) -> Marginal:
    if len(clique) == 1:
        return singles[clique[0]]
    # Only pairs that were added: those that triangulation filled in tell little, and each costs a
    # pass.
    wanted = [own for own in combinations(clique, 2) if frozenset(own) in known]
    within = [pairs[own] if own in pairs else pairs[own[::-1]] for own in wanted]
    return (
        within[0].project(clique)
        if len(clique) == 2
        else fit(domain, clique, within, sweeps=SWEEPS, tolerance=1e-5)
    )
