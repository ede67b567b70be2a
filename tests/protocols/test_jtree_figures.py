"""JTree's figures: budgets, scores, bounds and believed tables, each against a second computation.

The referees are known answers computed by hand, brute force cell by cell, and messages at their
boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import e, exp, log, pi, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Estimate, Marginal, dependency_graph, junction_tree
from sottovoce.messages import MessageError, UsageError
from sottovoce.parties import Records, read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.privacy.budget import Unit
from sottovoce.privacy.noisy_scores import gaussian_scores
from sottovoce.privacy.sensitivity import mutual_information_sensitivity
from sottovoce.protocols.jtree import budget as budgets
from sottovoce.protocols.jtree import tables as tables_module
from sottovoce.protocols.jtree import variant
from sottovoce.protocols.jtree.budget import (
    Parts,
    corrected_budget,
    is_low,
    printed_budget,
    tree_budget,
)
from sottovoce.protocols.jtree.graph_messages import (
    GraphMessages,
    count_votes,
    gather_edges,
    gather_scores,
    send_edges,
)
from sottovoce.protocols.jtree.growing import (
    Candidates,
    Fits,
    fitting,
    grow,
    grow_tree,
    highest,
)
from sottovoce.protocols.jtree.parameters import JTreeParameters
from sottovoce.protocols.jtree.printed import PrintedJTree, draw_sample, require_one
from sottovoce.protocols.jtree.ranking import RANKINGS
from sottovoce.protocols.jtree.score_sums import ScoreSum
from sottovoce.protocols.jtree.scores import (
    away,
    away_by_chance,
    information,
    pairs_of,
    penalties,
    r_of,
    sample_size,
    sampled_epsilon,
)
from sottovoce.protocols.jtree.tables import believed_tables
from sottovoce.protocols.jtree.tree import TreeJTree, receive_margins
from sottovoce.protocols.jtree.tree_search import distances, tree_search
from sottovoce.protocols.jtree.variant import merge_cliques, receive_clusters, trivial_tables
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumOptions

Converse = Callable[..., Any]


def domain_of(*sizes: int) -> Domain:
    """Make a domain of attributes a, b, c... with so many labels."""
    names = "abcdefghijkl"
    return Domain(
        {name: tuple(map(str, range(size))) for name, size in zip(names, sizes, strict=False)}
    )


def records_of(domain: Domain, codes: Sequence[Sequence[int]]) -> Records:
    schema = read_schema({name: list(labels) for name, labels in domain.labels.items()})
    columns = {
        name: [str(row[index]) for row in codes] for index, name in enumerate(domain.attributes)
    }
    return Records(pd.DataFrame(columns), schema=schema)


TEN = domain_of(*[2] * 10)


def parts_of(clusters: float, **more: Any) -> Parts:
    """Make parts of which only the clusters' tables have a budget."""
    nothing = Budget.pure(0.0)
    return Parts(
        single=nothing, graph=nothing, clusters=Budget.pure(clusters), inflation=1.0, **more
    )


@pytest.mark.parametrize(
    ("attributes", "epsilon", "shares", "joins", "triangles"),
    [
        (10, 1.0, (0.38, 0.1, 0.52), 7, 4),  # 10 * 4/3 / 2 = 6.7 and 0.4 * 10
        (6, 2.0, (0.38, 0.1, 0.52), 4, 2),
        (9, 0.35, (0.38, 0.1, 0.52), 6, 4),
        (10, 0.34, (0.55, 0.12, 0.33), 5, 0),  # a small epsilon: half the attributes
        (2, 1.0, (0.38, 0.1, 0.52), 1, 1),
        (1, 1.0, (0.38, 0.1, 0.52), 1, 0),
    ],
)
def test_the_budget_of_a_tree_by_hand(
    attributes: int,
    epsilon: float,
    shares: tuple[float, float, float],
    joins: int,
    triangles: int,
) -> None:
    parameters = JTreeParameters(epsilon=epsilon)
    assert is_low(Budget.pure(epsilon)) == (epsilon < 0.35)
    budget = tree_budget(
        parameters, Budget.pure(parameters.epsilon), domain=domain_of(*[3] * attributes), parties=1
    )
    parts = (budget.single.amount, budget.graph.amount, budget.clusters.amount)
    assert parts == pytest.approx(tuple(share * epsilon for share in shares))
    assert (budget.edges, budget.triangles) == (joins, triangles)
    assert (budget.usefulness, budget.inflation) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("attributes", "edges"), [(10, 13), (6, 8), (5, 7), (4, 5), (3, 3), (2, 1), (1, 1)]
)
def test_the_budget_of_a_ranking_by_hand(attributes: int, edges: int) -> None:
    """The edges are 4/3 of the attributes, but not more than there are pairs."""
    budget = corrected_budget(
        JTreeParameters(),
        Budget.pure(2.0),
        domain=domain_of(*[2] * attributes),
        parties=1,
        graph=0.3,
    )
    assert (budget.single.amount, budget.graph.amount) == pytest.approx((0.0, 0.6))
    assert budget.clusters.amount == pytest.approx(1.4)
    assert (budget.edges, budget.triangles) == (edges, 0)
    assert (budget.usefulness, budget.inflation) == (4.0, 1.0)


