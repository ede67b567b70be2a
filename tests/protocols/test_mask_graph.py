"""The mask graph: its degree, its connectivity under coalitions, and the stated chance of failure.

Statistical tests have fixed seeds and fail by chance with a probability below 1e-9.
"""

from __future__ import annotations

import hashlib
from itertools import combinations
from math import comb

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Batch, with_curator
from sottovoce.privacy.laplace_shares import excess
from sottovoce.protocols.secure_sum.collusion import loss_by_view
from sottovoce.protocols.secure_sum.graph import Circle, degree, shuffle


def circle(parties: int, *, size: int) -> Circle:
    return Circle(tuple(range(1, parties + 1)), size)


def components(graph: Circle, *, without: set[int]) -> list[set[int]]:
    """List the connected components of the parties that are left, by a search."""
    left = set(graph.order) - without
    found = []
    while left:
        reached, fresh = set(), {min(left)}
        while fresh:
            reached |= fresh
            fresh = {
                other for party in fresh for other in graph.neighbours(party) if other in left
            } - reached
        found.append(reached)
        left -= reached
    return found


@pytest.mark.parametrize(("parties", "size"), [(7, 2), (8, 4), (9, 4), (10, 6)])
def test_fewer_than_d_parties_never_part_the_others(parties: int, size: int) -> None:
    """All coalitions are tried: below d none parts the rest, and some with d do."""
    graph = circle(parties, size=size)
    for number in range(size):
        for coalition in combinations(graph.order, number):
            assert len(components(graph, without=set(coalition))) == 1
    parting = [
        coalition
        for coalition in combinations(graph.order, size)
        if len(components(graph, without=set(coalition))) > 1
    ]
    assert parting
    # The worst case that is accounted for: one party alone.
    alone = {min(map(len, components(graph, without=set(coalition)))) for coalition in parting}
    assert 1 in alone


@pytest.mark.parametrize("parties", [3, 7, 12, 60])
def test_neighbours_are_neighbours_both_ways(parties: int) -> None:
    graph = Circle.of(parties=parties, colluding=1, seed=b"seed")
    pairs = {
        frozenset((party, other)) for party in graph.order for other in graph.neighbours(party)
    }
    assert len(pairs) == graph.edges
    for party in graph.order:
        others = graph.neighbours(party)
        assert len(set(others)) == graph.degree
        assert party not in others
        assert all(party in graph.neighbours(other) for other in others)
        assert graph.after(party) in others
        assert graph.before(graph.after(party)) == party


def test_the_chance_that_a_random_third_parts_the_others_is_as_stated() -> None:
    """A small degree, so that failures are seen, against the bound by the union of events."""
    parties, size, rounds = 30, 6, 20_000
    graph, generator = circle(parties, size=size), np.random.default_rng(5)
    failures = 0
    for _ in range(rounds):
        coalition = set(generator.permutation(parties)[: parties // 3] + 1)
        failures += len(components(graph, without=coalition)) > 1
    bound = comb(parties, 2) / 3**size
    assert 0 < failures <= rounds * bound
    # Without the union bound's slack the chance is lower, but not by orders of magnitude.
    assert failures > rounds * bound / 100


@pytest.mark.parametrize("parties", [2, 3, 30, 33, 34, 100, 300, 1000, 5000])
def test_the_degree_keeps_the_stated_bound(parties: int) -> None:
    size = degree(parties=parties, colluding=1)
    if size < parties - 1:
        assert size % 2 == 0
        assert comb(parties, 2) * 2**40 <= 3**size
        assert comb(parties, 2) * 2**40 > 3 ** (size - 2)  # not more than is needed
    else:
        assert size == parties - 1
        assert parties < 36


def test_the_degree_exceeds_the_collusion_threshold() -> None:
    for colluding in (0, 1, 37, 38, 39, 60, 199):
        assert degree(parties=200, colluding=colluding) > min(colluding, 198)


def test_small_graphs_stand_in_the_order_of_ranks() -> None:
    """All pairs share masks there, so nothing needs to be drawn."""
    assert Circle.of(parties=5, colluding=1, seed=b"any").order == (1, 2, 3, 4, 5)
    large = Circle.of(parties=100, colluding=1, seed=b"any")
    assert sorted(large.order) == list(range(1, 101))
    assert large.order != Circle.of(parties=100, colluding=1, seed=b"other").order
    assert large == Circle.of(parties=100, colluding=1, seed=b"any")


def test_the_order_costs_a_password_hash() -> None:
    """A search for a job that suits a coalition pays for scrypt, of another library here."""
    key = hashlib.scrypt(b"job", salt=b"sottovoce mask graph v2", n=2**14, r=8, p=1, dklen=32)
    order = shuffle(RandomStream(key), size=100)
    assert Circle.of(parties=100, colluding=1, seed=b"job").order == tuple(i + 1 for i in order)


def test_the_accounted_loss_is_the_worst_coalitions() -> None:
    """With the curator, d parties leave one party's share alone; fewer leave all outside."""
    batch = Batch(cells=1, sensitivity=2, epsilon=0.5, rows=10, parties=100, colluding=1)
    seen = loss_by_view(batch, aggregator="paillier", noise="shares")
    size = degree(parties=100, colluding=1)

    def loss(shares: int) -> float:
        return 0.5 * excess(rate=0.25, shape=shares / 99)

    assert seen[with_curator(1)].epsilon == 0.5
    assert 32 < size <= 48  # sizes of coalitions that are listed
    assert seen[with_curator(32)].epsilon == pytest.approx(loss(100 - 32))
    assert seen[with_curator(48)].epsilon == pytest.approx(loss(1))
    assert seen == loss_by_view(batch, aggregator="masks", noise="shares")


def test_the_shuffle_is_uniform() -> None:
    stream = RandomStream(b"s" * 32)
    counts: dict[tuple[int, ...], int] = {}
    rounds = 24_000
    for _ in range(rounds):
        order = tuple(shuffle(stream, size=4))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    # Each is Binomial(24000, 1/24): seven standard deviations are 217.
    assert all(abs(count - 1000) < 217 for count in counts.values())


@pytest.mark.parametrize("parties", [2, 10, 40, 200, 5000])
@pytest.mark.parametrize("colluding", [0, 1, 31, 34, 36, 37, 38, 80, 81])
def test_the_degree_is_the_least_that_is_safe(parties: int, colluding: int) -> None:
    """It is even, more than those who may collude, and safe against a third drawn at random."""
    safe = [
        size
        for size in range(0, 2 * colluding + 100, 2)
        if size > colluding and comb(parties, 2) * 2**40 <= 3**size
    ]
    assert degree(parties=parties, colluding=colluding) == min(safe[0], parties - 1)
