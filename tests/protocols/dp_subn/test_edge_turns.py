"""The turns of phase 2: who chooses when, how choices are merged, and the rounds of a run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Curator
from sottovoce.messages import encoded_size
from sottovoce.parties import Party, read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.cost import Public
from sottovoce.protocols.dp_subn.cost import predict_choices
from sottovoce.protocols.dp_subn.forest import Forest
from sottovoce.protocols.dp_subn.initial import (
    MAX_TURNS,
    choose_edges,
    choosing_circle,
    merge_edges,
    quotas,
    receive_edges,
    turns_of,
)
from sottovoce.protocols.dp_subn.messages import Messages
from sottovoce.protocols.secure_sum import SumOptions
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

Converse = Callable[..., Any]


@pytest.mark.parametrize("edges", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("parties", [1, 3, 5, 6, 7, 30, 100])
def test_every_edge_has_one_party_that_may_choose_it(parties: int, edges: int) -> None:
    circle = Circle.of(parties=parties, colluding=1, seed=b"seed")
    turns = turns_of(circle, edges=edges)
    choosing = [party for turn in turns for party in turn]
    assert choosing == [*circle.order[: min(parties, edges, 40 if parties == 100 else edges)]]
    assert len(turns) == min(MAX_TURNS, parties, edges)
    assert max(map(len, turns)) - min(map(len, turns)) <= 1
    assert sum(quotas(edges, parties=len(choosing))) == edges
    assert min(quotas(edges, parties=len(choosing))) >= 1


@pytest.mark.parametrize("parties", [2, 7, 33, 34, 50, 100, 300])
@pytest.mark.parametrize("colluding", [0, 1, 30])
def test_choices_travel_between_neighbours_alone(parties: int, colluding: int) -> None:
    """Every hop has a sealed channel, however many edges there are."""
    circle = Circle.of(parties=parties, colluding=min(colluding, parties - 1), seed=b"seed")
    for edges in (1, 6, 13, 61, 99, 500):
        turns = turns_of(circle, edges=edges)
        for senders, receivers in pairwise(turns):
            for sender in senders:
                assert {*receivers} <= {*circle.neighbours(sender)}


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("parties", [2, 4, 5, 8, 13])
@pytest.mark.parametrize("edges", [1, 4, 7, 20])
def test_every_sender_and_receiver_of_choices_is_forecast(
    parties: int, edges: int, lasting: bool
) -> None:
    """Messages by hand: one from each party of a turn to each of the next, or by the curator."""
    options: Any = SumOptions(aggregator="masks", colluding=1)
    public = Public(parties=parties, rows=900, key_bits=2048, domain=None, lasting=lasting)
    lines = predict_choices(
        None, edges=edges, pairs=[("a", "b"), ("a", "c")], options=options, public=public
    )
    sizes = [
        len(turn)
        for turn in turns_of(Circle.of(parties=parties, colluding=1, seed=b""), edges=edges)
    ]
    if lasting:
        expected = {"Chosen": sum(sizes), "ChosenBefore": sum(sizes[1:])}
    else:
        expected = {"Chosen": sum(a * b for a, b in pairwise([*sizes, 1]))}
    expected = {kind: number for kind, number in expected.items() if number}
    assert {line.kind: line.messages for line in lines} == expected
    for line in lines:
        assert sum(hop.messages for hop in line.hops) == line.messages


def test_choices_are_forecast_to_the_byte_where_names_are_equally_long() -> None:
    """Before the run: the first of two parties sends its share of pairs, and the second all."""
    domain = Domain(dict.fromkeys(("aa", "bb", "cc", "dd", "ee", "ff"), ("x", "y")))
    parameters = {"init": "forest", "aggregator": "masks", "epsilon": 2.0}
    protocol: Any = instantiate(Job(protocol="dp-subn", parameters=parameters, parties=2))
    public = Public(parties=2, rows=10**5, key_bits=2048, domain=domain)
    (chosen,) = (line for line in protocol.predict(public) if line.kind == "Chosen")
    edges = protocol.plan(domain, rows=10**5, parties=2).edges
    pairs = accumulate(quotas(edges, parties=2))
    sizes = [encoded_size(Messages.Chosen((("aa", "bb"),) * number)) for number in pairs]
    assert chosen.payload_bytes == sum(sizes)


def test_merged_choices_are_a_forest() -> None:
    """Of edges that close a circle together the later ones are dropped, and no edge is twice."""
    lists = [[("a", "b"), ("b", "c")], [("a", "b"), ("a", "c")], [("a", "b"), ("c", "d")]]
    assert merge_edges(lists) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert merge_edges([]) == merge_edges([[], []]) == []


def test_parties_of_one_turn_divide_the_candidates(converse: Converse) -> None:
    """Seven parties and seven edges: two turns have two parties. The strong edges are all found."""
    names = [f"{side}{index}" for index in range(7) for side in "xy"]
    generator = np.random.default_rng(3)
    tables = []
    for _ in range(7):
        columns = {}
        for index in range(7):
            bits = generator.integers(0, 2, 4000)
            columns[f"x{index}"] = bits
            columns[f"y{index}"] = np.where(generator.random(4000) < 0.9, bits, 1 - bits)
        tables.append(pd.DataFrame(columns).astype(str))

    def party(me: Party) -> None:
        with me.phase("initialisation"):
            choose_edges(
                me,
                me.records,
                edges=7,
                cell_noise=0.0,
                budget=Budget.pure(50.0),
                score="R",
                circle=Circle.of(parties=7, colluding=1, seed=b""),
            )

    def curator(desk: Curator) -> Any:
        with desk.phase("initialisation"):
            return receive_edges(
                desk, turns=turns_of(Circle.of(parties=7, colluding=1, seed=b""), edges=7)
            )

    schema = read_schema({name: ["0", "1"] for name in names})
    talk = converse(party, curator, parties=7, tables=tables, schema=schema, kinds=Forest.kinds())
    found = {frozenset(edge) for edge in talk.curator}
    strong = {frozenset((f"x{index}", f"y{index}")) for index in range(7)}
    # A party that has no strong edge among its candidates chooses another one.
    assert len(found & strong) >= 5
    for number in range(1, 8):
        releases = talk.party(number).accountant.releases
        assert sum(release.epsilon for release in releases) == pytest.approx(50.0)


def test_a_hundred_parties_take_at_most_twelve_rounds() -> None:
    done = sottovoce.run(
        "dp-subn", parties=100, rows=4000, epsilon=20.0, aggregator="masks", judge=False
    )
    assert done.report["communication"]["rounds"] <= 12
    # All five turns of phase 2 were played.
    assert "Chosen" in set(done.ledger["kind"])
    assert done.report["communication"]["rounds"] > 7


@pytest.mark.parametrize("degree", [2, 4, 5])
@pytest.mark.parametrize("left", [6, 5, 3, 2, 1])
def test_of_a_circle_those_who_are_left_have_no_more_neighbours_than_there_are(
    degree: int, left: int
) -> None:
    circle = Circle((4, 1, 6, 2, 5, 3), degree)
    smaller = choosing_circle(circle, range(1, left + 1))
    assert smaller.order == tuple(party for party in circle.order if party <= left)
    assert smaller.degree == min(degree, left - 1)
