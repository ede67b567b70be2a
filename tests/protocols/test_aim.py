"""AIM: the rules of every protocol, its budget, its candidates and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.curator import Estimate, Marginal
from sottovoce.curator.graphical_model import model_of
from sottovoce.messages import MessageError, UsageError, Where
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.aim.budget import RunBudget, choice_budget, single_budget
from sottovoce.protocols.aim.candidates import fitting
from sottovoce.protocols.aim.messages import Messages
from sottovoce.protocols.aim.reading import check_cost, read_family, read_model, write_model
from sottovoce.protocols.aim.workload import workload_of
from sottovoce.protocols.registry import find

if TYPE_CHECKING:
    from conftest import Random


class TestAIM(SampledSuite):
    protocol = "aim"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks", "rounds": 60}
    rows = 300


class TestAIMOfOneHolder(VariantSuite):
    protocol = "aim"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "clear", "rounds": 60}
    rows = 300


# ---- The budget


def test_one_holder_spends_as_the_paper_does() -> None:
    """The recurrence of the paper: rounds of tables and choices, and a last one of what is left."""
    whole, attributes, rounds = Budget("rho", 0.01), 4, 64
    budget = RunBudget.start(whole, attributes=attributes, rounds=rounds, rows=[500])
    table, choice = 0.9 * whole.amount / rounds, 0.1 * whole.amount / rounds
    used = attributes * table
    for number in range(200):
        last = whole.amount - used < 2 * (table + choice)
        if last:
            table, choice = 0.9 * (whole.amount - used), 0.1 * (whole.amount - used)
        party, cost = budget.next_round()
        assert party == 1
        assert (budget.table, cost) == pytest.approx((table, choice))
        used += table + choice
        budget.spend()
        if last:
            break
        if number % 3 == 2:
            budget.halve_noise()
            table, choice = 4 * table, 4 * choice
    assert budget.left == 0.0
    assert used == pytest.approx(whole.amount)


@pytest.mark.parametrize("rows", [[100], [1, 1, 1], [5, 900, 40, 0], [0, 0], [7] * 1000])
def test_no_record_pays_more_than_the_budget(rows: list[int]) -> None:
    """Whatever is measured, tables and a party's choices stay within what all roles know."""
    generator = np.random.default_rng(3)
    for _ in range(50):
        whole, attributes = Budget("rho", float(generator.exponential())), 6
        rounds = int(generator.integers(12, 200))
        settings: dict[str, int] = {"attributes": attributes, "rounds": rounds}
        budget = RunBudget.start(whole, rows=rows, **settings)
        tables, choices = single_budget(whole, **settings).amount, [0.0] * len(rows)
        while budget.left > 0:
            party, cost = budget.next_round()
            assert budget.table > 0
            assert cost > 0
            tables, choices[party - 1] = tables + budget.table, choices[party - 1] + cost
            budget.spend()
            if generator.random() < 0.3:
                budget.halve_noise()
        allowed = choice_budget(whole, **settings)
        assert max(choices) <= allowed * (1 + 1e-9)
        assert tables + allowed == pytest.approx(whole.amount)