def test_what_a_user_sets_comes_before_the_default() -> None:
    parameters = JTreeParameters(epsilon=2.0, graph=0.4, one_way=0.25, edges=3, usefulness=0.5)
    tree = tree_budget(parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=1)
    parts = (tree.single.amount, tree.graph.amount, tree.clusters.amount)
    assert parts == pytest.approx((0.5, 0.8, 0.7))
    assert (tree.edges, tree.triangles, tree.usefulness) == (3, 0, 0.5)
    ranked = corrected_budget(
        parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=1, graph=0.1
    )
    assert (ranked.graph.amount, ranked.clusters.amount) == pytest.approx((0.8, 1.2))
    assert (ranked.edges, ranked.usefulness) == (3, 0.5)


@pytest.mark.parametrize(
    ("parties", "colluding", "factor"),
    [(1, 1, 1.0), (2, 1, sqrt(2)), (4, 1, sqrt(4 / 3)), (4, 2, sqrt(2)), (3, 9, sqrt(3))],
)
def test_colluding_parties_know_their_own_shares(
    parties: int, colluding: int, factor: float
) -> None:
    parameters = JTreeParameters(colluding=colluding)
    tree = tree_budget(parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=parties)
    ranked = corrected_budget(
        parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=parties, graph=0.2
    )
    assert tree.inflation == pytest.approx(factor)
    assert ranked.inflation == pytest.approx(factor)
    assert tree.noise_scale() == pytest.approx(16 / 0.52 * factor)


def test_the_bound_on_a_clique_by_hand() -> None:
    """Eight tables at epsilon 0.5 have the scale 2 * 8 / 0.5 = 32.

    With 3,200 rows a table of 25 cells has 128 rows in a cell, which is four scales.
    """
    budget = parts_of(0.5, edges=1, usefulness=4.0)
    assert budget.noise_scale() == 32
    assert budget.max_cells(3200) == pytest.approx(25.0)
    assert 3200 / budget.max_cells(3200) / budget.noise_scale() == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("one_way", "graph", "is_refused"), [(0.5, 0.5, True), (0.5, 0.49, False), (0.7, 0.6, True)]
)
def test_shares_leave_some_for_the_tables(one_way: float, graph: float, is_refused: bool) -> None:
    parameters = JTreeParameters(one_way=one_way, graph=graph)
    if is_refused:
        with pytest.raises(UsageError, match="leave some for the tables"):
            tree_budget(parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=1)
    else:
        assert tree_budget(
            parameters, Budget.pure(parameters.epsilon), domain=TEN, parties=1
        ).clusters.amount == pytest.approx(0.01)


def test_the_printed_budget_follows_a_share() -> None:
    assert printed_budget(JTreeParameters(epsilon=2.0, graph=0.25)) == pytest.approx((0.5, 1.5))
    assert printed_budget(JTreeParameters(epsilon=0.2)) == pytest.approx((0.1, 0.1))
    assert printed_budget(JTreeParameters(epsilon=0.05)) == pytest.approx((0.025, 0.025))


@pytest.mark.parametrize("usefulness", [-1.0, 0.0, float("inf")])
@pytest.mark.parametrize("variant_budget", [tree_budget, corrected_budget])
def test_a_usefulness_is_above_zero(usefulness: float, variant_budget: Any) -> None:
    more = {"graph": 0.2} if variant_budget is corrected_budget else {}
    with pytest.raises(UsageError, match="a usefulness above 0"):
        variant_budget(
            JTreeParameters(usefulness=usefulness),
            Budget.pure(1.0),
            domain=TEN,
            parties=1,
            **more,
        )


@pytest.mark.parametrize("structure", ["top", "svt", "laplace", "gauss"])
def test_a_graph_has_its_default_share(structure: Any) -> None:
    ranking = RANKINGS[structure]
    assert ranking.graph_share(parties=1) == 0.2
    assert ranking.graph_share(parties=2) == (0.3 if structure == "laplace" else 0.2)


def random_codes(generator: np.random.Generator, domain: Domain, *, rows: int) -> list[list[int]]:
    sizes = domain.shape(domain.attributes)
    return [[int(generator.integers(size)) for size in sizes] for _ in range(rows)]


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_a_loop_over_cells(seed: int) -> None:
    """R, the distance from given margins and I, each cell by cell."""
    generator = np.random.default_rng(seed)
    domain, rows = domain_of(2, 1, 3, 4), 12
    codes = random_codes(generator, domain, rows=rows)
    records = records_of(domain, codes)
    pairs = pairs_of(domain)
    assert pairs == [("a", "c"), ("a", "d"), ("c", "d")]  # b has a single label
    margins = {name: generator.dirichlet(np.full(domain.cells((name,)), 2.0)) for name in "acd"}
    for index, (left, right) in enumerate(pairs):
        x, y = domain.attributes.index(left), domain.attributes.index(right)
        own = dependent = nats = 0.0
        for i, j in product(range(domain.cells((left,))), range(domain.cells((right,)))):
            p = sum(row[x] == i and row[y] == j for row in codes) / rows
            p_i = sum(row[x] == i for row in codes) / rows
            p_j = sum(row[y] == j for row in codes) / rows
            dependent += abs(p - p_i * p_j) / 2
            own += abs(p - margins[left][i] * margins[right][j]) / 2
            nats += p * log(p / p_i / p_j) if p else 0.0
        assert r_of(records, pairs)[index] == pytest.approx(dependent)
        assert away(records, pairs, margins)[index] == pytest.approx(own)
        assert information(records, pairs)[index] == pytest.approx(nats)


