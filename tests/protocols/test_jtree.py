"""JTree: its examples, its errata, the privacy of its choices, and runs of one holder and of
many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import (
    Curator,
    Estimate,
    Marginal,
    correlation_threshold,
    dependency_graph,
    junction_tree,
)
from sottovoce.curator.estimates import intersections
from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.messages import MessageError, UsageError
from sottovoce.messages.message import message_fields
from sottovoce.parties import Party, Records, Schema, read_schema
from sottovoce.privacy import Domain
from sottovoce.privacy.sensitivity import mutual_information_sensitivity
from sottovoce.protocols.jtree import JTree
from sottovoce.protocols.jtree.choosing import counted_votes, grow, grow_tree, highest, pairs_of
from sottovoce.protocols.jtree.protocol import JTree as Protocol
from sottovoce.protocols.jtree.scores import (
    away,
    away_by_chance,
    information,
    r_of,
    sample_size,
    sampled_epsilon,
)
from sottovoce.protocols.jtree.settings import Choices, settle
from sottovoce.protocols.jtree.structure import Structured
from sottovoce.protocols.jtree.tables import agreeing, as_printed, believed


class TestJTree(ProtocolConformance):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks"}
    rows = 600


class TestJTreeByOneHolder(ProtocolConformance):
    protocol = "jtree"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "clear"}
    rows = 600


class TestJTreeByVotes(ProtocolConformance):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks", "together": "votes"}
    rows = 600


class TestJTreeCorrected(ProtocolConformance):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks", "structure": "laplace"}
    rows = 600


class TestJTreeAsPrinted(ProtocolConformance):
    protocol = "jtree"
    mode = "paper"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"phi": 0.9, "noise": "shares"}
    rows = 600


SIX = Domain(
    {name: tuple("abcd"[:size]) for name, size in zip("123456", (2, 2, 3, 4, 3, 2), strict=True)}
)


def records(table: pd.DataFrame, schema: Schema) -> Records:
    return Records(table, schema=schema)


def random_records(generator: np.random.Generator, *, rows: int, sizes: tuple[int, ...]) -> Records:
    names = [f"a{at}" for at in range(len(sizes))]
    schema = read_schema(
        {name: list(map(str, range(size))) for name, size in zip(names, sizes, strict=True)}
    )
    codes = {
        name: generator.integers(0, size, rows).astype(str)
        for name, size in zip(names, sizes, strict=True)
    }
    return records(pd.DataFrame(codes), schema)


def test_example_1() -> None:
    """Figure 1: the circle 2-3-5-4 gets a chord, and four cliques are left."""
    edges = [("1", "2"), ("2", "3"), ("2", "4"), ("3", "5"), ("4", "5"), ("4", "6")]
    tree = junction_tree(SIX, dependency_graph(SIX, edges))
    sets = {"".join(own) for own in tree.cliques}
    assert len(tree.cliques) == 4
    assert {"12", "46"} < sets
    assert sets - {"12", "46"} in ({"234", "345"}, {"235", "245"})


def test_sample_sizes() -> None:
    """B1: what the paper's choice comes to; of 0.5 it is no sample (J9)."""
    assert sample_size(88_162, epsilon=0.1, binary=True) == 46_863
    assert sample_size(619_418, epsilon=0.1, binary=True) == 398_903
    assert sample_size(1000, epsilon=1.0, binary=False) == 1000
    assert sampled_epsilon(0.1, rate=0.452) == pytest.approx(0.209, abs=5e-4)
    assert sampled_epsilon(0.5, rate=1.0) == pytest.approx(0.5)


def test_sensitivity_of_information() -> None:
    assert mutual_information_sensitivity(45_222, binary=False, base=np.e) == pytest.approx(
        4.8764724e-4, rel=1e-7
    )
    assert mutual_information_sensitivity(5, binary=False, base=np.e) == pytest.approx(
        0.7638170, rel=1e-7
    )
    assert mutual_information_sensitivity(1000, binary=True, base=np.e) == pytest.approx(
        0.0079072551, rel=1e-8
    )
    assert mutual_information_sensitivity(45_222, binary=True, base=np.e) == pytest.approx(
        2.5915103e-4, rel=1e-7
    )


