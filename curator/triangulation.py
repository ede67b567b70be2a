"""Chordal graphs: what elimination adds to a graph, and the cliques that it leaves.

Sets of attributes are integers: bit i stands for the i-th attribute of the domain. Elimination
removes one vertex after another and joins the neighbours of each. The vertex that needs the fewest
new edges comes first (min-fill); ties go to the new clique with fewer cells, then to the domain's
order. Only vertices near a removed one change their costs, so a heap holds all costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import log, prod
from typing import NamedTuple, TypeAlias

from ..privacy.domain import Domain

__all__ = ["DependencyGraph", "GrowingGraph", "dependency_graph", "triangulate"]

DependencyGraph: TypeAlias = dict[str, list[str]]
"""The neighbours of each attribute, in the order in which edges were added."""
Vertices: TypeAlias = int
"""A set of vertices: one bit each."""


def dependency_graph(domain: Domain, edges: Iterable[tuple[str, str]]) -> DependencyGraph:
    """Make a graph of all attributes and these edges; one that is there twice counts once."""
    graph: DependencyGraph = {name: [] for name in domain.attributes}
    for first, second in edges:
        _check_edge(domain, first, second)
        if second not in graph[first]:
            graph[first].append(second)
            graph[second].append(first)
    return graph


def triangulate(
    domain: Domain, graph: DependencyGraph
) -> tuple[DependencyGraph, tuple[tuple[str, ...], ...]]:
    """Add edges until every cycle of four or more has a chord, by elimination.

    Returns:
        The graph, and its maximal cliques in order, with their attributes in the domain's order.
    """
    names = domain.attributes
    places = {name: place for place, name in enumerate(names)}
    neighbours = {
        place: sum(1 << places[near] for near in graph[name]) for place, name in enumerate(names)
    }
    elimination = _eliminate(neighbours, _logarithms(domain))
    chordal = {name: [*near] for name, near in graph.items()}
    for first, second in elimination.fill:
        chordal[names[first]].append(names[second])
        chordal[names[second]].append(names[first])
    ordered = sorted([*_members(clique)] for clique in _maximal(elimination.cliques))
    return chordal, tuple(tuple(names[place] for place in clique) for clique in ordered)


class GrowingGraph:
    """A graph to which edges are added, and the cells of its largest clique after elimination.

    Elimination first removes vertices whose neighbours are all joined to each other, and it does
    not matter in which order. So each graph has a fixed order of these vertices, and a rest. An
    edge keeps none of them in the graph but its own two ends and those that come later in the order
    along edges. Only these and the rest are eliminated again to try an edge.
    """

    def __init__(self, domain: Domain) -> None:
        names = domain.attributes
        self._domain = domain
        self._places = {name: place for place, name in enumerate(names)}
        self._sizes = domain.shape(names)
        self._logarithms = _logarithms(domain)
        self._neighbours: list[Vertices] = [0] * len(names)
        self._later: list[Vertices] = [0] * len(names)
        """The neighbours of each vertex that come later in the order, or in the rest."""
        self._rest: Vertices = 0
        self._clique_cells: list[int] = [*self._sizes]
        """Cells of each vertex with its later neighbours."""
        self._rest_cells = 1
        """Cells of the largest clique of the rest after elimination."""
        self._tried: dict[tuple[int, int], tuple[Mapping[int, Vertices], int]] = {}
        """The graph that was eliminated last to try an edge, and its largest clique's cells."""

    @property
    def largest_clique(self) -> int:
        """Number of cells of the largest clique."""
        return max(self._rest_cells, *self._clique_cells)

    def with_edge(self, first: str, second: str) -> int:
        """Compute the cells of the largest clique if this edge were added."""
        left, right = self._ends(first, second)
        if self._neighbours[left] >> right & 1:
            return self.largest_clique
        kept, pending = self._rest | 1 << left | 1 << right, 1 << left | 1 << right
        while pending:
            low = pending & -pending
            pending ^= low
            new = self._later[low.bit_length() - 1] & ~kept
            kept |= new
            pending |= new
        neighbours = {vertex: self._neighbours[vertex] & kept for vertex in _members(kept)}
        neighbours[left] |= 1 << right
        neighbours[right] |= 1 << left
        graph, cells = self._tried.get((left, right), ({}, 0))
        if graph != neighbours:
            cells = max(map(self._cells, _eliminate(neighbours, self._logarithms).cliques))
            self._tried[left, right] = neighbours, cells
        return max(cells, *self._clique_cells)

    def add(self, first: str, second: str) -> None:
        """Add an edge."""
        left, right = self._ends(first, second)
        self._neighbours[left] |= 1 << right
        self._neighbours[right] |= 1 << left
        self._order()

    def _ends(self, first: str, second: str) -> tuple[int, int]:
        _check_edge(self._domain, first, second)
        return self._places[first], self._places[second]

    def _cells(self, vertices: Vertices) -> int:
        return prod(self._sizes[place] for place in _members(vertices))

    def _order(self) -> None:
        """Remove vertices whose neighbours are all joined, layer by layer, and eliminate the rest.

        Layers keep the ways short that lead from a vertex to later ones.
        """
        left = (1 << len(self._sizes)) - 1
        neighbours = self._neighbours
        changed = left
        while changed:
            layer = [
                vertex
                for vertex in _members(changed)
                if _is_clique(neighbours[vertex] & left, neighbours)
            ]
            changed = 0
            for vertex in layer:
                left &= ~(1 << vertex)
                self._later[vertex] = neighbours[vertex] & left
                self._clique_cells[vertex] = self._cells(self._later[vertex] | 1 << vertex)
                changed |= self._later[vertex]
            changed &= left
        self._rest = left
        rest = {vertex: neighbours[vertex] & left for vertex in _members(left)}
        cliques = _eliminate(rest, self._logarithms).cliques
        self._rest_cells = max(map(self._cells, cliques), default=1)
        for vertex in rest:
            self._later[vertex], self._clique_cells[vertex] = 0, 1