@pytest.mark.parametrize(("unit", "part"), [("epsilon", 0.8), ("rho", 0.4)])
def test_penalties_by_hand(unit: Unit, part: float) -> None:
    """Half the scale of 12 cells over 600 rows, of which a part counts."""
    domain = domain_of(3, 4, 2)
    costs = penalties([("a", "b"), ("b", "c")], domain, noise_scale=30.0, rows=600, unit=unit)
    assert costs == pytest.approx([part * 12 * 30 / 600 / 2, part * 8 * 30 / 600 / 2])


def test_the_distance_by_chance_by_hand() -> None:
    """Four cells of probability 1/4 at 300 rows: each is off by sqrt(2 * 3/16 / (pi * 300))."""
    margins = {"a": np.array([0.5, 0.5]), "b": np.array([0.5, 0.5])}
    expected = 4 / 2 * sqrt(2 * 0.25 * 0.75 / (pi * 300))
    assert away_by_chance([("a", "b")], margins, rows=300) == pytest.approx([expected])


def test_distances_are_less_those_by_chance() -> None:
    domain = domain_of(2, 2)
    me: Any = SimpleNamespace(records=records_of(domain, [[0, 0], [0, 0], [1, 1], [1, 1]]))
    margins = {"a": np.array([0.5, 0.5]), "b": np.array([0.5, 0.5])}
    by_chance = 2 * sqrt(2 * 0.25 * 0.75 / (pi * 4))
    assert distances(me, [("a", "b")], margins) == pytest.approx([0.5 - by_chance])


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(("rows", "epsilon"), [(400, 0.1), (400, 0.02), (37, 0.3), (150, 2.0)])
def test_the_sample_size_has_the_least_noise(rows: int, epsilon: float, binary: bool) -> None:
    """Enumerate all sizes; the noise scale is the sensitivity over the budget on the sample."""

    def noise(size: int) -> float:
        budget = log(1 + (exp(epsilon) - 1) * rows / size)
        return mutual_information_sensitivity(size, binary=binary, base=e) / budget

    size = sample_size(rows, epsilon=epsilon, binary=binary)
    assert size == min(range(2, rows + 1), key=noise)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_of_few_rows_all_are_taken(rows: int) -> None:
    assert sample_size(rows, epsilon=0.1, binary=True) == rows


@pytest.mark.parametrize(("epsilon", "rate"), [(0.1, 0.3), (2.0, 0.5), (5.0, 0.01), (0.01, 1.0)])
def test_the_budget_on_a_sample(epsilon: float, rate: float) -> None:
    """Theorem 2, solved for the other side: sampling gives back what the sample may spend."""
    spent = sampled_epsilon(epsilon, rate=rate)
    assert log(1 + rate * (exp(spent) - 1)) == pytest.approx(epsilon)


def test_the_sample_has_the_rate_of_the_paper() -> None:
    """Of 4,000 rows a share is taken; it fails with probability 1e-6 by chance (5 deviations)."""
    domain, rows = domain_of(2, 2), 4000
    records = records_of(domain, [[0, 1]] * rows)
    generator = np.random.default_rng(1)
    stream: Any = SimpleNamespace(generator=lambda: generator)
    me: Any = SimpleNamespace(records=records, randomness=lambda _: stream)
    sample, epsilon = draw_sample(me, 0.1, True)
    rate = sample_size(rows, epsilon=0.1, binary=True) / rows
    assert 0.1 < rate < 0.9
    assert len(sample) == pytest.approx(rate * rows, abs=5 * sqrt(rows * rate * (1 - rate)))
    assert epsilon == pytest.approx(sampled_epsilon(0.1, rate=rate))


@pytest.mark.parametrize(("change", "steps"), [(1.0, 65), (3 + 2 / 64, 195), (0.5, 33), (1.01, 66)])
def test_rounding_adds_a_step_to_what_a_record_changes(change: float, steps: int) -> None:
    """One record changes a score by `change` and its whole number by 64 steps of it, rounded up.

    Two numbers that are rounded are apart by one step more at most.
    """
    batch = ScoreSum(changes=[change] * 6 + [2.0], budget=Budget.pure(0.3)).batch
    assert (batch.cells, batch.sensitivity) == (7, 6 * steps + 129)
    assert (batch.epsilon, batch.weight) == (0.3, 64)


