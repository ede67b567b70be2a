"""Plans: usefulness, budgets, weighted tables, and structures that parties choose in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from math import ceil, floor, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce import UsageError
from sottovoce.curator import Curator, Estimate, Marginal
from sottovoce.parties import Party, Records, read_schema
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.dp_subn.bits_plan import families_of
from sottovoce.protocols.dp_subn.budget import PhaseBudgets
from sottovoce.protocols.dp_subn.designs import best_design
from sottovoce.protocols.dp_subn.forest import Forest
from sottovoce.protocols.dp_subn.forest_plan import edges_worth, forest_budget, plan_forest
from sottovoce.protocols.dp_subn.initial import (
    choose_edges,
    choose_parents,
    quotas,
    receive_structure,
)
from sottovoce.protocols.dp_subn.learning import correlations_of, select_parents
from sottovoce.protocols.dp_subn.scores import score_families, sensitivity_of
from sottovoce.protocols.dp_subn.structure import directed, structure_of
from sottovoce.protocols.dp_subn.usefulness import Sizes, binary_degree, max_cells
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SumBatch,
    SumOptions,
    Tables,
)
from sottovoce.protocols.secure_sum.graph import Circle

Converse = Callable[..., Any]
SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5}
DOMAIN = Domain({name: tuple(map(str, range(size))) for name, size in SIZES.items()})
SCHEMA = read_schema({name: list(labels) for name, labels in DOMAIN.labels.items()})


def people(rows: int, *, seed: int) -> pd.DataFrame:
    """Make a table in which b depends on a, and d on b; c and e are independent."""
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 2, rows)
    b = np.where(generator.random(rows) < 0.8, a, generator.integers(0, 3, rows))
    d = np.where(generator.random(rows) < 0.9, b > 0, generator.integers(0, 2, rows))
    columns = {
        "a": a,
        "b": b,
        "c": generator.integers(0, 4, rows),
        "d": d,
        "e": generator.integers(0, 5, rows),
    }
    return pd.DataFrame({name: column.astype(int).astype(str) for name, column in columns.items()})


def test_usefulness_gives_the_known_degrees() -> None:
    """Known answer 17."""
    for epsilon, theta, degree in (
        (0.05, 6, 0),
        (0.05, 2, 2),
        (0.4, 6, 3),
        (0.4, 2, 5),
        (0.2, 6, 2),
        (0.2, 2, 4),
    ):
        assert (
            binary_degree(rows=45222, attributes=52, epsilon=epsilon, theta=theta, inflation=1)
            == degree
        )
    assert [
        binary_degree(rows=45222, attributes=52, epsilon=0.4, theta=10, inflation=i)
        for i in (1, 1.5)
    ] == [3, 2]
    assert max_cells(rows=45222, attributes=15, epsilon=1, theta=4, inflation=1) == 376


def test_the_degree_is_zero_where_no_pair_fits() -> None:
    bits = Domain({f"x{at}": ("0", "1") for at in range(5)})
    assert [Sizes(bits, most).degree for most in (2, 4, 8, 16)] == [0, 1, 2, 3]
    assert [Sizes(DOMAIN, most).degree > 0 for most in (3, 4)] == [False, True]


def test_quotas_are_even() -> None:
    assert quotas(51, parties=3) == [17, 17, 17]
    assert quotas(9, parties=4) == [3, 2, 2, 2]
    assert quotas(1, parties=3) == [1, 0, 0]


@pytest.mark.parametrize(
    "shares", ["", "1", "0.5,0.5", "0.5,0.1,0.1,0.4", "0.6,-0.1,0,0.5", "nan,0.1,0,0.9", "a,b,c,d"]
)
def test_malformed_budgets_are_refused(shares: str) -> None:
    with pytest.raises(UsageError, match="four shares that sum to 1"):
        PhaseBudgets.split(
            Budget.pure(1.0), shares, phases=("correlations", "update", "parameters")
        )


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ("1,0,0,0", "a share of the budget for phase 3, update, in budget=1,0,0,0, found 0"),
        ("0,0,0.5,0.5", "a share of the budget for phase 1, correlations"),
        ("0.5,0,0.5,0", "a share of the budget for phase 4, parameters"),
        ("0.3,0.1,0.1,0.5", "no share of the budget for phase 2, initialisation.*found 0.1"),
    ],
)
def test_budgets_have_shares_for_the_phases_that_look_at_records(shares: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PhaseBudgets.split(
            Budget.pure(1.0), shares, phases=("correlations", "update", "parameters")
        )


def amounts(budget: PhaseBudgets) -> list[float]:
    return [
        part.amount
        for part in (budget.correlations, budget.initialisation, budget.update, budget.parameters)
    ]


def test_the_budget_of_a_forest_has_the_least_error() -> None:
    for rows in (2_000, 20_000, 200_000):
        budget, edges = forest_budget(
            DOMAIN, rows=rows, whole=Budget.pure(0.5), inflation=1.5, theta=3.5
        )
        assert sum(amounts(budget)) == pytest.approx(0.5)
        if not edges:
            assert budget.correlations == Budget.pure(0.5)
            continue
        single = sum(SIZES.values())
        pair = np.mean(
            [x * y for n, x in enumerate(SIZES.values()) for y in list(SIZES.values())[:n]]
        )

        def error(
            one: float, edges: int = edges, pair: float = float(pair), single: int = single
        ) -> float:
            return single * 5**2 / one**2 + edges * pair * edges**2 / (0.45 - one) ** 2

        grid = np.linspace(0.01, 0.44, 4301)
        assert budget.correlations.amount == pytest.approx(
            grid[np.argmin([error(own) for own in grid])], abs=2e-4
        )
        assert (
            edges_worth(DOMAIN, rows=rows, budget=budget.parameters, inflation=1.5, theta=3.5)
            >= edges
        )
    assert (
        forest_budget(DOMAIN, rows=200_000, whole=Budget.pure(0.5), inflation=1.5, theta=3.5)[1]
        == 4
    )
    assert forest_budget(DOMAIN, rows=10, whole=Budget.pure(0.5), inflation=1.5, theta=3.5)[1] == 0


@pytest.mark.parametrize(
    ("rows", "edges"), [(96, 0), (97, 1), (192, 1), (193, 2), (288, 2), (289, 3), (10**6, 4)]
)
def test_the_edges_that_are_worth_their_noise(rows: int, edges: int) -> None:
    """One edge has the noise 0.4 * 9.9 * (2 / 0.5) * sqrt(3) = 27.436; theta is 3.5.

    The ten pairs have 9.9 cells on average, and 3.5 * 27.436 = 96.02 rows pay for an edge.
    """
    assert (
        edges_worth(DOMAIN, rows=rows, budget=Budget.pure(0.5), inflation=1.5, theta=3.5) == edges
    )


@pytest.mark.parametrize(("rows", "edges"), [(24, 0), (25, 1), (33, 1), (34, 2), (41, 2), (42, 3)])
def test_the_edges_that_are_worth_gaussian_noise(rows: int, edges: int) -> None:
    """M edges have the noise 0.4 * 9.9 * sqrt(M / 0.5) * sqrt(1.5) = 6.859 sqrt(M)."""
    budget = Budget("rho", 0.5)
    assert edges_worth(DOMAIN, rows=rows, budget=budget, inflation=1.5, theta=3.5) == edges


@pytest.mark.parametrize("rows", [300, 2_000, 200_000])
def test_the_budget_of_a_forest_in_rho_has_the_least_error(rows: int) -> None:
    """The variance of a table's cells is the number of tables over rho; the referee is a grid."""
    whole = Budget("rho", 0.02)
    budget, edges = forest_budget(DOMAIN, rows=rows, whole=whole, inflation=1.5, theta=3.5)
    assert sum(amounts(budget)) == pytest.approx(0.02)
    assert edges > 1
    ones = np.linspace(0.0001, 0.0179, 17801)
    errors = 16 * 5 / ones + edges * 9.9 * edges / (0.018 - ones)
    assert budget.correlations.amount == pytest.approx(ones[np.argmin(errors)], abs=2e-6)
    # One edge more is not worth its noise, at the budget that it would have.
    ratio = sqrt(16 * 5 / (9.9 * (edges + 1) ** 2))
    noise = 0.4 * 9.9 * sqrt(1.5 * (edges + 1) * (1 + ratio) / 0.018)
    assert edges == 4 or noise * 3.5 > rows


