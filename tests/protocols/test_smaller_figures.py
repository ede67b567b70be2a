"""Figures of estimates and bounds of tables that whole runs do not tell apart."""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Estimate, Marginal, dependency_graph, junction_tree
from sottovoce.curator.pair_tables import PairTables
from sottovoce.messages import UsageError
from sottovoce.privacy import Domain
from sottovoce.privacy.local import Randomizer, SymmetricUnary
from sottovoce.privacy.local.hashed_heads import HashedHeads
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.protocols.calm.design import covers, printed_family
from sottovoce.protocols.calm.reconstruction import PairReconstruction, PrintedReconstruction
from sottovoce.protocols.clldp.estimates import GroupEstimate
from sottovoce.protocols.jtree.growing import fitting
from sottovoce.protocols.lopub import protocol as lopub
from sottovoce.protocols.lopub.tables import Tables
from sottovoce.protocols.privincr.accumulation import AccumulatedTable, aggregate
from sottovoce.protocols.privincr.variant import round_questions

RANDOMIZERS: list[Randomizer] = [
    HeadsResponse(12, epsilon=1.0, belief=0.5, chosen=3),
    HashedHeads(12, epsilon=1.0, labels=2, belief=0.5, hashes=2),
    SymmetricUnary(12, epsilon=1.0),
]


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_a_cell_has_the_variance_of_its_randomizer(randomizer: Randomizer) -> None:
    """The conformance suite of local randomizers compares it with draws."""
    table = Marginal(("l", "a"), np.full((2, 6), 1 / 12))
    estimate = GroupEstimate(("a",), table, 70, randomizer)
    assert estimate.variance == pytest.approx(randomizer.variance(users=70))
    assert estimate.variance_of(2) > estimate.variance


@pytest.mark.parametrize("reconstruction", ["maximum-entropy", "least-squares"])
def test_attributes_of_one_label_have_an_axis_of_their_own(reconstruction: Any) -> None:
    """Their table is that of the others; without others it holds everything."""
    domain = Domain({"a": ("x", "y"), "one": ("z",), "b": ("p", "q", "r"), "only": ("w",)})
    joint = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])
    pairs = PairTables(
        singles={
            "a": Marginal(("a",), joint.sum(axis=1)),
            "b": Marginal(("b",), joint.sum(axis=0)),
        },
        pairs={("a", "b"): Marginal(("a", "b"), joint)},
        posteriors={},
    )
    tables = PairReconstruction(domain, pairs, reconstruction)
    for attributes, expected in (
        (("a", "one", "b"), joint[:, None, :]),
        (("b", "a"), joint.T),
        (("one", "b"), joint.sum(axis=0)[None, :]),
        (("a",), joint.sum(axis=1)),
        (("one", "only"), np.ones((1, 1))),
    ):
        found = tables.marginal(attributes)
        assert found.attributes == attributes
        assert np.asarray(found.values) == pytest.approx(expected)


@pytest.mark.parametrize("reconstruction", ["maximum-entropy", "least-squares"])
def test_printed_reconstruction_by_hand(reconstruction: Any) -> None:
    """Tables that agree stay, and entropy is largest where no table has both attributes."""
    domain = Domain({"a": ("x", "y"), "b": ("x", "y", "z"), "c": ("x", "y"), "d": ("x", "y")})
    generator = np.random.default_rng(6)
    b = generator.dirichlet(np.ones(3))
    left = generator.dirichlet(np.ones(2), size=3).T * b  # (a, b)
    right = generator.dirichlet(np.ones(2), size=3) * b[:, None]  # (b, c)
    answers: list[Any] = [
        SimpleNamespace(estimate=lambda _, table=table: Estimate(table, 1e-4))
        for table in (Marginal(("a", "b"), left), Marginal(("b", "c"), right))
    ]
    tables = PrintedReconstruction.of(domain, answers, reconstruction=reconstruction)
    for attributes, expected in (
        (("a", "b"), left),
        (("c", "b"), right.T),
        (("b",), b),
        (("d",), np.array([0.5, 0.5])),
    ):
        assert np.asarray(tables.marginal(attributes).values) == pytest.approx(expected)
    joined = np.asarray(tables.marginal(("a", "c")).values)
    assert joined.sum() == pytest.approx(1.0)
    if reconstruction == "maximum-entropy":
        assert joined == pytest.approx(np.outer(left.sum(axis=1), right.sum(axis=0)))


def test_the_covers_of_a_design_are_the_best_of_bounds_from_64_to_4096_cells() -> None:
    """Three attributes are in one set from the first bound on that holds their cells."""
    for size, is_one_set in ((4, True), (5, True), (16, True), (17, False)):
        domain = Domain({name: tuple(map(str, range(size))) for name in "abc"})
        for listed in (covers(domain), printed_family(domain, of=2, most=0, cells=0)):
            assert ([("a", "b", "c")] in [cover.sets for cover in listed]) == is_one_set
    mixed = Domain({"a": tuple(map(str, range(32))), **dict.fromkeys("bcd", ("x", "y"))})
    # With 64 cells three attributes of two labels are one set, and each has another one with a.
    expected = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c", "d")]
    assert expected in [sorted(cover.sets) for cover in covers(mixed)]