def test_scores_are_averaged_by_rows(converse: Converse) -> None:
    """At a high epsilon the average is exact up to a step, and the noise is none."""
    scores = {1: np.array([0.5, 0.1, 0.0]), 2: np.array([0.25, 0.3, 1.0])}
    options = SumOptions(aggregator="clear")
    asked = ScoreSum(changes=[1.0] * 3, budget=Budget.pure(1e6))
    noisy = ScoreSum(changes=[1.0] * 3, budget=Budget.pure(0.5))

    def party(me: Any) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
        with me.phase("graph"):
            asked.contribute(scores[me.number], rows=len(me.records), sums=sums)
            noisy.contribute(scores[me.number], rows=len(me.records), sums=sums)

    def curator(desk: Any) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise="shares")
        with desk.phase("graph"):
            return asked.receive(sums), noisy.receive(sums), sums.variance(noisy.batch)

    tables = [pd.DataFrame({"x": range(rows)}) for rows in (100, 300)]
    (values, deviation), (_, noise), variance = converse(
        party, curator, parties=2, tables=tables
    ).curator
    average = (100 * scores[1] + 300 * scores[2]) / 400
    assert values == pytest.approx(average, abs=1 / 64 / 400)
    assert deviation < 1e-6
    # The shares of two parties make one Laplace noise of scale 195 / 0.5 steps, or more.
    assert noise == pytest.approx(sqrt(variance) / 64 / 400)
    assert noise >= sqrt(2) * 195 / 0.5 / 64 / 400 * 0.999


def test_ties_go_to_the_first_and_the_bound_is_strict() -> None:
    choose = highest(np.array([0.1, 0.7, 0.7, 0.3]), above=0.3)
    assert choose(np.arange(4), None) == 1
    assert choose(np.arange(1, 4), None) == 1
    assert choose(np.array([0, 3]), None) is None
    assert highest(np.array([0.31]), above=0.3)(np.array([0]), None) == 0
    # The best one that fits is chosen, and what is not above the bound is never tried.
    tried: list[int] = []

    def fits(index: int) -> bool:
        tried.append(index)
        return index == 3

    assert choose(np.arange(4), fits) is None
    assert tried == [1, 2]
    assert highest(np.array([0.1, 0.7, 0.7, 0.3]), above=0.2)(np.arange(4), fits) == 3


def test_a_clique_may_have_as_many_cells_as_the_bound() -> None:
    domain = domain_of(2, 3, 4)
    triangle = [("a", "b"), ("a", "c"), ("b", "c")]
    assert grow(domain, triangle, max_cells=24) == triangle
    assert grow(domain, triangle, max_cells=23.9) == triangle[:2]
    # An edge that is left out does not end the list.
    assert grow(domain, [("b", "c"), ("a", "b"), ("a", "c")], max_cells=8) == [
        ("a", "b"),
        ("a", "c"),
    ]
    budget = parts_of(1.0, edges=2, triangles=1, usefulness=1.0)
    by_order = highest(np.array([3.0, 2.0, 1.0]), above=0.0)
    for rows, edges in ((16 * 24, 3), (16 * 24 - 1, 2)):
        assert len(grow_tree(domain, budget, rows=rows, choose=by_order)) == edges