@pytest.mark.parametrize("whole", [Budget.pure(0.5), Budget("rho", 0.02)])
def test_a_forest_has_any_number_of_edges_as_rows_pay_for_them(whole: Budget) -> None:
    """With more rows there are never fewer edges, and no number from none to all is left out."""
    edges = [
        forest_budget(DOMAIN, rows=rows, whole=whole, inflation=1.5, theta=3.5)[1]
        for rows in np.geomspace(10, 10**6, 400).astype(int).tolist()
    ]
    assert edges == sorted(edges)
    assert {*edges} == {*range(len(SIZES))}


def test_the_plan_of_a_forest_by_hand() -> None:
    """Three edges of five attributes with 16 cells: a split that can be computed on paper."""
    plan = plan_forest(
        DOMAIN, whole=Budget.pure(2.0), budget=None, theta=3.5, rows=400, inflation=1.5
    )
    assert plan.edges == 4
    ratio = (16 * 5**2 / (9.9 * 4**3)) ** (1 / 3)  # 0.85771
    assert plan.budget.parameters.amount == pytest.approx(2 * 0.9 / (1 + ratio))
    assert plan.budget.parameters.amount == pytest.approx(0.96893, rel=1e-4)
    assert plan.budget.initialisation.amount == pytest.approx(0.2)
    assert plan.budget.correlations.amount == pytest.approx(2 * 0.9 * ratio / (1 + ratio))
    assert plan.budget.update.amount == 0
    assert plan.cell_noise == pytest.approx(0.4 * (2 * 4 / 0.96893) * sqrt(3) / 400, rel=1e-4)
    # The last number of rows at which the fourth edge is worth its noise.
    least = 3.5 * 0.4 * 9.9 * 2 * 4 * sqrt(3) / 0.96893
    for rows, edges in ((ceil(least), 4), (floor(least), 3)):
        found = plan_forest(
            DOMAIN, whole=Budget.pure(2.0), budget=None, theta=3.5, rows=rows, inflation=1.5
        )
        assert found.edges == edges


