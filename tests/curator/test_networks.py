"""Bayesian networks, junction trees and maximum entropy, against products over the whole domain."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest

from sottovoce.curator import (
    BayesianNetwork,
    Estimate,
    Marginal,
    Step,
    correlation_threshold,
    dependency_graph,
    junction_tree,
    mutual_information,
    triangulate,
)
from sottovoce.curator.bayesian_network import maximal
from sottovoce.curator.maximum_entropy import fit, reconstruct
from sottovoce.privacy import Domain

if TYPE_CHECKING:
    from conftest import Random


def test_a_network_is_the_product_of_its_conditionals(random: Random) -> None:
    domain = random.domain(attributes=5)
    joint = random.joint(domain)
    names = list(map(str, random.generator.permutation(domain.attributes)))
    parents = {
        name: [larger for larger in names[:index] if random.generator.random() < 0.4]
        for index, name in enumerate(names)
    }
    network = BayesianNetwork(domain, parents)
    expected = Marginal((), np.array(1.0))
    for name in names:
        expected = expected * (joint.project([*parents[name], name]) / joint.project(parents[name]))
    tables = [joint.project(family) for family in network.maximal_families]
    assert network.fit(tables).distribution().distance(expected.project(domain.attributes)) < 1e-12
    assert network.degree == max(map(len, parents.values()))
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(domain.attributes)
    graph.add_edges_from((parent, name) for name in names for parent in parents[name])
    places = {name: place for place, name in enumerate(domain.attributes)}
    assert network.order == tuple(nx.lexicographical_topological_sort(graph, places.__getitem__))
    sets = [frozenset(family) for family in network.families]
    assert {frozenset(family) for family in network.maximal_families} == {
        family for family in sets if not any(family < larger for larger in sets)
    }


def test_cycles_and_missing_tables_are_refused() -> None:
    domain = Domain(dict.fromkeys("abc", ("0", "1")))
    with pytest.raises(ValueError, match=r"without cycles, found (a -> b|b -> c|c -> a)"):
        BayesianNetwork(domain, {"b": "a", "c": "b", "a": "c"})
    with pytest.raises(ValueError, match="different parents of b, found a, a"):
        BayesianNetwork(domain, {"b": ("a", "a")})
    with pytest.raises(ValueError, match="found one from a to itself"):
        dependency_graph(domain, [("a", "a")])
    with pytest.raises(ValueError, match="a table that covers a, b, found none"):
        BayesianNetwork(domain, {"b": "a"}).fit([Marginal.uniform(domain, ["a", "c"])])


def test_triangulation(random: Random) -> None:
    domain = random.domain(attributes=8)
    graph = random.graph(domain, density=float(random.generator.uniform(0.1, 0.7)))
    neighbours, cliques = triangulate(domain, graph)
    given, chordal = nx.from_dict_of_lists({**graph}), nx.from_dict_of_lists({**neighbours})
    assert nx.is_chordal(chordal)
    assert set(map(frozenset, given.edges)) <= set(map(frozenset, chordal.edges))
    assert {frozenset(clique) for clique in cliques} == {
        frozenset(clique) for clique in nx.find_cliques(chordal)
    }
    if nx.is_chordal(given):
        assert chordal.number_of_edges() == given.number_of_edges()
    assert triangulate(domain, graph)[1] == cliques


def test_a_junction_tree_runs_through_every_attribute(random: Random) -> None:
    domain = random.domain(attributes=8)
    graph = random.graph(domain, density=float(random.generator.uniform(0.1, 0.5)))
    tree = junction_tree(domain, graph)
    forest: nx.Graph[int] = nx.Graph()
    forest.add_nodes_from(range(len(tree.cliques)))
    forest.add_edges_from((first, second) for first, second, _ in tree.edges)
    assert nx.is_forest(forest)
    assert all(
        set(shared) == {*tree.cliques[first]} & {*tree.cliques[second]}
        for first, second, shared in tree.edges
    )
    for name in domain.attributes:
        holders = [number for number, clique in enumerate(tree.cliques) if name in clique]
        assert nx.is_connected(forest.subgraph(holders))
    assert len({number for number, _ in tree.walk()}) == len(tree.cliques)


def test_a_junction_tree_is_cliques_over_separators(random: Random) -> None:
    domain = random.domain(attributes=6, most=3)
    tree = junction_tree(domain, random.graph(domain, density=0.35))
    joint = random.joint(domain)
    expected = Marginal((), np.array(1.0))
    for clique in tree.cliques:
        expected = expected * joint.project(clique)
    for shared in tree.separators:
        expected = expected / joint.project(shared)
    chain = tree.chain([joint.project(clique) for clique in tree.cliques])
    distribution = chain.distribution()
    assert distribution.distance(expected.project(domain.attributes)) < 1e-12
    assert all(
        distribution.project(clique).distance(joint.project(clique)) < 1e-12
        for clique in tree.cliques
    )
    # The same from explicit steps, attribute by attribute.
    steps = {
        number: [Step((name,), (*shared, *heads[:n]), joint) for n, name in enumerate(heads)]
        for number, shared in tree.walk()
        for heads in [[name for name in tree.cliques[number] if name not in shared]]
    }
    assert tree.chain_of_steps(steps).distribution().distance(distribution) < 1e-12


def test_maximum_entropy_is_the_junction_tree(random: Random) -> None:
    """For a chordal graph both are the product of the cliques over the separators."""
    domain = random.domain(attributes=5, most=3)
    tree = junction_tree(domain, random.graph(domain, density=0.4))
    joint = random.joint(domain)
    tables = [joint.project(clique) for clique in tree.cliques]
    fitted = fit(domain, domain.attributes, tables)
    assert fitted.distance(tree.chain(tables).distribution()) < 1e-7


def test_maximum_entropy_of_a_cycle(random: Random) -> None:
    """Three pairs of attributes: the marginals hold, and logarithms have no three-way term."""
    domain = Domain(dict.fromkeys("abc", ("0", "1", "2")))
    joint = random.joint(domain) * 0.9 + Marginal.uniform(domain, "abc") * 0.1
    tables = [joint.project(pair) for pair in combinations("abc", 2)]
    fitted = fit(domain, "abc", tables, sweeps=3000, tolerance=1e-13)
    assert all(fitted.project(table.attributes).distance(table) < 1e-9 for table in tables)
    logs = np.log(fitted.values)
    interactions = logs[1:, 1:] - logs[:-1, 1:] - logs[1:, :-1] + logs[:-1, :-1]
    assert np.abs(interactions[..., 1:] - interactions[..., :-1]).max() < 1e-5


def test_reconstruction() -> None:
    generator = np.random.default_rng(0)
    domain = Domain(dict.fromkeys("abcd", ("0", "1")))
    joint = Marginal(tuple("abcd"), generator.dirichlet(np.ones(16)).reshape(2, 2, 2, 2))
    estimates = [Estimate(joint.project(names), 1.0) for names in ("abc", "bcd", "ad")]
    assert reconstruct(domain, "cb", estimates).distance(joint.project("cb")) < 1e-12
    covered = reconstruct(domain, ("a", "b", "d"), estimates)
    for pair in ("ab", "bd", "ad"):
        assert covered.project(pair).distance(joint.project(pair)) < 1e-6
    noisy = [Estimate(Marginal(("a", "b"), np.array([[-1.0, -2], [-1, 0]])), 1.0)]
    assert (
        pytest.approx(np.array([[0.225, 0.125], [0.225, 0.325]]) + 0.025)
        == reconstruct(domain, "ba", noisy, total=10).values.T
    )
    with pytest.raises(ValueError, match="estimates that cover d, found none"):
        reconstruct(domain, "ad", estimates[:1])


def test_sets_within_sets() -> None:
    assert maximal([("a", "b"), ("b",), ("b", "a"), ("c",)]) == (("a", "b"), ("c",))


def cycle_graph(order: str) -> tuple[Domain, Any]:
    domain = Domain(dict.fromkeys(sorted(order), ("0", "1")))
    return domain, dependency_graph(
        domain, [(name, order[index - 1]) for index, name in enumerate(order)]
    )


def test_known_trees() -> None:
    domain, graph = cycle_graph("ABDEC")  # specification ldp.md, 7.16
    tree = junction_tree(domain, graph)
    assert [len(clique) for clique in tree.cliques] == [3, 3, 3]
    assert [len(shared) for shared in tree.separators] == [2, 2]
    sizes = {"A1": 2, "A2": 2, "A3": 3, "A4": 4, "A5": 3, "A6": 2}  # JTree's example 1
    domain = Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})
    edges = [("A1", "A2"), ("A2", "A3"), ("A3", "A5"), ("A5", "A4"), ("A4", "A2"), ("A4", "A6")]
    tree = junction_tree(domain, dependency_graph(domain, edges))
    # The chord is A2-A5, which the example allows: 18 and 24 cells instead of 24 and 36.
    assert tree.cliques == (("A1", "A2"), ("A2", "A3", "A5"), ("A2", "A4", "A5"), ("A4", "A6"))
    assert sorted(tree.separators) == [("A2",), ("A2", "A5"), ("A4",)]


def test_known_edges() -> None:
    """PrivIncr's example 5.1: above 0.045 are AB, AF, BD and CE."""
    domain = Domain(dict.fromkeys("ABCDEF", ("0", "1")))
    assert correlation_threshold(domain, "A", "B", phi=0.3) == pytest.approx(0.045)