def test_a_triangle_is_of_two_neighbours() -> None:
    """Within a path a-b-c-d only ends of two edges in a row may be joined."""
    domain = domain_of(2, 2, 2, 2)
    pairs = pairs_of(domain)
    budget = parts_of(1.0, edges=3, triangles=2, usefulness=1e-9)
    asked: list[set[tuple[str, str]]] = []
    path = iter([("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d")])

    def choose(candidates: Candidates, fits: Fits) -> int | None:
        candidates = fitting(candidates, fits, domain=domain, pairs=pairs)
        asked.append({pairs[index] for index in candidates.tolist()})
        return pairs.index(next(path))

    edges = grow_tree(domain, budget, rows=1, choose=choose)
    assert edges == [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d")]
    assert asked[0] == set(pairs)
    assert asked[1] == set(pairs) - {("a", "b")}
    assert asked[2] == {("a", "d"), ("b", "d"), ("c", "d")}
    assert asked[3] == {("a", "c"), ("b", "d")}
    assert asked[4] == {("b", "d"), ("a", "d")}


def test_where_no_part_is_left_triangles_follow() -> None:
    """Where all is joined the remaining joins are skipped, and a choice of none ends the search."""
    domain = domain_of(2, 2, 2)
    budget = parts_of(1.0, edges=5, triangles=1, usefulness=1e-9)
    calls = 0

    def choose(candidates: Candidates, fits: Fits) -> int | None:
        nonlocal calls
        calls += 1
        return int(candidates[0])

    assert len(grow_tree(domain, budget, rows=1, choose=choose)) == 3
    assert calls == 3
    assert grow_tree(domain, budget, rows=1, choose=lambda *_: None) == []
    # Nobody is asked again, as every choice costs.
    answers = iter([0, None, 1])
    assert grow_tree(domain, budget, rows=1, choose=lambda *_: next(answers)) == [("a", "b")]
    assert next(answers) == 1


def desk_of(domain: Domain, messages: Sequence[Any]) -> Any:
    """Stand in for a curator who receives these messages."""
    return SimpleNamespace(
        progress=lambda done, *, of: None,
        domain=domain,
        parties=range(1, len(messages) + 1),
        gather_answers=lambda _: dict(enumerate(messages, start=1)),
        where=None,
    )


ABC = domain_of(2, 3, 2)


@pytest.mark.parametrize(
    ("pairs", "choices", "is_refused"),
    [
        (((0, 1), (1, 2)), 2, False),
        ((), 0, False),
        (((0, 1), (0, 2), (1, 2)), 2, True),
        (((0, 1),), 3, True),
        (((0, 1),), -1, True),
        (((0, 3),), 1, True),
        (((-1, 0),), 1, True),
        (((2, 1),), 1, True),
        (((0, 1), (0, 1)), 2, True),
    ],
)
def test_edges_at_the_boundaries(
    pairs: tuple[tuple[int, int], ...], choices: int, is_refused: bool
) -> None:
    desk = desk_of(ABC, [GraphMessages.Edges(((0, 2),), 1), GraphMessages.Edges(pairs, choices)])
    if is_refused:
        with pytest.raises(MessageError, match="pairs of"):
            gather_edges(desk, most=2)
    else:
        named = [(ABC.attributes[x], ABC.attributes[y]) for x, y in pairs]
        assert gather_edges(desk, most=2) == {1: ([("a", "c")], 1), 2: (named, choices)}


def test_edges_are_sent_as_numbers() -> None:
    sent: list[Any] = []
    me: Any = SimpleNamespace(
        records=SimpleNamespace(domain=ABC), send=lambda message, **_: sent.append(message)
    )
    send_edges(me, [("b", "c"), ("a", "b")])
    send_edges(me, [], choices=3)
    assert [(message.pairs, message.choices) for message in sent] == [
        (((1, 2), (0, 1)), 0),
        ((), 3),
    ]


def test_noisy_scores_are_averaged_by_rows() -> None:
    scores = [np.array([0.0, 1.0, -0.5]), np.array([1.0, 0.0, 0.5])]
    desk = desk_of(ABC, [GraphMessages.Noisy(values) for values in scores])
    assert gather_scores(desk, rows=[100, 300]) == pytest.approx([0.75, 0.25, 0.25])
    assert gather_scores(desk, rows=[0, 300]) == pytest.approx([1.0, 0.0, 0.5])
    assert gather_scores(desk, rows=[1, 0]) == pytest.approx([0.0, 1.0, -0.5])
    assert gather_scores(desk, rows=[0, 0]) == pytest.approx([0.0, 0.0, 0.0])  # after a loss
    for broken in (np.zeros(2), np.array([0.0, np.inf, 0.0]), np.zeros((3, 1))):
        with pytest.raises(MessageError, match="expected 3 scores"):
            gather_scores(desk_of(ABC, [GraphMessages.Noisy(broken)]), rows=[100])


def test_a_first_vote_counts_twice_a_last_one_at_most() -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "c")]
    votes = count_votes(ABC, [edges, []], [30, 10], most=4)
    assert votes == pytest.approx([0.75, 0.75 * 7 / 8, 0.75 * 6 / 8])


def believed_by_hand(
    table: Any, variance: float, margins: Sequence[Any], spreads: Sequence[float]
) -> Any:
    """Compute the posterior mean of a table around the product of its margins, cell by cell."""
    shape = table.shape
    free = 1 - (sum(size - 1 for size in shape) + 1) / (shape[0] * shape[1])
    cells = list(product(range(shape[0]), range(shape[1])))
    centre = {(i, j): margins[0][i] * margins[1][j] for i, j in cells}
    likelihoods = []
    for spread in spreads:
        logarithm = 0.0
        for i, j in cells:
            total = spread * centre[i, j] * (1 - centre[i, j]) + variance
            logarithm -= (table[i, j] - centre[i, j]) ** 2 / total / 2
            logarithm -= free * log(total) / 2
        prior = 0.5 if spread == 0 else 0.5 / (len(spreads) - 1)
        likelihoods.append(prior * exp(logarithm))
    mean = np.zeros(shape)
    for spread, likelihood in zip(spreads, likelihoods, strict=True):
        for i, j in cells:
            signal = spread * centre[i, j] * (1 - centre[i, j])
            share = signal / (signal + variance)
            moved = centre[i, j] + share * (table[i, j] - centre[i, j])
            mean[i, j] += moved * likelihood / sum(likelihoods)
    return mean


@pytest.mark.parametrize("variance", [1e-6, 1e-4, 1e-3, 1e-2])
def test_a_table_moves_to_the_product_of_its_margins(variance: float) -> None:
    margins = [np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5])]
    table = np.array([[0.12, 0.06, 0.12], [0.08, 0.24, 0.38]])
    spreads = [0.0, *(1e-5 * 3e5 ** (step / 29) for step in range(30))]
    expected = believed_by_hand(table, variance, margins, spreads)
    assert tables_module._shrink(table, variance, margins) == pytest.approx(expected, rel=1e-9)
    assert not np.allclose(expected, table, atol=1e-6) or variance == 1e-6


