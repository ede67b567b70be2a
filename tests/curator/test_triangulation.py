"""Elimination against a slow referee, and a graph that grows against elimination from scratch."""

from __future__ import annotations

import random
from itertools import combinations
from math import log, prod

import pytest

from sottovoce.curator import GrowingGraph, dependency_graph, triangulate
from sottovoce.messages import UsageError
from sottovoce.privacy import Domain

Edges = list[tuple[str, str]]


def eliminate_slowly(domain: Domain, edges: Edges) -> tuple[set[frozenset[str]], int]:
    """Compute every cost anew for each vertex; return the filled edges and the largest clique."""
    sizes = dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))
    neighbours: dict[str, set[str]] = {name: set() for name in domain.attributes}
    for first, second in edges:
        neighbours[first].add(second)
        neighbours[second].add(first)
    filled, largest = {frozenset(edge) for edge in edges}, 1

    def cost(name: str) -> tuple[int, float, int]:
        near = neighbours[name]
        fill = sum(second not in neighbours[first] for first, second in combinations(near, 2))
        cells = sum(sorted(log(sizes[other]) for other in near)) + log(sizes[name])
        return fill, round(cells, 9), domain.attributes.index(name)

    while neighbours:
        name = min(neighbours, key=cost)
        near = neighbours.pop(name)
        largest = max(largest, prod(sizes[other] for other in (name, *near)))
        for first, second in combinations(near, 2):
            filled.add(frozenset((first, second)))
            neighbours[first].add(second)
            neighbours[second].add(first)
        for other in near:
            neighbours[other].discard(name)
    return filled, largest


def random_graph(seed: int) -> tuple[Domain, Edges]:
    """Draw a graph of 2 to 13 attributes, from sparse to dense, with its edges in random order."""
    draw = random.Random(seed)
    names = [f"x{number}" for number in range(draw.randint(2, 13))]
    domain = Domain({name: tuple(map(str, range(draw.randint(1, 6)))) for name in names})
    share = draw.random() * 0.6
    edges = [pair for pair in combinations(names, 2) if draw.random() < share]
    draw.shuffle(edges)
    return domain, edges


@pytest.mark.parametrize("seed", range(60))
def test_elimination_is_that_of_the_slow_referee(seed: int) -> None:
    domain, edges = random_graph(seed)
    filled, largest = eliminate_slowly(domain, edges)
    chordal, cliques = triangulate(domain, dependency_graph(domain, edges))
    assert {frozenset((name, near)) for name in chordal for near in chordal[name]} == filled
    assert max(map(domain.cells, cliques)) == largest
    assert not any({*one} < {*other} for one in cliques for other in cliques)


@pytest.mark.parametrize("seed", range(60))
def test_a_growing_graph_knows_its_largest_clique(seed: int) -> None:
    domain, edges = random_graph(seed)
    graph, added = GrowingGraph(domain), Edges()
    assert graph.largest_clique == max(domain.shape(domain.attributes))
    for edge in edges[:20]:
        # Trying other edges in between changes nothing.
        graph.with_edge(*edges[-1])
        _, largest = eliminate_slowly(domain, [*added, edge])
        assert graph.with_edge(*edge) == largest
        graph.add(*edge)
        added.append(edge)
        assert graph.largest_clique == graph.with_edge(*edge[::-1]) == largest


def test_edges_join_different_attributes_of_the_domain() -> None:
    graph = GrowingGraph(Domain({"a": ("0", "1"), "b": ("0", "1")}))
    with pytest.raises(ValueError, match="expected edges between different attributes, found one"):
        graph.add("a", "a")
    with pytest.raises(UsageError, match="expected an attribute of the data"):
        graph.with_edge("a", "c")
    assert graph.largest_clique == 2