class _Elimination(NamedTuple):
    """The cliques of all eliminated vertices, in order, and the edges that were added."""

    cliques: list[Vertices]
    fill: list[tuple[int, int]]


def _eliminate(graph: Mapping[int, Vertices], logarithms: Sequence[float]) -> _Elimination:
    """Eliminate all vertices of a graph, given by the neighbours of each, by min-fill."""
    neighbours = dict(graph)
    elimination = _Elimination([], [])

    def cost(vertex: int) -> tuple[int, float, int]:
        near = neighbours[vertex]
        members = [*_members(near)]
        # Each neighbour misses itself, and each edge is missed from both sides.
        missing = sum([(near & ~neighbours[member]).bit_count() - 1 for member in members]) // 2
        # Sorted, so that rounding does not depend on the order of a set.
        log_cells = logarithms[vertex] + sum(sorted([logarithms[member] for member in members]))
        return missing, round(log_cells, 9), vertex

    costs = {vertex: cost(vertex) for vertex in neighbours}
    heap = list(costs.values())
    heapify(heap)
    while heap:
        entry = heappop(heap)
        vertex = entry[2]
        if costs.get(vertex) != entry:  # it was eliminated, or its cost has changed
            continue
        del costs[vertex]
        near = neighbours[vertex]
        elimination.cliques.append(near | 1 << vertex)
        changed = near
        if entry[0]:
            for member in _members(near):
                for other in _members((near & ~neighbours[member]) >> (member + 1)):
                    second = other + member + 1
                    elimination.fill.append((member, second))
                    # Whoever has both as neighbours misses one edge less.
                    changed |= neighbours[member] & neighbours[second]
            changed &= ~(1 << vertex)
        for member in _members(near):
            neighbours[member] = (neighbours[member] | near) & ~(1 << vertex | 1 << member)
        for member in _members(changed):
            entry = cost(member)
            if costs[member] != entry:
                costs[member] = entry
                heappush(heap, entry)
    return elimination


def _is_clique(vertices: Vertices, neighbours: Sequence[Vertices]) -> bool:
    """Check whether all of these vertices are neighbours of each other."""
    return all(not vertices & ~(neighbours[v] | 1 << v) for v in _members(vertices))


def _maximal(cliques: Sequence[Vertices]) -> list[Vertices]:
    """Leave out cliques that another one contains."""
    return [
        clique
        for clique in cliques
        if not any(clique & other == clique and clique != other for other in cliques)
    ]


def _members(vertices: Vertices) -> Iterator[int]:
    while vertices:
        low = vertices & -vertices
        yield low.bit_length() - 1
        vertices ^= low


def _logarithms(domain: Domain) -> list[float]:
    return [log(size) for size in domain.shape(domain.attributes)]


def _check_edge(domain: Domain, first: str, second: str) -> None:
    domain.shape((first, second))
    if first == second:
        raise ValueError(
            f"expected edges between different attributes, found one from {first} to itself"
        )