def test_a_believed_table_has_the_margins_of_single_attributes() -> None:
    """Single attributes that are nearly exact fix the margins of a cluster.

    Where a cluster is nearly exact, too, it stays as it is.
    """
    values = np.array([[120.0, 60, 120], [80, 240, 380]])
    joint = Marginal(("a", "b"), values)
    singles = [Estimate(joint.project((name,)), 0.01) for name in "ab"]
    (exact, *_) = believed_tables([Estimate(joint, 1e-4)], singles, total=1000.0)
    assert exact.values == pytest.approx(values, abs=0.1)  # noqa: PD011
    shifted = Marginal(("a", "b"), values + np.array([[9.0, -3, 4], [-8, 2, 5]]))
    believed, *margins = believed_tables([Estimate(shifted, 50.0)], singles, total=1000.0)
    for name, margin in zip("ab", margins, strict=True):
        exact_margin = joint.project((name,)).values  # noqa: PD011
        assert margin.values == pytest.approx(exact_margin, abs=0.1)  # noqa: PD011
        assert believed.project((name,)).values == pytest.approx(exact_margin, abs=0.1)  # noqa: PD011


def test_a_table_that_is_shrunk_has_the_margins_that_it_is_shrunk_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That holds even where one single attribute is known 10,000 times as well as another.

    A column's sum is negative here, so that the margins are not those of the cluster's table.
    """
    shrink, seen = tables_module._shrink, list[float]()

    def shrink_noting(table: Any, variance: float, margins: Any) -> Any:
        for axis, margin in enumerate(margins):
            seen.extend(np.abs(table.sum(axis=1 - axis) - margin))
        return shrink(table, variance, margins)

    monkeypatch.setattr(tables_module, "_shrink", shrink_noting)
    values = np.array([[300.0, 150, -60], [300, 260, -50]])
    cluster = Estimate(Marginal(("a", "b"), values), 1.0)
    singles = [
        Estimate(cluster.table.project((name,)), variance)
        for name, variance in (("a", 1.0), ("b", 1e4))
    ]
    believed_tables([cluster], singles, total=1000.0)
    assert len(seen) == 5
    assert max(seen) < 1e-8


def test_margins_of_one_label_are_not_counted() -> None:
    domain = domain_of(2, 1, 1)
    tables = trivial_tables(domain)
    assert [table.attributes for table in tables] == [("b",), ("c",)]


def test_small_cliques_are_left_out() -> None:
    """Cliques of fewer attributes than asked for, or of one cell, make no cluster."""
    domain = domain_of(2, 3, 2, 1)
    tree = junction_tree(domain, dependency_graph(domain, [("a", "b")]))
    one = merge_cliques(tree, least=1, budgets="equal", way_out="phi")
    two = merge_cliques(tree, least=2, budgets="by size", way_out="phi")
    assert {name for family in one for name in family} == {"a", "b", "c"}
    assert [set(family) for family in two] == [{"a", "b"}]


def test_margins_of_a_single_record_sum_to_one() -> None:
    domain = domain_of(2, 3)
    for cells, first in (([0, 1, 0, 0, 1], [0.0, 1.0]), ([0, 0, 1, 1, 0], [0.0, 0.0])):
        message = TreeJTree.Margins(np.array(cells, np.int64))
        margins = receive_margins(party_who_receives(domain, message))
        assert margins["a"].tolist() == first


@pytest.mark.parametrize(("share", "edges"), [(31, [("a", "b")]), (30, []), (29, [])])
def test_an_edge_needs_three_tenths_of_the_votes(share: int, edges: list[Any]) -> None:
    """A first vote counts by the party's share of the rows."""
    parameters = JTreeParameters(together="votes")
    budget = tree_budget(parameters, Budget.pure(parameters.epsilon), domain=ABC, parties=2)
    search = tree_search(ABC, parameters, budget, parties=2)
    desk = desk_of(ABC, [GraphMessages.Edges(((0, 1),), 1), GraphMessages.Edges((), 1)])
    sums: Any = SimpleNamespace(rows=100, rows_by_party=[share, 100 - share])
    assert search.curator(desk, sums) == (edges, budget.clusters)


def party_who_receives(domain: Domain, message: Any) -> Any:
    return SimpleNamespace(
        records=SimpleNamespace(domain=domain), receive=lambda *_, **__: message, where=None
    )


HALF = Budget.pure(0.5)