def test_amplification_by_sampling_is_of_other_neighbours() -> None:
    """J2: a table of one record, sampled at 0.5, then randomised response; nothing, where nobody
    was sampled.

    One record replaced: the ratio stays e. What theorem 2 says holds for a record more or less.
    """
    claimed = np.log1p(0.5 * (np.e - 1))
    p = np.e / (np.e + 1)
    yes, no = 0.5 * p, 0.5 * (1 - p)  # the answer "1" on the record 1, and on the record 0
    assert np.log(yes / no) == pytest.approx(1.0)
    assert claimed == pytest.approx(np.log(1.859), abs=1e-3)


def neighbours(generator: np.random.Generator, *, rows: int) -> tuple[Records, Records]:
    """Two tables that differ in one record."""
    table = pd.DataFrame(
        {name: generator.integers(0, size, rows).astype(str) for name, size in (("x", 3), ("y", 4))}
    )
    schema = read_schema({"x": ["0", "1", "2"], "y": ["0", "1", "2", "3"]})
    other = table.copy()
    other.loc[int(generator.integers(rows))] = [
        str(generator.integers(3)),
        str(generator.integers(4)),
    ]
    return records(table, schema), records(other, schema)


@pytest.mark.parametrize("rows", [2, 3, 7, 20])
def test_scores_change_by_no_more_than_their_sensitivity(rows: int) -> None:
    """`away` of published margins by 1 / n, R by 3 / n + 2 / n^2; and these are reached, or
    nearly.
    """
    generator = np.random.default_rng(rows)
    pairs: list[tuple[str, str]] = [("x", "y")]
    worst = {"away": 0.0, "r": 0.0}
    for _ in range(400):
        one, other = neighbours(generator, rows=rows)
        margins = {
            "x": generator.dirichlet(np.full(3, 0.5)),
            "y": generator.dirichlet(np.full(4, 0.5)),
        }
        worst["away"] = max(
            worst["away"], abs(float(away(one, pairs, margins)[0] - away(other, pairs, margins)[0]))
        )
        worst["r"] = max(worst["r"], abs(float(r_of(one, pairs)[0] - r_of(other, pairs)[0])))
    assert 0.8 / rows < worst["away"] <= 1 / rows + 1e-12
    assert worst["r"] <= 3 / rows + 2 / rows**2 + 1e-12


def test_how_far_rows_are_by_chance() -> None:
    """The mean over independent tables, to within 2 per cent and 5 standard deviations."""
    generator = np.random.default_rng(1)
    margins = {"a0": np.array([0.2, 0.3, 0.5]), "a1": np.full(4, 0.25)}
    found = []
    for _ in range(400):
        cells = generator.multinomial(500, np.outer(margins["a0"], margins["a1"]).reshape(-1)) / 500
        found.append(
            float(np.abs(cells - np.outer(margins["a0"], margins["a1"]).reshape(-1)).sum()) / 2
        )
    expected = float(away_by_chance([("a0", "a1")], margins, rows=500)[0])
    assert np.mean(found) == pytest.approx(
        expected, rel=0.02 + 5 * float(np.std(found)) / 20 / expected
    )


def test_information_is_in_nats() -> None:
    own = random_records(np.random.default_rng(2), rows=50, sizes=(2, 3))
    p = own.marginal(["a0", "a1"]).reshape(2, 3) / 50
    product = np.outer(p.sum(1), p.sum(0))
    assert information(own, [("a0", "a1")])[0] == pytest.approx(
        float((p[p > 0] * np.log((p / product)[p > 0])).sum())
    )


def settings(**more: Any) -> Any:
    parties = more.pop("parties", 1)
    mode = more.pop("mode", "rigorous")
    domain = more.pop("domain", SIX)
    return settle(
        Choices(**more), domain=domain, mode=mode, parties=parties, colluding=min(1, parties - 1)
    )