def test_turns_go_by_the_rows_of_each_party() -> None:
    """At equal costs a party with two thirds of the rows has two thirds of the turns."""
    rows = [200, 100]
    budget = RunBudget.start(Budget("rho", 0.1), attributes=2, rounds=302, rows=rows)
    turns = []
    while budget.left > 0:
        turns.append(budget.next_round()[0])
        budget.spend()
    assert turns.count(1) / len(turns) == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_every_choice_is_as_precise_as_any_party_could_make_it(seed: int) -> None:
    """A choice of n rows with some rho has the precision n^2 rho: all parties are tried."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(1, 10, 4).tolist()
    budget = RunBudget.start(Budget("rho", 1.0), attributes=2, rounds=20, rows=rows)
    assert budget.measured_share == pytest.approx(2 / 20, abs=0.02)
    while budget.left > 0:
        left = [*budget.choices]
        party, cost = budget.next_round()
        costs = [
            min(sum(rows) / count * budget.table / 9, amount)
            for count, amount in zip(rows, left, strict=True)
        ]
        precisions = [count**2 * amount for count, amount in zip(rows, costs, strict=True)]
        assert cost == pytest.approx(costs[party - 1])
        assert precisions[party - 1] == pytest.approx(max(precisions))
        share = budget.spent_share
        budget.spend()
        assert budget.measured_share == pytest.approx(share)
        if generator.random() < 0.4:
            budget.halve_noise()
    assert budget.measured_share == pytest.approx(1)


# ---- Candidates


def least_cells(domain: Domain, edges: set[tuple[str, ...]]) -> int:
    """Count the cells of the smallest junction tree of a graph, over all orders of elimination."""
    totals = []
    for order in permutations(domain.attributes):
        neighbours = {
            name: {other for edge in edges if name in edge for other in edge} for name in order
        }
        cliques = []
        for place, name in enumerate(order):
            later = neighbours[name].intersection(order[place + 1 :])
            cliques.append(later | {name})
            for other in later:
                neighbours[other] |= later
        largest = [clique for clique in cliques if not any(clique < other for other in cliques)]
        totals.append(sum(domain.cells(sorted(clique)) for clique in largest))
    return min(totals)


def test_candidates_are_those_that_keep_the_model_small(random: Random) -> None:
    """Whoever is admitted has a junction tree within the bound."""
    domain = random.domain(attributes=5)
    workload = workload_of(domain, max_cells=10_000)
    pairs = [family for family in workload.weights if len(family) == 2]
    measured = [pair for pair in pairs if random.generator.random() < 0.4]
    sets = [*((name,) for name in workload.attributes), *measured]
    model = model_of(domain, {family: np.zeros(domain.shape(family)) for family in sets})
    edges = {(first, second) for first, second in measured}
    for max_cells in (model.cells - 1, model.cells, 1.5 * model.cells, 3 * model.cells):
        admitted = set(fitting(workload, model, max_cells=max_cells))
        for family in workload.weights:
            if model.tree.home(family) is not None:
                assert family in admitted
            elif family in admitted:
                assert least_cells(domain, {*edges, family}) <= max_cells
    assert set(fitting(workload, model, max_cells=1e9)) == {*workload.weights}


def test_a_triangle_needs_room_for_its_clique() -> None:
    """The chain a - b - c has 18 cells, and the triangle 24; the bound adds what it replaces."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1", "2", "3")})
    workload = workload_of(domain, max_cells=100)
    chain = model_of(domain, {("a", "b"): np.zeros((2, 3)), ("b", "c"): np.zeros((3, 4))})
    assert ("a", "c") not in fitting(workload, chain, max_cells=23)
    assert ("a", "c") in fitting(workload, chain, max_cells=30)