def test_clusters_have_as_many_cells_as_a_role_can_hold() -> None:
    """The bound is 2^24 = 16,777,216 cells of all clusters together."""
    domain = domain_of(1 << 12, 1 << 12, 3)
    full = variant.JTreeVariant.Clusters((("a", "b"),), 0.5)
    over = variant.JTreeVariant.Clusters((("a", "b"), ("c",)), 0.5)
    assert receive_clusters(party_who_receives(domain, full), budget=HALF) == full.sets
    with pytest.raises(MessageError, match=r"at most 16,777,216 cells, found 16,777,219"):
        receive_clusters(party_who_receives(domain, over), budget=HALF)
    joined = junction_tree(domain, dependency_graph(domain, [("a", "b")]))
    with pytest.raises(
        UsageError, match=r"clusters with fewer .* --drop [ab], .* a larger --set usefulness="
    ):
        merge_cliques(joined, least=1, budgets="equal", way_out="usefulness")
    kept = merge_cliques(joined, least=2, budgets="equal", way_out="usefulness")
    assert [set(family) for family in kept] == [{"a", "b"}]


@pytest.mark.parametrize(
    ("epsilon", "is_refused"),
    [(0.5, False), (0.5 + 4e-10, False), (0.5 + 1e-8, True), (0.5 - 1e-8, True)],
)
def test_the_epsilon_of_clusters_is_agreed(epsilon: float, is_refused: bool) -> None:
    me = party_who_receives(ABC, variant.JTreeVariant.Clusters((("a", "b"),), epsilon))
    if is_refused:
        with pytest.raises(MessageError, match=r"expected clusters for epsilon 0\.5"):
            receive_clusters(me, budget=HALF)
    else:
        assert receive_clusters(me, budget=HALF) == (("a", "b"),)


def test_the_tree_search_follows_epsilon_at_its_boundary() -> None:
    assert budgets.LOW == 0.35
    for epsilon, kind in ((0.34, "VoteSearch"), (0.35, "SumSearch")):
        parameters = JTreeParameters(epsilon=epsilon)
        budget = tree_budget(parameters, Budget.pure(parameters.epsilon), domain=ABC, parties=3)
        search = tree_search(ABC, parameters, budget, parties=3)
        assert type(search).__name__ == kind
        assert search.pairs == list(combinations("abc", 2))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_threshold_has_the_sensitivity_of_its_rows(rows: int) -> None:
    """A table of one row has the bound of two, which is the largest."""
    domain = domain_of(3, 4)
    records = records_of(domain, [[0, 0], [1, 1], [2, 2]][:rows])
    released: list[Any] = []

    def release(mechanism: Any, **_: Any) -> Any:
        released.append(mechanism)
        return []

    protocol = PrintedJTree(JTreeParameters(sample=False, noise="laplace"), mode="paper")
    me: Any = SimpleNamespace(records=records, parties=[1], release=release)
    assert protocol.threshold(me) == []
    expected = mutual_information_sensitivity(max(rows, 2), binary=False, base=e)
    assert released[0].sensitivity == pytest.approx(expected, rel=1e-5)


def test_the_paper_has_one_holder() -> None:
    require_one(1)
    with pytest.raises(UsageError, match="one trusted holder in mode paper, found 2 parties"):
        require_one(2)
    kind: Any = PrintedJTree
    protocol = kind(kind.Parameters(noise="laplace"), mode="paper")
    for play in (protocol.party, protocol.curator):
        with pytest.raises(UsageError, match="found 2 parties"):
            play(SimpleNamespace(parties=range(1, 3)))


def chosen_by(structure: Any, records: Records, **parameters: Any) -> tuple[list[Any], list[Any]]:
    """Let a party choose edges; return what it releases, and the edges without noise."""
    domain = records.domain
    given, whole = JTreeParameters(**parameters), Budget.pure(1.0)
    budget = corrected_budget(given, whole, domain=domain, parties=1, graph=0.2)
    released: list[Any] = []
    answers = iter(range(100))

    def release(mechanism: Any, **_: Any) -> Any:
        released.append(mechanism)
        return 0 if structure == "top" else [next(answers)]

    me: Any = SimpleNamespace(records=records, release=release)
    ranking: Any = RANKINGS[structure](domain, given, budget)
    return released, ranking.edges(me)


@pytest.mark.parametrize("rows", [1, 2, 3, 40])
def test_the_sensitivity_of_a_ranking_is_that_of_its_rows(rows: int) -> None:
    """A party of one row has the bound of two, which is larger than what one row can change."""
    domain = domain_of(4, 3, 2)
    records = records_of(domain, random_codes(np.random.default_rng(1), domain, rows=rows))
    n = max(rows, 2)
    wide, narrow = 3 * (n - 1) / n**2, 2 * (n - 1) / n**2
    # `a` with `b` is the one pair without a binary attribute, and the first that is chosen. Half of
    # a difference of two scores changes; the last pair is chosen from itself alone.
    for structure, bounds in (
        ("top", [(wide + narrow) / 2, narrow, narrow / 2]),
        ("svt", [wide]),
    ):
        released, edges = chosen_by(structure, records, edges=3)
        for mechanism, least in zip(released, bounds, strict=True):
            assert least <= mechanism.sensitivity <= least * (1 + 1e-5)  # scores are rounded
        assert len(edges) == (3 if structure == "top" else 1)
    # The sparse vector technique asks about small tables first.
    assert edges == [("b", "c")]


