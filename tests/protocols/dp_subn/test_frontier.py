"""CSFC: the paper's figure 1, and the laws of any frontier."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from sottovoce.protocols.dp_subn.frontier import search_frontier, spanning_tree

TRIANGLE = [
    [0.84],
    [0.74, 0.68],
    [0.70, 0.42, 0.76],
    [0.34, 0.21, 0.47, 0.51],
    [0.28, 0.14, 0.57, 0.46, 0.10],
    [0.32, 0.56, 0.23, 0.15, 0.18, 0.25],
]
FIGURE = np.zeros((7, 7))
for line, values in enumerate(TRIANGLE, start=1):
    FIGURE[line, : len(values)] = FIGURE[: len(values), line] = values
NETWORK = {1: [0], 2: [0], 3: [2], 5: [2], 4: [3], 6: [1]}
"""X1 -> X2, X1 -> X3, X3 -> X4, X3 -> X6, X4 -> X5, X2 -> X7: figure 1 (b), as inferred: the text has only its caption."""


def at_most(degree: int) -> object:
    return lambda _, parents: len(parents) <= degree


def named(parents: dict[int, list[int]]) -> dict[int, set[int]]:
    return {x + 1: {y + 1 for y in own} for x, own in parents.items() if own}


def test_figure_1() -> None:
    printed = search_frontier(NETWORK, FIGURE, fits=at_most(2), degree=2, extended=False)  # type: ignore[arg-type]
    assert named(printed) == {2: {1, 3}, 3: {1}, 4: {1, 3}, 5: {3, 4}, 6: {1, 3}, 7: {1, 2}}
    extended = search_frontier(NETWORK, FIGURE, fits=at_most(2), degree=2)  # type: ignore[arg-type]
    assert named(extended) == {2: {1, 3}, 3: {1}, 4: {1, 3}, 5: {3, 4}, 6: {3, 4}, 7: {1, 2}}

    def added(parents: dict[int, list[int]]) -> float:
        return float(sum(FIGURE[x, y] for x, own in parents.items() for y in own if y not in NETWORK.get(x, [])))

    assert added(printed) == pytest.approx(2.45)
    assert added(extended) == pytest.approx(2.63)


def test_the_numbers_of_the_worked_example() -> None:
    """Before (X2, X3) only X1 -> X4 was added: Sp = 3 and 3, Im = 2.83 and 1.39."""
    above = {2: [0, 2], 1: [0, 1]}  # ancestors with the attribute itself: of X3, of X2
    below = {2: [2, 3, 4, 5], 1: [1, 6]}
    parents = {0: 0, 1: 1, 2: 1}
    assert 2 * 2 - sum(parents[z] for z in above[1]) == 3
    assert 2 * 2 - sum(parents[z] for z in above[2]) == 3
    assert FIGURE[np.ix_(below[2], above[1])].sum() - FIGURE[1, 2] == pytest.approx(2.83)
    assert FIGURE[np.ix_(below[1], above[2])].sum() - FIGURE[1, 2] == pytest.approx(1.39)


def test_the_tree_of_figure_1() -> None:
    tree = spanning_tree(FIGURE, root=0, fits=at_most(1))  # type: ignore[arg-type]
    assert {x: own for x, own in tree.items() if own} == NETWORK
    assert sum(FIGURE[x, y] for x, own in tree.items() for y in own) == pytest.approx(3.98)


@pytest.mark.parametrize("seed", range(20))
def test_any_frontier(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size, degree = int(generator.integers(3, 14)), int(generator.integers(1, 5))
    table = np.triu(generator.random((size, size)), 1)
    table += table.T
    start = spanning_tree(table, root=int(generator.integers(size)), fits=at_most(1))  # type: ignore[arg-type]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((x, y, table[x, y]) for x in range(size) for y in range(x))
    heaviest = nx.maximum_spanning_tree(graph).size(weight="weight")
    assert sum(table[x, y] for x, own in start.items() for y in own) == pytest.approx(heaviest)
    grown = {}
    for extended in (False, True):
        found = search_frontier(start, table, fits=at_most(degree), degree=degree, extended=extended)  # type: ignore[arg-type]
        edges = [(y, x) for x, own in found.items() for y in own]
        assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))
        assert all(set(start[x]) <= set(found[x]) and len(found[x]) <= max(degree, len(start[x])) for x in found)
        assert all(len(set(own)) == len(own) for own in found.values())
        grown[extended] = len(edges)
    assert grown[True] >= grown[False]


def test_what_does_not_fit_stays_out() -> None:
    tree = spanning_tree(FIGURE, root=0, fits=lambda x, _: x != 3)
    assert tree[3] == []
    assert sum(map(len, tree.values())) == 5