def test_budgets_add_up() -> None:
    for more in (
        {},
        {"epsilon": 0.2},
        {"parties": 4},
        {"structure": "top"},
        {"structure": "laplace", "parties": 3},
    ):
        own = settings(**more)
        assert own.one_way + own.graph + own.counts == pytest.approx(more.get("epsilon", 1.0))
        assert own.left(0) == own.counts
        spent = own.picks + own.extra
        assert own.left(spent) == pytest.approx(own.counts)
        if own.structure == "tree":
            assert own.left(1) == pytest.approx(own.counts + own.graph - own.of_a_pick)
    paper = settings(mode="paper", epsilon=0.1)
    assert (paper.graph, paper.counts) == (pytest.approx(0.05), pytest.approx(0.05))
    paper = settings(mode="paper", epsilon=0.8)
    assert (paper.graph, paper.counts, paper.printed) == (
        pytest.approx(0.1),
        pytest.approx(0.7),
        True,
    )


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"structure": "threshold"}, "in mode paper, found mode rigorous: no epsilon holds"),
        ({"mode": "paper", "structure": "top"}, "found top, which the paper does not have"),
        (
            {"mode": "paper", "parties": 3},
            "expected one trusted holder in mode paper, found 3 parties: --parties 1",
        ),
        ({"structure": "top", "one_way": 0.2}, "one_way with structure=tree"),
        ({"together": "votes"}, "together with structure=tree and several parties"),
        ({"edges": 16}, "edges from 1 to all pairs of 6 attributes, found 16"),
        ({"usefulness": 0.0}, "a usefulness above 0, found 0"),
        ({"one_way": 0.8, "graph": 0.3}, "shares of epsilon that leave some for the tables"),
    ],
)
def test_what_cannot_be(more: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        settings(**more)


def test_a_tree_grows_by_the_best_edges() -> None:
    """Without noise: the maximum spanning tree of the values above the bound, then edges that close
    triangles.
    """
    generator = np.random.default_rng(3)
    pairs = pairs_of(SIX)
    for _ in range(20):
        values = generator.normal(0.2, 0.3, len(pairs))
        s = settings(edges=len(pairs))
        found = grow_tree(SIX, pairs, s, rows=1000, chosen=highest(values, above=0.0))
        # Kruskal, by hand.
        part, expected = {name: {name} for name in SIX.attributes}, []
        for at in np.argsort(-values):
            one, other = pairs[at]
            if values[at] > 0 and part[one] is not part[other]:
                expected.append((one, other))
                joined = part[one] | part[other]
                part |= dict.fromkeys(joined, joined)
        assert found == expected
    star = [("1", "2"), ("1", "3")]
    values = np.array(
        [1.0 if pair in star else 0.5 if pair == ("2", "3") else -1.0 for pair in pairs]
    )
    s = settings()
    assert s.extra
    assert grow_tree(SIX, pairs, s, rows=10**6, chosen=highest(values, above=-2.0))[:2] == star
    forced = iter([pairs.index(("1", "2")), pairs.index(("1", "3"))])
    steps: list[list[tuple[str, str]]] = []

    def chosen(candidates: Any) -> int | None:
        steps.append([pairs[at] for at in candidates])
        return next(forced, None)

    grow_tree(SIX, pairs, s, rows=1000, chosen=chosen)
    assert ("1", "2") not in steps[1]
    assert ("2", "3") not in steps[2]  # it would close a circle, while trees can be joined


def test_cliques_are_bounded() -> None:
    """J11: of a complete graph what fits; the paper's has a clique of all attributes."""
    every = pairs_of(SIX)
    for most in (6, 12, 24, 288):
        edges = grow(SIX, every, most_cells=most)
        assert max(map(SIX.cells, junction_tree(SIX, dependency_graph(SIX, edges)).cliques)) <= max(
            most, 4
        )
    assert grow(SIX, every, most_cells=288) == every


def test_votes_count_by_rows() -> None:
    s = settings(parties=2, edges=2)
    pairs = pairs_of(SIX)
    votes = counted_votes(SIX, {1: [pairs[0], pairs[1]], 2: [pairs[1]]}, {1: 100, 2: 300}, s)
    assert votes[0] == pytest.approx(0.25)
    assert votes[1] == pytest.approx(0.25 * 0.75 + 0.75)
    assert not votes[2:].any()


def clusters(generator: np.random.Generator, *, noise: float) -> list[Estimate]:
    truth = generator.dirichlet(np.full(2 * 3 * 4 * 2, 0.3)).reshape(2, 3, 4, 2) * 1000
    joint = Marginal(("a", "b", "c", "d"), truth)
    sets = [("a", "b"), ("b", "c"), ("b", "d"), ("a", "d")]
    return [
        Estimate(
            own.map(lambda values: values + generator.laplace(0, noise, values.shape)), 2 * noise**2
        )
        for own in (joint.project(one) for one in sets)
    ]


def disagreement(tables: list[Marginal]) -> float:
    """The largest L1 distance between two tables' marginals of what they share."""
    worst = 0.0
    for shared in intersections(own.attributes for own in tables):
        views = [own.project(shared) for own in tables if own.covers(shared)]
        worst = max(worst, *(2 * one.distance(other) for one, other in product(views, views)))
    return worst


def test_tables_agree_but_not_as_printed() -> None:
    """J5: to cut every table by itself after making all agree breaks it again."""
    generator = np.random.default_rng(4)
    noisy = clusters(generator, noise=20.0)
    fine, cut = agreeing(noisy, total=1000.0), as_printed(noisy, total=1000.0)
    assert disagreement(cut) > 50
    assert disagreement(fine) < disagreement(cut) / 4
    for own in (*fine, *cut):
        assert own.map(np.abs).total == pytest.approx(own.total) == pytest.approx(1000.0)


def test_clusters_are_believed_as_far_as_their_noise_allows() -> None:
    """Little noise: as measured. Much: the product of single attributes, which are known. In
    between better than either.
    """
    generator = np.random.default_rng(5)
    truth = generator.dirichlet(np.full(48, 2.0)).reshape(6, 8)
    joint = Marginal(("a", "b"), truth * 10_000)
    ones = [Estimate(joint.project((name,)), 1e-6) for name in ("a", "b")]
    product_of_both = joint.project(("a",)) * joint.project(("b",)) / 10_000

    def off(noise: float) -> tuple[float, float]:
        far = []
        for _ in range(20):
            noisy = Estimate(
                joint.map(lambda values: values + generator.laplace(0, noise, values.shape)),
                2 * noise**2,
            )
            far.append(
                [
                    (own[0] if own[0].attributes == ("a", "b") else own[-1]).distance(joint)
                    for own in (
                        believed([noisy], ones, total=10_000.0),
                        agreeing([noisy, *ones], total=10_000.0),
                    )
                ]
            )
        mean = np.mean(far, axis=0)
        return float(mean[0]), float(mean[1])

    alone = product_of_both.distance(joint)
    assert off(0.01)[0] < 0.01 * alone
    assert off(3000.0)[0] < 1.3 * alone
    ours, plain = off(60.0)
    assert ours < min(plain, alone)


def run(**more: Any) -> Any:
    given: dict[str, Any] = {
        "parties": 1,
        "aggregator": "clear",
        "epsilon": 1.0,
        "judge": False,
        **more,
    }
    return sottovoce.run("jtree", "demo", rows=3000, seed=1, **given)


@pytest.mark.parametrize(
    "more",
    [
        {"structure": "top"},
        {"structure": "svt", "least": 0.02},
        {"structure": "laplace"},
        {"structure": "gauss"},
        {"structure": "top", "parties": 3, "aggregator": "masks"},
        {"structure": "svt", "parties": 2, "aggregator": "masks"},
        {"structure": "gauss", "parties": 3, "aggregator": "masks"},
        {"epsilon": 0.2, "parties": 3, "aggregator": "masks"},
        {"together": "votes", "parties": 2, "aggregator": "masks"},
        {"mode": "paper", "phi": 0.6, "noise": "shares"},
    ],
)
def test_every_structure_runs(more: dict[str, Any]) -> None:
    made = run(**more)
    report = made.report
    assert len(made.synthetic) == 3000
    claimed = report["privacy"]["claimed_epsilon"]
    seen = report["privacy"]["epsilon"]["public"]
    if more.get("mode") == "paper":
        assert seen == "infinity"
        assert any("not differentially private" in text for text in report["warnings"])
    else:
        # Who has not made all choices has not spent all.
        assert (
            claimed
            * (0.85 if more.get("together") == "votes" or more.get("epsilon") == 0.2 else 1 - 1e-6)
            < seen
        )
        assert seen <= claimed * (1 + 1e-9)
    assert report["privacy"]["delta"] == (1e-6 if more.get("structure") == "gauss" else 0)
    for line in report["communication"]["predicted"]:
        assert (line["messages"], line["payload_bytes"]) == (
            line["measured_messages"],
            line["measured_payload_bytes"],
        )


def test_components_share_the_budget() -> None:
    """J6: of a forest every tree's clusters are in one batch; given all of epsilon each, they would
    cost a multiple.
    """
    made = run(structure="top", edges=2, epsilon=3.0)
    releases = [own for own in made.report["privacy"]["releases"] if own["phase"] == "clusters"]
    assert len(releases) == 1
    assert len(made.model["clusters"]) > 3
    assert sum(own["epsilon"] for own in made.report["privacy"]["releases"]) == pytest.approx(3.0)


def test_unused_choices_are_not_lost() -> None:
    """Of independent attributes a tree stops early, and the clusters get what it has not used."""
    generator = np.random.default_rng(6)
    table = pd.DataFrame({f"a{at}": generator.integers(0, 3, 2000).astype(str) for at in range(6)})
    schema = {f"a{at}": ["0", "1", "2"] for at in range(6)}
    made = sottovoce.run(
        "jtree",
        table,
        schema=schema,
        parties=1,
        aggregator="clear",
        epsilon=1.0,
        seed=1,
        judge=False,
    )
    used = [own for own in made.report["privacy"]["releases"] if own["phase"] == "graph"]
    s = settings(epsilon=1.0, domain=read_schema(schema).domain)
    assert len(used) < s.picks + s.extra
    assert made.model["epsilon of clusters"] == pytest.approx(s.left(len(used)))


def test_a_curator_that_tells_parties_different_things(monkeypatch: pytest.MonkeyPatch) -> None:
    """Party 1's noise would be the least part of what the others' is not: their masks do not
    cancel.
    """
    broadcast = Curator.broadcast

    def forged(desk: Curator, said: Any, **more: Any) -> None:
        if type(said).__name__ != "Clusters":
            return broadcast(desk, said, **more)
        desk.send(said, to=1)
        return broadcast(desk, replaced(said, sets=said.sets[:1]), to=[2, 3])

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises(MessageError, match=r"masks that cancel|bytes from party"):
        run(parties=3, aggregator="masks", structure="top")


def test_one_row_and_much_budget() -> None:
    table = pd.DataFrame({"x": ["0"], "y": ["1"]})
    schema = {"x": ["0", "1"], "y": ["0", "1"]}
    given: dict[str, Any] = {"parties": 1, "mode": "paper", "aggregator": "clear", "seed": 1}
    for epsilon in (0.1, 1000.0):
        made = sottovoce.run("jtree", table, schema=schema, epsilon=epsilon, graph=0.9, **given)
        assert made.synthetic is not None
    with pytest.raises(
        UsageError, match="expected a finite number for parameter usefulness, found inf"
    ):
        run(usefulness=float("inf"))


def test_one_attribute_and_one_label() -> None:
    table = pd.DataFrame({"x": ["0", "1", "1", "0"] * 50, "one": ["a"] * 200})
    schema = {"x": ["0", "1"], "one": ["a"]}
    for structure, parties in product(("tree", "top", "laplace"), (1, 2)):
        given: dict[str, Any] = {
            "structure": structure,
            "aggregator": "masks" if parties > 1 else "clear",
        }
        made = sottovoce.run("jtree", table, schema=schema, parties=parties, seed=1, **given)
        if made.synthetic is not None:
            assert set(made.synthetic["one"]) == {"a"}
        assert made.judgement["utility"]["tvd"]["2"] < 0.1


def replaced(said: Any, **new: Any) -> Any:
    return type(said)(
        **{name: new.get(name, getattr(said, name)) for name in message_fields(type(said))}
    )


Forge = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("kind", "forge", "match"),
    [
        ("Margins", lambda said: replaced(said, cells=said.cells[:-1]), "counts, found"),
        ("Margins", lambda said: replaced(said, cells=-said.cells), "or some that cannot be"),
        (
            "Clusters",
            lambda said: replaced(said, epsilon=said.epsilon * 2),
            "expected clusters for epsilon",
        ),
        (
            "Clusters",
            lambda said: replaced(said, sets=(("age", "age"),)),
            "sets of different attributes, found age, age",
        ),
        (
            "Clusters",
            lambda said: replaced(said, sets=(("age", "nobody"),)),
            "sets of different attributes",
        ),
        ("Clusters", lambda said: replaced(said, sets=((),)), "found none"),
        (
            "Clusters",
            lambda said: replaced(said, sets=(("age",),) * 2),
            "expected different clusters, found one twice",
        ),
    ],
)
def test_a_party_refuses_what_cannot_be(
    kind: str, forge: Forge, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast = Curator.broadcast

    def forged(desk: Curator, said: Any, **more: Any) -> None:
        broadcast(desk, forge(said) if type(said).__name__ == kind else said, **more)

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises(MessageError, match=match):
        run()


@pytest.mark.parametrize(
    "forge",
    [
        lambda said: Structured.Edges(((0, 99),), 1),
        lambda said: Structured.Edges(((0, 0),), 1),
        lambda said: Structured.Edges(((1, 0),), 1),
        lambda said: Structured.Edges(said.pairs * 2, said.choices),
        lambda said: Structured.Edges(said.pairs, 999),
        lambda said: Structured.Edges(said.pairs, -1),
    ],
)
def test_the_curator_refuses_edges_that_cannot_be(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Party.send

    def forged(me: Party, said: Any, **more: Any) -> None:
        send(me, forge(said) if isinstance(said, Structured.Edges) else said, **more)

    monkeypatch.setattr(Party, "send", forged)
    with pytest.raises(MessageError, match=r"pairs of (15 )?attributes"):
        run(epsilon=8.0)


def test_the_protocol_is_found_by_its_name() -> None:
    assert JTree is Protocol
    assert JTree.name == "jtree"


ADULT = Path(os.environ.get("SOTTOVOCE_DATA", "nowhere")) / "adult" / "adult_jtree_coarse.csv.gz"


@pytest.mark.skipif(not ADULT.exists(), reason="needs SOTTOVOCE_DATA")
def test_graphs_of_adult_without_noise() -> None:
    """D21: 18 edges at phi = 0.2, 10 cliques, the largest of 1.34e3 cells; 38 edges at 0.1, 12 at
    0.3, 7 at 0.4.
    """
    table = pd.read_csv(ADULT).astype(str)
    schema = read_schema(
        {
            str(name): [str(code) for code in range(table[name].astype(int).max() + 1)]
            for name in table
        }
    )
    own = records(table, schema)
    pairs = list(combinations(schema.domain.attributes, 2))
    known = information(own, pairs)
    counts = {}
    for phi in (0.1, 0.2, 0.3, 0.4):
        edges = [
            pair
            for pair, nats in zip(pairs, known, strict=True)
            if nats >= correlation_threshold(schema.domain, *pair, phi=phi)
        ]
        counts[phi] = len(edges)
        if phi == 0.2:
            tree = junction_tree(schema.domain, dependency_graph(schema.domain, edges))
            assert len(tree.cliques) == 10
            assert max(map(schema.domain.cells, tree.cliques)) == 1344
    assert counts == {0.1: 38, 0.2: 18, 0.3: 12, 0.4: 7}
