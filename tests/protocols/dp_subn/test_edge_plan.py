"""The plan of a run with edges: shares with the least error, and sizes that grow with epsilon."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest

import sottovoce
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.dp_subn.edge_choice import unite_edges
from sottovoce.protocols.dp_subn.edge_plan import EdgeFigures, plan_edges

SIZES = (2, 3, 16, 7, 2, 41, 16, 5, 9, 100)


def figures(epsilon: float, *, rows: int = 30_000, delta: float = 1e-9) -> EdgeFigures:
    whole = Budget.of(epsilon, delta=delta) if delta else Budget.pure(epsilon)
    labels = {
        f"a{place}": tuple(str(code) for code in range(size)) for place, size in enumerate(SIZES)
    }
    return EdgeFigures(
        domain=Domain(labels), whole=whole, rows=rows, parties=3, inflation=1.5, theta=4.0
    )


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize(("edges", "groups"), [(3, 8), (15, 4), (20, 100)])
def test_the_shares_have_the_least_error(edges: int, groups: int, delta: float) -> None:
    """The referee is a grid of all splits in three."""
    known = figures(0.7, delta=delta)
    single, choices, counts = known.errors(edges, groups)
    shares = known.shares(edges, groups)
    assert sum(shares) == pytest.approx(1)

    def error(one: Any, two: Any, four: Any) -> Any:
        power = 1.0 if not delta else 0.5
        return single / one**power + choices / two**power + counts / four**power

    grid = np.linspace(0.005, 0.99, 198)
    one, two = np.meshgrid(grid, grid)
    inside = one + two < 0.995
    least = error(one[inside], two[inside], 1 - one[inside] - two[inside]).min()
    assert error(*shares) <= least
    assert error(*shares) == pytest.approx(least, rel=1e-2)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_the_noise_of_single_attributes_is_that_of_the_batch_that_is_sent(delta: float) -> None:
    """The figures are of the whole budget, and the batch of its share: 0.4 of the deviation."""
    known = figures(0.7, delta=delta)
    sent = plan_edges(known).single_attributes
    whole = replace(sent, budget=known.whole).error
    assert known.single_noise == pytest.approx(0.4 * whole * sqrt(1.5) / 30_000)


def test_cells_of_the_average_pair() -> None:
    known = figures(1.0)
    for groups in (1, 2, 7, 16, 100):
        products = [min(a, groups) * min(b, groups) for a, b in combinations(SIZES, 2)]
        assert known.cells(groups) == pytest.approx(np.mean(products))


@pytest.mark.parametrize(("delta", "theta"), [(0.0, 6.0), (1e-9, 4.0)])
@pytest.mark.parametrize("times", [1.0, 2.0])
def test_groups_are_the_most_with_which_tables_are_useful(
    delta: float, theta: float, times: float
) -> None:
    """The referee tries all numbers of groups; Laplace noise asks for half as much again."""
    for rows in np.geomspace(1_000, 1e6, 6).astype(int).tolist():
        known = figures(0.5, rows=rows, delta=delta)
        for edges in (1, 7, 20):
            useful = [
                groups
                for groups in range(1, max(SIZES) + 1)
                if known.cells(groups)
                * known.cell_noise(edges, known.whole.share(known.shares(edges, groups)[2]))
                <= 1 / (theta * times)
            ]
            assert known.useful_groups(edges, times=times) == max(useful, default=0)


@pytest.mark.parametrize(("delta", "power"), [(0.0, 1 / 2), (1e-9, 1 / 3)])
def test_larger_tables_have_less_noise_in_both_phases(delta: float, power: float) -> None:
    """A table of c cells is multiplied by about c^(1/2), and by c^(1/3) before Gaussian noise."""
    known = figures(4.0, rows=10**6, delta=delta)
    plan = plan_edges(known)
    singles, families = plan.single_attributes, [("a1", "a3"), ("a5", "a9")]
    pairs = plan.parameters(known.domain, families)
    for tables in (singles, pairs):
        sizes = [known.domain.cells(family) for family in tables.families]
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        for size, weight in zip(sizes, tables.weights, strict=True):
            expected = tables.weights[largest] * (size / sizes[largest]) ** power
            assert size == 2 or weight == pytest.approx(expected, abs=0.51)
        assert len({*tables.weights}) > 1


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("rows", [2_000, 30_000, 300_000])
def test_tables_and_their_number_grow_with_epsilon(rows: int, delta: float) -> None:
    """The cells of all tables never get fewer with more epsilon, and edges come with groups."""
    before = 0.0
    kinds = set()
    for epsilon in np.geomspace(0.02, 20, 40).tolist():
        known = figures(epsilon, rows=rows, delta=delta)
        plan = plan_edges(known)
        cells = plan.edges * known.cells(plan.groups)
        assert cells >= 0.8 * before
        before = max(before, cells)
        kinds.add(plan.edges)
        parts = (plan.budget.correlations, plan.budget.initialisation, plan.budget.parameters)
        assert sum(part.amount for part in parts) == pytest.approx(known.whole.amount)
        if plan.edges:
            table = known.cells(plan.groups) * known.cell_noise(plan.edges, plan.budget.parameters)
            assert table * 4.0 <= 1  # every table is useful
        else:
            assert plan.budget.correlations.amount == pytest.approx(known.whole.amount)
    assert len(kinds) > 2


@pytest.mark.parametrize(("delta", "most", "least"), [(0.0, 1.0, 6), (1e-9, 4.0, 4)])
def test_edges_are_few_while_tables_are_coarse_and_many_where_rows_abound(
    delta: float, most: float, least: int
) -> None:
    """The plans of tables with ever more rows.

    A second edge is counted only where tables allow `least` groups, and that number is reached.
    There is an edge as soon as the table of one is useful; in the end each attribute has `most`.
    """
    groups = set()
    for rows in np.geomspace(100, 1e8, 150).astype(int).tolist():
        known = figures(0.5, rows=rows, delta=delta)
        plan = plan_edges(known)
        assert (plan.edges > 0) == (known.useful_groups(1) > 1)
        assert plan.groups >= 1
        assert plan.groups > 1 or not plan.edges
        if plan.edges > 1:
            groups.add(plan.groups)
    assert min(groups) == least
    assert plan.edges == most * len(SIZES)
    assert plan.groups == max(SIZES)


def test_coarse_tables_have_as_many_edges_as_the_noise_allows() -> None:
    """The referee tries all numbers of edges up to two, or half of one, for each attribute."""
    for delta, of_each, least in ((0.0, 0.5, 6), (1e-9, 2.0, 4)):
        for rows in np.geomspace(3_000, 300_000, 12).astype(int).tolist():
            known = figures(0.5, rows=rows, delta=delta)
            numbers = range(1, int(of_each * len(SIZES)) + 1)
            fitting = [edges for edges in numbers if known.useful_groups(edges) >= least]
            plan = plan_edges(known)
            if plan.groups < max(SIZES) / 2:
                one = int(known.useful_groups(1) > 1)
                assert plan.edges == max(fitting, default=one), (delta, rows)


def test_errors_by_hand() -> None:
    """Laplace noise has the deviation sqrt(2) s / epsilon, Gaussian noise the root of s / 2 rho."""
    pure, rho = figures(0.5, delta=0.0), figures(0.5)
    unit = 0.4 * np.sqrt(1.5) / 30_000
    for edges in (1, 5):
        changed = 2 * edges
        assert pure.cell_noise(edges, Budget.pure(0.3)) == pytest.approx(
            unit * np.sqrt(2) * changed / 0.3, rel=1e-3
        )
        assert rho.cell_noise(edges, Budget("rho", 0.3)) == pytest.approx(
            unit * np.sqrt(changed / (2 * 0.3)), rel=1e-3
        )
    plan = plan_edges(rho)
    assert plan.edge_noise == pytest.approx(
        unit * np.sqrt(1 / plan.budget.parameters.amount), rel=1e-3
    )
    # A tree has one edge less than attributes; with fewer edges a part of all pairs is measured.
    tree = len(SIZES) - 1
    for edges, part in ((tree, 1.0), (tree + 3, 1.0), (3, 3 / tree)):
        _, choices, counts = rho.errors(edges, 8)
        assert counts == pytest.approx(part * rho.cells(8) * rho.cell_noise(edges, rho.whole))
        of_choice = rho.whole.share(min(1.0, 3 / edges)).of_choice
        assert choices == pytest.approx(part * 2 * 3 / (30_000 * of_choice) * 1.5)
    # Where all pairs are edges none is chosen.
    assert rho.errors(rho.pairs - 1, 8)[1] > rho.errors(rho.pairs, 8)[1] == 0


@pytest.mark.parametrize(("labels", "reach"), [(2, 0.0), (3, 0.5), (16, 14 / 15)])
def test_an_edge_of_few_labels_counts_in_its_own_pair_alone(labels: int, reach: float) -> None:
    """Laplace noise: between the share of pairs that are edges, and that which a tree joins."""
    domain = Domain({f"a{place}": tuple(map(str, range(labels))) for place in range(11)})
    pure, gaussian = (
        EdgeFigures(domain=domain, whole=whole, rows=9_000, parties=3, inflation=1.5, theta=4.0)
        for whole in (Budget.pure(1.0), Budget.of(1.0, delta=1e-9))
    )
    assert pure.reach == pytest.approx(reach)
    assert gaussian.reach == 1
    _, choices, counts = pure.errors(5, labels)
    part = reach * 5 / 10 + (1 - reach) * 5 / 55
    noise = labels**2 * pure.cell_noise(5, pure.whole)
    assert counts == pytest.approx(part * noise)
    assert choices == pytest.approx(part * 1.5 * 2 * 3 / 9_000 / pure.whole.share(3 / 5).of_choice)


def test_items_of_two_labels_leave_most_of_the_budget_to_single_attributes() -> None:
    figures_of_items = EdgeFigures(
        domain=Domain({f"a{place}": ("no", "yes") for place in range(50)}),
        whole=Budget.pure(0.8),
        rows=88_162,
        parties=3,
        inflation=1.5,
        theta=4.0,
    )
    assert plan_edges(figures_of_items).budget.correlations.amount > 0.6 * 0.8


def test_united_edges_may_close_a_circle() -> None:
    lists = [[("a", "b"), ("b", "c")], [("a", "b"), ("a", "c")]]
    assert unite_edges(lists) == [("a", "b"), ("b", "c"), ("a", "c")]
    assert unite_edges([]) == []


def test_an_attribute_of_a_hundred_labels_is_merged_and_spread() -> None:
    """The dependence on an age of ninety labels is kept, and most ages are published."""
    generator = np.random.default_rng(5)
    table = demo_table(6000, seed=1)[["sex", "race"]]
    age = np.minimum(99, generator.gamma(9.0, 5.0, 6000).astype(int))
    table["age"] = [f"age {year:02}" for year in age]
    table["group"] = np.where(generator.random(6000) < 0.9, age > 44, age < 20).astype(str)
    done = sottovoce.run("dp-subn", table, parties=3, epsilon=0.5, seed=3, aggregator="clear")
    assert "age" in done.report["outcome"]["labels merged"]
    assert done.synthetic is not None
    assert done.synthetic["age"].nunique() > 0.7 * table["age"].nunique()
    older = done.synthetic["age"].str[4:].astype(int) > 44
    assert (older == (done.synthetic["group"].astype(str) == "True")).mean() > 0.75
    two = done.judgement["utility"]["distances"][0]
    assert two["average"] < 0.8 * two["one_way"]


def test_attributes_without_an_edge_are_named() -> None:
    """An attribute of one value has none, and all pairs of the three others are counted."""
    table = demo_table(6000, seed=1)[["sex", "race", "income"]].assign(one="same")
    done = sottovoce.run(
        "dp-subn", table, parties=3, epsilon=8.0, seed=3, aggregator="clear", judge=False
    )
    outcome = done.report["outcome"]
    assert (outcome["network"], outcome["no edge"]) == ("3 edges, at most 1 parent", "one")


@pytest.mark.parametrize("edges", [1, 2, 4])
def test_a_party_spends_no_more_than_its_budget_on_a_choice(edges: int) -> None:
    """A choice of one among P parties is P times as noisy as one holder's of all rows.

    Each of E edges has P / E of a party's budget, and all of it where parties are more than edges.
    """
    known = figures(0.7, delta=0.0)
    _, alone, _ = replace(known, parties=1).errors(edges, 4)
    for parties in (1, 2, 3, 4, 30):
        _, choices, _ = replace(known, parties=parties).errors(edges, 4)
        assert choices == pytest.approx(alone * max(parties, edges) / edges)
