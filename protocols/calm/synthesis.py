"""A synthetic table from CALM's marginals. CALM publishes marginals; this is ours, as people ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Final

from ...curator import JunctionTree, Marginal, dependency_graph, junction_tree, mutual_information, triangulate
from ...curator.maximum_entropy import fit
from ...curator.sampling import Chain
from ...privacy import Domain

__all__ = ["joined"]

MOST_CELLS: Final = 4096
"""Of a clique."""
LEAST_BITS: Final = 1e-3
"""Of mutual information that is worth an edge."""
SWEEPS: Final = 30
TRIES: Final = 4
"""Edges that are tried, for each attribute."""


def joined(domain: Domain, pairs: Mapping[tuple[str, ...], Marginal], singles: Mapping[str, Marginal]) -> Chain:
    """Join tables of pairs that agree on single attributes: a junction tree of the pairs that tell most of one another.

    Pairs are added in order of information while no clique gets too large; a clique's table is the one of maximum entropy.
    """
    telling = [
        (mutual_information(table, pair[:1], base=2), pair)
        for pair, table in pairs.items()
        if min(domain.shape(pair)) > 1 and table.total > 0
    ]
    edges: list[tuple[str, str]] = []
    for bits, (one, other) in sorted(telling, key=lambda own: (-own[0], own[1]))[: TRIES * len(domain.attributes)]:
        if bits < LEAST_BITS:
            break
        _, cliques = triangulate(domain, dependency_graph(domain, [*edges, (one, other)]))
        if max(map(domain.cells, cliques)) <= max(MOST_CELLS, domain.cells((one, other))):
            edges.append((one, other))
    tree: JunctionTree = junction_tree(domain, dependency_graph(domain, edges))
    known = {frozenset(edge) for edge in edges}
    return tree.chain([_table(domain, clique, pairs, singles, known) for clique in tree.cliques])


def _table(
    domain: Domain,
    clique: tuple[str, ...],
    pairs: Mapping[tuple[str, ...], Marginal],
    singles: Mapping[str, Marginal],
    known: set[frozenset[str]],
) -> Marginal:
    if len(clique) == 1:
        return singles[clique[0]]
    # Only pairs that were added: those that triangulation filled in tell little, and each costs a pass.
    wanted = [own for own in combinations(clique, 2) if frozenset(own) in known]
    within = [pairs[own] if own in pairs else pairs[own[::-1]] for own in wanted]
    return within[0].project(clique) if len(clique) == 2 else fit(domain, clique, within, sweeps=SWEEPS, tolerance=1e-5)
