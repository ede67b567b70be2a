"""Junction trees: a graph of dependences made chordal, its cliques, and a tree along which they
agree.

The joint distribution of a chordal graph is the product of its cliques' distributions over that of
the separators, so rows are drawn clique by clique, each given what it shares with the one before.
Nothing larger than a clique is ever built, and a clique that is too large can be given as steps of
its own (`JunctionTree.chain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, prod
from typing import TYPE_CHECKING, Any

from ..privacy.domain import Domain
from .marginal import Marginal
from .sampling import Chain, Empty, Step

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["JunctionTree", "dependency_graph", "junction_tree", "triangulate"]


def dependency_graph(domain: Domain, edges: Iterable[tuple[str, str]]) -> nx.Graph[str]:
    """Make a graph of all attributes and these edges."""
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(domain.attributes)
    for one, other in edges:
        domain.shape((one, other))
        if one == other:
            raise ValueError(
                f"expected edges between different attributes, found one from {one} to itself"
            )
        graph.add_edge(one, other)
    return graph


def triangulate(
    domain: Domain, graph: nx.Graph[str]
) -> tuple[nx.Graph[str], tuple[tuple[str, ...], ...]]:
    """Add edges until every circle of four or more has a chord; return the graph and its maximal
    cliques.

    By elimination, the vertex that needs the fewest new edges first (min-fill); ties go to the
    smaller new clique in cells, then to the domain's order. Cliques are sorted, their attributes in
    the domain's order.
    """
    places = {name: at for at, name in enumerate(domain.attributes)}
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    chordal, left = graph.copy(), {name: set(graph[name]) - {name} for name in domain.attributes}
    cliques: list[frozenset[str]] = []

    def cost(name: str) -> tuple[int, float, int]:
        near = left[name]
        fill = sum(other not in left[one] for one, other in combinations(near, 2))
        return (
            fill,
            round(log(sizes[name]) + sum(sorted(log(sizes[other]) for other in near)), 9),
            places[name],
        )

    while left:
        name = min(left, key=cost)
        near = left.pop(name)
        cliques.append(frozenset({name, *near}))
        for one, other in combinations(near, 2):
            left[one].add(other)
            left[other].add(one)
            chordal.add_edge(one, other)
        for other in near:
            left[other].discard(name)
    largest = [clique for clique in cliques if not any(clique < other for other in cliques)]
    return chordal, tuple(
        sorted(
            (tuple(sorted(clique, key=places.__getitem__)) for clique in largest),
            key=lambda c: [places[a] for a in c],
        )
    )


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques, and the edges of a forest over them: places of two cliques and what these share."""

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[int, int, tuple[str, ...]], ...]

    @property
    def separators(self) -> tuple[tuple[str, ...], ...]:
        return tuple(shared for _, _, shared in self.edges)

    @property
    def cells(self) -> int:
        """Count the cells of all cliques."""
        return sum(self.domain.cells(clique) for clique in self.cliques)

    def told(self) -> dict[str, Any]:
        """Write it as what is published: cliques, and which two share what."""
        return {
            "cliques": self.cliques,
            "edges": [[one, other, shared] for one, other, shared in self.edges],
        }

    def walk(self) -> list[tuple[int, tuple[str, ...]]]:
        """List the cliques in the order in which they are drawn, each with its separator from the
        one before; () at roots.
        """
        near: dict[int, list[tuple[int, tuple[str, ...]]]] = {
            at: [] for at in range(len(self.cliques))
        }
        for one, other, shared in self.edges:
            near[one].append((other, shared))
            near[other].append((one, shared))
        walked: dict[int, tuple[str, ...]] = {}
        for root in range(len(self.cliques)):
            waiting: list[tuple[int, tuple[str, ...]]] = [(root, ())] if root not in walked else []
            while waiting:
                at, shared = waiting.pop()
                walked[at] = shared
                waiting += [
                    (then, between) for then, between in reversed(near[at]) if then not in walked
                ]
        return list(walked.items())

    def chain(
        self,
        tables: Mapping[int, Sequence[Step]] | Sequence[Marginal],
        *,
        empty: Empty = "marginal",
    ) -> Chain:
        """Make the distribution: from tables that cover the cliques, or from steps of one's own for
        each clique.

        Of several tables that cover a clique the smallest is taken. A clique's own steps must draw
        its attributes without the separator, given the separator and what they drew before.
        """
        steps: list[Step] = []
        for at, shared in self.walk():
            if isinstance(tables, Mapping):
                steps.extend(tables[at])
                continue
            covering = [table for table in tables if table.covers(self.cliques[at])]
            if not covering:
                raise ValueError(
                    f"expected a table that covers {', '.join(self.cliques[at])}, found none"
                )
            heads = tuple(name for name in self.cliques[at] if name not in shared)
            steps.append(
                Step(
                    heads,
                    shared,
                    min(covering, key=lambda table: table.cells).project(self.cliques[at]),
                )
            )
        return Chain(self.domain, steps, empty=empty)


def junction_tree(domain: Domain, graph: nx.Graph[str]) -> JunctionTree:
    """Triangulate, and join the cliques by a spanning forest of the largest separators.

    Ties go to the separator with more cells, then to the cliques' order.
    """
    _, cliques = triangulate(domain, graph)
    places = {name: at for at, name in enumerate(domain.attributes)}
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    joints = []
    for one, other in combinations(range(len(cliques)), 2):
        if shared := tuple(sorted({*cliques[one]} & {*cliques[other]}, key=places.__getitem__)):
            joints.append((-len(shared), -prod(sizes[name] for name in shared), one, other, shared))
    tree = list(range(len(cliques)))
    edges = []
    for _, _, one, other, shared in sorted(joints):
        if tree[one] != tree[other]:
            edges.append((one, other, shared))
            joined, into = tree[other], tree[one]
            tree = [into if own == joined else own for own in tree]
    return JunctionTree(domain, cliques, tuple(edges))