def test_the_plan_of_a_forest_with_a_budget() -> None:
    budget = PhaseBudgets.of(Budget.pure(1.0), 0.2, 0.1, 0.0, 0.5)
    plan = plan_forest(
        DOMAIN, whole=Budget.pure(0.8), budget=budget, theta=3.5, rows=200, inflation=1.5
    )
    assert (plan.edges, plan.budget) == (2, budget)
    assert plan.cell_noise == pytest.approx(0.4 * (2 * 2 / 0.5) * sqrt(3) / 200)
    none = plan_forest(
        DOMAIN, whole=Budget.pure(0.8), budget=budget, theta=3.5, rows=96, inflation=1.5
    )
    assert (none.edges, none.cell_noise) == (0, 0.0)
    assert none.budget == PhaseBudgets.of(Budget.pure(0.8), 1.0, 0.0, 0.0, 0.0)


def test_parent_sets_are_the_largest_that_fit() -> None:
    sizes = Sizes(DOMAIN, 24)
    found = sizes.parent_sets("a", ["b", "c", "e"], degree=3)
    assert set(found) == {("b", "c"), ("e",)}  # 2 x 3 x 4 = 24; 2 x 5 = 10, but 2 x 5 x 3 = 30
    assert sizes.parent_sets("a", ["b", "c"], degree=1) == [("b",), ("c",)]
    assert Sizes(DOMAIN, 3).parent_sets("a", ["b"], degree=2) == [()]


@pytest.mark.parametrize("aggregator", ["clear", "masks", "paillier"])
def test_weighted_tables_divide_the_noise(converse: Converse, aggregator: str) -> None:
    """Each table's noise follows from its weight; at a high epsilon the sums are exact."""
    tables = Tables(DOMAIN, (("a",), ("b", "c"), ("c", "e")), Budget.pure(400.0), weighted=True)
    # 8 times the root of 4/20, 12/20 and 1: one of the two cells of `a` is counted.
    assert tables.weights == [2, 3, 4]
    assert tables.batch == SumBatch(cells=33, sensitivity=16, epsilon=400.0, weight=4)
    assert Tables(DOMAIN, (("a", "b"), ("b", "a")), Budget.pure(1.0), weighted=True).weights == [
        1,
        1,
    ]
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
        with me.phase("count"):
            tables.contribute(me.records, sums)

    def curator(desk: Curator) -> list[Estimate]:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise="shares")
        with desk.phase("count"):
            return tables.receive(sums)

    own = [people(50, seed=seed) for seed in range(3)]
    talk = converse(party, curator, tables=own, schema=SCHEMA)
    everybody = Records(pd.concat(own, ignore_index=True), schema=SCHEMA)
    for estimate, weight in zip(talk.curator, tables.weights, strict=True):
        exact = Marginal.of(DOMAIN, estimate.attributes, everybody.marginal(estimate.attributes))
        assert 2 * estimate.table.distance(exact) < 1.5 / weight * exact.cells
        factor = 2 if estimate.attributes == ("a",) else 1
        of_a_cell = talk.curator[-1].variance * 4**2
        assert estimate.variance * weight**2 == pytest.approx(factor * of_a_cell)


def test_scores_and_their_sensitivity() -> None:
    records = Records(people(500, seed=1), schema=SCHEMA)
    families = [("a", "d"), ("d", "a")]
    both = score_families(records, families, score="I")
    assert both[0] == pytest.approx(both[1])
    one = [
        score_families(records, [family], score="I")[0]
        for family in (("a", "b"), ("a", "b", "d"), ())
    ]
    assert one[2] == 0
    mixed = score_families(records, [("a", "b"), ("a", "b", "d"), ()], score="I")
    assert mixed == pytest.approx(one)
    assert sensitivity_of(records, [("a", "b")], score="I") < sensitivity_of(
        records, [("b", "c")], score="I"
    )
    # One pair and no edge: the score of no edge never changes.
    assert sensitivity_of(records, [("b", "c"), ()], score="R") == (3 / 500 - 3 / 500**2) / 2