def test_adult(adult: Any) -> None:
    """Specification ldp.md, 7.18; clldp-jtree.md, D21."""
    domain = adult.domain
    pairs = list(combinations(domain.attributes, 2))
    tables = [
        Marginal.of(domain, pair, cells)
        for pair, cells in zip(pairs, adult.marginals(pairs), strict=True)
    ]
    nats = {
        pair: mutual_information(table, pair[:1], base=np.e)
        for pair, table in zip(pairs, tables, strict=True)
    }

    def tree(phi: float, unit: float) -> Any:
        edges = [
            pair
            for pair in pairs
            if nats[pair] * unit >= correlation_threshold(domain, *pair, phi=phi)
        ]
        return junction_tree(domain, dependency_graph(domain, edges))

    bits = tree(0.3, 1 / np.log(2))
    places = {name: place for place, name in enumerate(domain.attributes)}
    assert {tuple(places[name] for name in clique) for clique in bits.cliques} == {
        (0, 5, 7, 14),
        (3, 4, 14),
        (5, 7, 9, 14),
        (6, 9, 14),
        (9, 12, 14),
        (10, 14),
        (1,),
        (2,),
        (8,),
        (11,),
        (13,),
    }
    jtree = tree(0.2, 1)
    assert len(jtree.cliques) == 10
    assert max(domain.cells(clique) for clique in jtree.cliques) == 1344
    assert sum(len(shared) > 0 for shared in jtree.separators) == len(jtree.edges)