def test_weights_count_what_the_workload_has_of_a_candidate() -> None:
    """A pair meets each pair of its attributes; a pair that is too large is not approximated."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1"), "c": ("0", "1", "2"), "d": ("0",)})
    everything = workload_of(domain, max_cells=1000)
    pairs = [family for family in everything.weights if len(family) == 2]
    assert pairs == [*combinations("abc", 2)]
    for family, weight in everything.weights.items():
        total = sum(len({*family} & {*pair}) for pair in pairs)
        assert weight == total / 4
    small = workload_of(domain, max_cells=4)
    assert [*small.weights.items()] == [
        (("a",), 0.5),
        (("b",), 0.5),
        (("c",), 0.0),
        (("a", "b"), 1.0),
    ]


def test_an_attribute_alone_weighs_nothing() -> None:
    """It is in no pair of the workload."""
    workload = workload_of(Domain({"a": ("0", "1")}), max_cells=100)
    assert workload.weights == {("a",): 0.0}


def test_too_many_pairs_are_refused_before_a_record_is_seen() -> None:
    wide = Domain({f"a{number}": ("0", "1") for number in range(101)})
    with pytest.raises(UsageError, match=r"at most 5,000 pairs .* found 5,050 of 101 attributes"):
        workload_of(wide, max_cells=100_000)
    deep = Domain({f"a{number}": tuple(map(str, range(32))) for number in range(100)})
    with pytest.raises(UsageError, match=r"found a0 with 32, .*: leave columns out, --drop a0, or"):
        workload_of(deep, max_cells=100_000)


# ---- Messages

DOMAIN = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1"), "d": ("0",)})
WHERE = Where(rank=1, protocol="aim", phase="rounds", step=1)


@pytest.mark.parametrize("numbers", [(), (3,), (4,), (-1,), (1, 0), (0, 0), (0, 1, 2)])
def test_only_candidates_of_the_workload_are_counted(numbers: tuple[int, ...]) -> None:
    """A curator cannot ask for another table than those that are announced."""
    workload = workload_of(DOMAIN, max_cells=100)
    assert read_family((0, 2), workload, where=WHERE) == ("a", "c")
    with pytest.raises(MessageError, match="expected an attribute or a pair of the workload"):
        read_family(numbers, workload, where=WHERE)


def test_a_model_travels_as_its_parameters() -> None:
    workload = workload_of(DOMAIN, max_cells=100)
    model = model_of(DOMAIN, {("a",): np.array([0.0, 1.0]), ("a", "b"): np.arange(6.0)})
    message = write_model(model, [("a", "c"), ("b",)], rho=0.1, noise_share=0.3)
    assert message.candidates == ((0, 2), (1,))
    again = read_model(message, workload, max_cells=100, where=WHERE)
    assert again.marginal(("a", "b")).distance(model.marginal(("a", "b"))) == 0


@pytest.mark.parametrize(
    ("sets", "numbers", "match"),
    [
        (((0, 1),), np.zeros(5), "expected 6 parameters of 1 different tables, found 5 of 1"),
        (((0,), (0,)), np.zeros(4), "of 2 different tables, found 4 of 1"),
        (((0,),), np.array([0.0, np.nan]), "expected finite parameters"),
        (((0,),), np.array([0.0, np.inf]), "expected finite parameters"),
        (((3,),), np.zeros(1), "expected an attribute or a pair"),
        (((0, 1), (1, 2)), np.zeros(12), "a model of at most 10 cells, found 13"),
    ],
)
def test_a_malformed_model_is_refused(
    sets: tuple[tuple[int, ...], ...], numbers: np.ndarray, match: str
) -> None:
    workload = workload_of(DOMAIN, max_cells=100)
    message = Messages.Candidates(
        rho=0.1, noise_share=0.3, sets=sets, parameters=numbers, candidates=((0,),)
    )
    with pytest.raises(MessageError, match=match):
        read_model(message, workload, max_cells=10, where=WHERE)


@pytest.mark.parametrize("rho", [0.0, -1.0, 0.51, float("nan"), float("inf")])
def test_a_cost_above_what_is_left_is_refused(rho: float) -> None:
    check_cost(0.5, Budget("rho", 0.5), where=WHERE)
    with pytest.raises(MessageError, match=r"expected a cost of at most rho 0\.5, found"):
        check_cost(rho, Budget("rho", 0.5), where=WHERE)


# ---- Runs


def correlated(rows: int) -> pd.DataFrame:
    """A cycle of four attributes, one that stands alone, and one with a single label."""
    generator = np.random.default_rng(5)
    a = generator.integers(0, 3, rows)
    columns = {"a": a}
    for name, before in (("b", "a"), ("c", "b"), ("d", "c")):
        noise = generator.random(rows) < 0.1
        columns[name] = np.where(noise, generator.integers(0, 3, rows), columns[before])
    columns["e"] = generator.integers(0, 2, rows)
    columns["f"] = np.zeros(rows, int)
    return pd.DataFrame(columns).astype(str)


SCHEMA = {
    **{name: ["0", "1", "2"] for name in "abcd"},
    "e": ["0", "1"],
    "f": ["0"],
}


@pytest.mark.parametrize("parties", [1, 3])
def test_with_little_noise_all_pairs_are_right(parties: int) -> None:
    """At epsilon 100 the distance is that of the rows that are drawn."""
    table = correlated(6000)
    run = sottovoce.run(
        "aim",
        table,
        schema=SCHEMA,
        parties=parties,
        epsilon=100.0,
        aggregator="masks",
        seed=1,
        judge=False,
    )
    synthetic = run.synthetic
    assert synthetic is not None
    assert len(synthetic) == len(table)
    for pair in combinations("abcdef", 2):
        real = pd.crosstab(table[pair[0]], table[pair[1]]) / len(table)
        made = pd.crosstab(synthetic[pair[0]], synthetic[pair[1]]) / len(synthetic)
        distance = (real - made.reindex_like(real).fillna(0)).abs().to_numpy().sum() / 2
        assert distance < 0.01, pair
    assert run.model is not None
    turns = {entry["party"] for entry in run.model["rounds"]}
    assert turns == set(range(1, parties + 1))


@pytest.mark.parametrize("lost", [[], [1], [1, 3], [1, 2, 3]])
@pytest.mark.parametrize("scale", [1e-9, 1.0])
def test_a_lost_party_has_no_turn_however_little_the_others_are_worth(
    lost: list[int], scale: float
) -> None:
    """The turn goes to who can choose best, and nobody is left if all of them are lost."""
    rows = [900, 500, 700]
    budget = RunBudget(
        left=scale, table=scale, tables=scale, rows=rows, choices=[scale] * 3, lost=lost
    )
    party, cost = budget.next_round()
    left = [party for party in (1, 2, 3) if party not in lost]
    if left:
        assert party == max(left, key=lambda party: rows[party - 1])
        assert cost > 0
    else:
        assert (party, cost) == (0, 0)


@pytest.mark.parametrize("candidates", [[("a",), ("a", "b")], [("a",), ("d",)]])
def test_a_choice_is_as_noisy_as_its_candidates_weigh(candidates: list[tuple[str, ...]]) -> None:
    """A record changes a distance by 2 at most; the weight of the heaviest candidate times it."""
    domain = Domain(dict.fromkeys("abcd", ("x", "y")))
    kind: Any = find("aim")
    protocol = kind(kind.Parameters(), mode="rigorous")
    plan = protocol.plan(domain)
    model = model_of(domain, {})
    message = write_model(model, candidates, rho=1e-3, noise_share=0.1)
    released: list[Any] = []

    def release(choice: Any, **_: Any) -> int:
        released.append(choice)
        return 0

    me: Any = SimpleNamespace(
        number=1,
        where=WHERE,
        records=range(100),
        receive=lambda *_, **__: message,
        release=release,
        send=lambda *_, **__: None,
    )
    tables = {family: np.full(domain.cells(family), 25) for family in plan.workload.weights}
    assert protocol.choose_table(me, plan, tables, allowed=1.0) == 1e-3
    heaviest = max(plan.workload.weights[family] for family in candidates)
    assert released[0].sensitivity == pytest.approx(2 * heaviest, rel=1e-5)


@pytest.mark.parametrize(("part", "factor"), [(0.8, 4), (1.25, 1)])
def test_noise_is_halved_where_a_table_changed_the_model_less_than_noise_would(
    part: float, factor: int
) -> None:
    """The measured pair is away from the model by a part of what its noise would be on average."""
    rows, deviation = 10_000, 50.0
    domain = Domain({"a": ("x", "y"), "b": ("x", "y")})
    kind: Any = find("aim")
    protocol = kind(kind.Parameters(), mode="rigorous")
    plan = protocol.plan(domain)
    away = part * np.sqrt(2 / np.pi) * deviation  # of each of the four cells
    measured = np.rint(rows / 4 + away * np.array([1, -1, -1, 1])).astype(np.int64)
    sums: Any = SimpleNamespace(
        rows=rows,
        rows_by_party=[rows],
        counts_rows=True,
        noise_share=lambda *_, **__: 0.01,
        total=lambda _: measured,
        variance=lambda _: deviation**2,
    )
    desk: Any = SimpleNamespace(
        parties=[1],
        lost=set(),
        where=WHERE,
        broadcast=lambda *_: None,
        send=lambda *_, **__: None,
        progress=lambda *_, **__: None,
        require_enough=lambda *_, **__: None,
        receive_in_turn=lambda *_, **__: Messages.Chosen(2),
    )
    singles = [Estimate(Marginal((name,), np.full(2, rows / 2)), 1e-3) for name in "ab"]
    _, rounds = protocol.measure(desk, sums, plan, singles, start=model_of(domain, {}))
    assert [entry.attributes for entry in rounds[:2]] == [("a", "b")] * 2
    assert rounds[1].rho == pytest.approx(factor * rounds[0].rho)