def play(converse: Converse, act: Callable[[Party, Records], None], *, rows: int = 2000) -> Any:
    def party(me: Party) -> None:
        with me.phase("initialisation"):
            act(me, me.records)

    def curator(desk: Curator) -> Any:
        with desk.phase("initialisation"):
            return receive_structure(desk)

    tables = [people(rows, seed=seed) for seed in range(3)]
    return converse(party, curator, tables=tables, schema=SCHEMA, kinds=Forest.kinds())


def test_a_forest_is_chosen_in_turn(converse: Converse) -> None:
    def act(me: Party, records: Records) -> None:
        choose_edges(
            me,
            records,
            edges=4,
            cell_noise=0.004,
            budget=Budget.pure(20.0),
            score="R",
            circle=Circle.of(parties=3, colluding=1, seed=b""),
        )

    talk = play(converse, act)
    # c and e belong to nobody: an edge to them is not worth its table.
    assert {frozenset(edge) for edge in talk.curator} == {frozenset("ab"), frozenset("bd")}
    network = directed(DOMAIN, talk.curator)
    assert network.parents == {"a": (), "b": ("a",), "c": (), "d": ("b",), "e": ()}
    spent = [talk.party(number).accountant.releases for number in (1, 2, 3)]
    assert [len(own) for own in spent] == [2, 1, 1]
    assert all(sum(release.epsilon for release in own) == pytest.approx(20) for own in spent)
    assert {release.mechanism for own in spent for release in own} == {"exponential"}


def test_parents_are_chosen_in_turn(converse: Converse) -> None:
    def act(me: Party, records: Records) -> None:
        choose_parents(
            me,
            records,
            sizes=Sizes(DOMAIN, 12),
            degree=2,
            budget=Budget.pure(40.0),
            score="I",
        )

    talk = play(converse, act)
    network = structure_of(DOMAIN, talk.curator)
    assert sorted(family[-1] for family in talk.curator) == list(DOMAIN.attributes)
    assert all(DOMAIN.cells(family) <= 12 for family in network.families)
    joined = {frozenset((x, y)) for x, own in network.parents.items() for y in own}
    assert {frozenset("ab"), frozenset("bd")} <= joined


def test_correlations_without_noise_are_the_real_ones() -> None:
    records = Records(people(3000, seed=2), schema=SCHEMA)
    families = list(combinations(DOMAIN.attributes, 2))
    views = [Estimate(Marginal.of(DOMAIN, own, records.marginal(own)), 1.0) for own in families]
    found = correlations_of(DOMAIN, views, rows=3000)
    names = DOMAIN.attributes
    for x in range(5):
        for y in range(x):
            assert found[x, y] == pytest.approx(
                score_families(records, [(names[x], names[y])], score="I")[0], abs=1e-9
            )


def test_margins_that_are_averaged_have_less_error() -> None:
    """With averaged margins the information of independent pairs is nearer to 0.

    The average of all views with an attribute replaces each pair's own margin.
    """
    generator = np.random.default_rng(0)
    domain = Domain({f"x{at}": ("0", "1") for at in range(13)})
    families = families_of(domain, partial(best_design, largest=12))
    records = Records(
        pd.DataFrame(
            {name: generator.integers(0, 2, 5000).astype(str) for name in domain.attributes}
        ),
        schema=read_schema({name: ["0", "1"] for name in domain.attributes}),
    )
    views = [
        Estimate(
            Marginal.of(
                domain, own, records.marginal(own) + generator.laplace(0, 60, 2 ** len(own))
            ),
            7200.0,
        )
        for own in families
    ]
    averaged = correlations_of(domain, views, rows=5000)
    alone = [correlations_of(domain.project(view.attributes), [view], rows=5000) for view in views]
    assert averaged.sum() < sum(own.sum() for own in alone)


def test_parents_are_selected_from_the_frontier() -> None:
    records = Records(people(4000, seed=3), schema=SCHEMA)
    frontier = structure_of(DOMAIN, [("a",), ("a", "c", "b"), ("c",), ("a", "b", "c", "d"), ("e",)])
    counted = [
        Estimate(Marginal.of(DOMAIN, own, records.marginal(own)), 1.0)
        for own in frontier.maximal_families
    ]
    found = select_parents(frontier, counted, sizes=Sizes(DOMAIN, 12), degree=1)
    assert found.parents == {"a": (), "b": ("a",), "c": (), "d": ("b",), "e": ()}