@pytest.mark.parametrize(("room", "times"), [(None, 1), (12, 1), (11, 3)])
def test_likelihoods_are_computed_once_if_there_is_room_for_them(
    room: int | None, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three tables need those of the first attribute; they have twelve numbers."""
    if room is not None:
        monkeypatch.setattr("sottovoce.protocols.lopub.tables.MAX_KEPT", room)
    computed: list[int] = []

    def likelihood(matches: int) -> Any:
        computed.append(matches)
        return np.random.default_rng(matches).random((4, 3))

    filters: Any = SimpleNamespace(
        frequencies=lambda ones, *, users: ones,
        signatures=lambda _: np.eye(3, dtype=np.uint8),
        likelihood=likelihood,
    )
    answers: Any = SimpleNamespace(ones=np.full((4, 3), 0.3), users=4, matches=range(4))
    tables = Tables(("a", "b", "c", "d"), filters, answers, "uniform", "plain", 2)
    for other in "bcd":
        assert tables.joint(("a", other)).attributes == ("a", other)
    assert computed.count(0) == times


@pytest.mark.parametrize(("cells", "is_refused"), [(24, False), (23, True)])
def test_the_largest_clique_of_lopub_is_bounded(
    cells: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a smaller one beside it, and a single attribute."""
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 2, "f": 5}
    domain = Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})
    edges = [*combinations("abc", 2), ("d", "e")]
    graph = junction_tree(domain, dependency_graph(domain, edges))
    pairs = {edge: Marginal.uniform(domain, edge) for edge in edges}
    tables: Any = SimpleNamespace(
        ones={}, joint=lambda clique: Marginal.uniform(domain, tuple(clique))
    )
    desk: Any = SimpleNamespace(domain=domain, progress=lambda *_, **__: None)
    me = lopub.LoPub(lopub.LoPubParameters(), mode="rigorous")
    monkeypatch.setattr(lopub, "MAX_CELLS", cells)
    if is_refused:
        with pytest.raises(UsageError, match="cliques with fewer"):
            me.cliques(desk, graph, tables, pairs)
    else:
        found = me.cliques(desk, graph, tables, pairs)
        assert sorted(table.attributes for table in found) == [("a", "b", "c"), ("d", "e"), ("f",)]


@pytest.mark.parametrize(("users", "weights"), [(0, {("a",): 1.0}), (10, {}), (0, {})])
def test_without_users_or_sets_nothing_is_asked(
    users: int, weights: dict[tuple[str, ...], float]
) -> None:
    domain = Domain({"a": ("x", "y")})
    make = partial(SymmetricUnary, epsilon=1.0)
    assert round_questions(domain, weights, users=users, randomizer=make) == []


@pytest.mark.parametrize("users", [1, 3, 100])
def test_sets_share_the_users_by_weight(users: int) -> None:
    """Every user is asked one question, and each set has its share but for less than one user."""
    domain = Domain(
        {name: tuple(map(str, range(size))) for name, size in zip("abc", (4, 2, 3), strict=True)}
    )
    weights = {("a", "b"): 5.0, ("b", "c"): 2.0, ("a",): 1.0}
    asked = round_questions(
        domain, weights, users=users, randomizer=partial(SymmetricUnary, epsilon=1.0)
    )
    assert sum(question.users for question in asked) == users
    sizes = {question.attributes: question.users for question in asked}
    assert all(abs(sizes.get(names, 0) - users * weights[names] / 8) < 1 for names in weights)
    assert all(question.randomizer.cells == domain.cells(question.attributes) for question in asked)
    assert min(sizes.values()) > 0


def test_a_fifth_of_the_users_report_their_leaf_where_there_are_two() -> None:
    """A tenth of the users is the sample; with two leaves a tree has something to be reported."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 5000)
    table = pd.DataFrame({"a": a, "label": a ^ (generator.random(5000) < 0.1)}).astype(str)
    run = sottovoce.run(
        "clldp-decision-tree", table, label="label", epsilon=6.0, seed=1, judge=False
    )
    first, last = json.loads(run.files["model.json"])["rounds"]
    assert last["ends"] == 2
    assert last["users"] == 900
    assert first["users"] == [3600]


def test_attributes_without_a_table_are_uniform() -> None:
    domain = Domain({"x": ("a", "b"), "y": ("c", "d", "e")})
    known = AccumulatedTable(Marginal(("x",), np.array([0.3, 0.7])), 1e-3, 1000)
    assert np.asarray(aggregate(domain, [known], ("x",)).values) == pytest.approx([0.3, 0.7])
    for attributes in (("y",), ("x", "y")):
        found = aggregate(domain, [known], attributes)
        assert found.attributes == attributes
        assert np.asarray(found.values) == pytest.approx(1 / domain.cells(attributes))


@pytest.mark.parametrize("attributes", [64, 65])
def test_all_pairs_of_64_attributes_are_tried(attributes: int) -> None:
    """Of more pairs as many are tried, those with the fewest cells."""
    sizes = [2 + (7 * place) % 13 for place in range(attributes)]
    domain = Domain({f"a{place}": tuple(map(str, range(size))) for place, size in enumerate(sizes)})
    pairs = [*combinations(domain.attributes, 2)]
    tried: list[int] = []

    def fits(index: int) -> bool:
        tried.append(index)
        return index % 2 == 0

    found = fitting(np.arange(len(pairs)), fits, domain=domain, pairs=pairs)
    assert tried == sorted(set(tried))
    assert found.tolist() == [index for index in tried if index % 2 == 0]
    assert len(tried) == 64 * 63 / 2
    cells = [domain.cells(pair) for pair in pairs]
    left_out = set(range(len(pairs))) - {*tried}
    assert len(left_out) == (0 if attributes == 64 else 64)
    assert max(cells[index] for index in tried) <= min((cells[i] for i in left_out), default=999)