@pytest.mark.parametrize("rows", [1, 3, 63, 64, 500])
def test_the_sensitivity_of_a_sum_of_scores_covers_a_party_of_any_size(rows: int) -> None:
    """One record changes rows times R by less than 3, or by less than 2 of a binary attribute."""
    domain = domain_of(4, 3, 2)
    records = records_of(domain, random_codes(np.random.default_rng(1), domain, rows=rows))
    budget = corrected_budget(
        JTreeParameters(), Budget.pure(1.0), domain=domain, parties=2, graph=0.3
    )
    summed: list[Any] = []
    sums: Any = SimpleNamespace(contribute=lambda tables, batch: summed.append((*tables, batch)))
    ranking: Any = RANKINGS["laplace"](domain, JTreeParameters(), budget)
    ranking.party(SimpleNamespace(records=records), sums)
    ((cells, batch),) = summed
    exact = r_of(records, pairs_of(domain)) * rows
    assert cells / 64 == pytest.approx(exact, abs=0.5 / 64 + 1e-9)
    assert batch.sensitivity == 64 * (3 + 2 + 2) + 3
    assert batch.epsilon == pytest.approx(0.3)


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_gaussian_scores_have_the_sensitivity_of_their_rows(rows: int) -> None:
    domain = domain_of(4, 3, 2)
    records = records_of(domain, random_codes(np.random.default_rng(1), domain, rows=rows))
    budget = corrected_budget(
        JTreeParameters(), Budget("rho", 0.01), domain=domain, parties=2, graph=0.3
    )
    released: list[Any] = []

    def release(mechanism: Any, **_: Any) -> Any:
        released.append(mechanism)
        return np.zeros(3)

    me: Any = SimpleNamespace(records=records, release=release, send=lambda *_, **__: None)
    RANKINGS["gauss"](domain, JTreeParameters(), budget).party(me, None)  # type: ignore[arg-type]
    ((mechanism),) = released
    expected = gaussian_scores(
        r_of(records, pairs_of(domain)),
        sensitivity=1.0,
        rho=0.3 * 0.01,
    )
    # The change of all three scores together, in the L2 norm: 3, 2 and 2 times (n - 1) / n^2.
    n = max(rows, 2)
    together = sqrt(3**2 + 2**2 + 2**2) * (n - 1) / n**2
    assert together <= mechanism.sensitivity <= together * (1 + 1e-5)
    ratio = mechanism.sensitivity / expected.sensitivity
    assert mechanism.scale / expected.scale == pytest.approx(ratio)


@pytest.mark.parametrize("structure", ["top", "svt", "laplace", "gauss"])
def test_the_best_pairs_are_as_many_as_may_become_edges(structure: Any) -> None:
    domain = domain_of(4, 3, 2)
    budget = corrected_budget(
        JTreeParameters(edges=2), Budget.pure(1.0), domain=domain, parties=2, graph=0.3
    )
    ranking = RANKINGS[structure](domain, JTreeParameters(), budget)
    assert ranking.best(np.array([0.1, 0.3, 0.2])) == [("a", "c"), ("b", "c")]
    assert ranking.best(np.array([0.2, 0.2, 0.2])) == [("a", "b"), ("a", "c")]


def test_pairs_without_votes_are_not_ranked() -> None:
    domain = domain_of(4, 3, 2)
    budget = corrected_budget(
        JTreeParameters(edges=3), Budget.pure(1.0), domain=domain, parties=2, graph=0.3
    )
    ranking: Any = RANKINGS["top"](domain, JTreeParameters(), budget)
    desk = desk_of(domain, [GraphMessages.Edges(((1, 2),), 0), GraphMessages.Edges(((0, 2),), 0)])
    sums: Any = SimpleNamespace(rows_by_party=[100, 200])
    assert ranking.curator(desk, sums) == [("a", "c"), ("b", "c")]


@pytest.mark.parametrize(
    ("parameters", "phases"),
    [
        ({"structure": "laplace"}, {"keys", "graph", "clusters"}),
        ({"structure": "top"}, {"keys", "clusters"}),
        ({}, {"keys", "single attributes", "graph", "clusters"}),
        ({"together": "votes"}, {"keys", "single attributes", "clusters"}),
        ({"mode": "paper", "parties": 1, "phi": 0.5, "noise": "laplace"}, {"keys", "clusters"}),
    ],
)
def test_every_secure_sum_is_predicted(parameters: dict[str, Any], phases: set[str]) -> None:
    """Every message that a run sends in a phase with a secure sum is predicted, but edges."""
    domain = domain_of(2, 2, 3)
    table = pd.DataFrame(
        random_codes(np.random.default_rng(1), domain, rows=60), columns=list("abc")
    )
    table["b"] = table["a"]
    result = sottovoce.run(
        "jtree",
        table,
        aggregator="masks",
        epsilon=50.0,
        seed=1,
        judge=False,
        **{"parties": 2, **parameters},
    )
    predicted = result.report["communication"]["predicted"]
    assert {line["phase"] for line in predicted} == phases
    assert all(line["messages"] == line["measured_messages"] for line in predicted)
