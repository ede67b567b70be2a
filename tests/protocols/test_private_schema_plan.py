"""The plan of learning a schema: its parts add up to the budget, and choices are the better ones.

The referees are the deviations of the noise, and losses that are added up release by release.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import sqrt
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest

from sottovoce.parties import Bins, Categories, Learnt, Schema, SchemaPlan
from sottovoce.privacy import Budget
from sottovoce.privacy.budget import Unit
from sottovoce.privacy.domain import MAX_LABELS
from sottovoce.privacy.histogram import SecretHistogram
from sottovoce.protocols.cost import Public
from sottovoce.protocols.private_schema.budget import (
    delta_of_rest,
    expected_domain,
    rest_of_budget,
    whole_budget,
)
from sottovoce.protocols.private_schema.curator import _histograms, unknown_ranges
from sottovoce.protocols.private_schema.grid import (
    COARSE_EDGES,
    Histogram,
    finer_edges,
    quantile_edges,
)
from sottovoce.protocols.private_schema.protocol import PrivateSchema, PrivateSchemaParameters
from sottovoce.protocols.private_schema.questions import Questions, check_questions
from sottovoce.protocols.private_schema.rounds import Rounds
from sottovoce.protocols.private_schema.rules import (
    ALL_NUMBERS,
    FirstCounts,
    categories_of,
    number_bins,
)
from sottovoce.protocols.secure_sum import SumBatch

Noise: TypeAlias = Literal["auto", "laplace", "gaussian"]
DELTA = 1e-6
TENS = COARSE_EDGES.tolist().index(10.0)
"""The coarse cell of numbers above 10, up to 20."""
SEX = Categories(categories=("f", "m"))
PLAN = SchemaPlan(
    {
        "age": Learnt(kind="numbers", bins=8),
        "sex": SEX,
        "any": Learnt(bins=20),
        "town": Learnt(kind="categories"),
        "year": Learnt(kind="integers", bins=5),
    }
)


def rounds(budget: Budget, *, plan: SchemaPlan = PLAN) -> Rounds:
    return Rounds(plan, budget, DELTA)


def amount_of(batch: SumBatch) -> float:
    return batch.epsilon if batch.rho is None else batch.rho


def parts_of(budget: Budget, *, rows: int, plan: SchemaPlan = PLAN) -> tuple[float, ...]:
    return rounds(budget, plan=plan).parts(parties=3, rows=rows, colluding=1)


@pytest.mark.parametrize("budget", [Budget.pure(0.8), Budget("rho", 0.03)])
@pytest.mark.parametrize("rows", [50, 10_000_000])
def test_every_column_spends_an_equal_part_of_the_budget(budget: Budget, rows: int) -> None:
    """A column of numbers in its histograms, and one of texts in its histogram and release."""
    plan, parts = rounds(budget), parts_of(budget, rows=rows)
    assert sum(parts) == pytest.approx(1)
    assert len(parts) == (2 if rows == 50 else 3)
    of_column = budget.amount / 4
    # The first histograms, and then finer ones of all columns of numbers but one with texts.
    first = plan.first(parts)
    assert amount_of(first) == pytest.approx(3 * parts[0] * of_column)
    assert first.sensitivity == 6
    assert first.squares == (6 if budget.concentrated else None)
    assert first.cells == 3 * plan.first_cells == 3 * (len(COARSE_EDGES) + 1)
    finer = [plan.finer(part, cells=[4, 7]) for part in parts[1:]]
    assert all((batch.cells, batch.sensitivity) == (11, 4) for batch in finer)
    assert all(batch.squares == (4 if budget.concentrated else None) for batch in finer)
    numbers = amount_of(first) / 3 + sum(amount_of(batch) for batch in finer) / 2
    assert numbers == pytest.approx(of_column)
    found_to_be_texts = plan.of_texts("any", parts).amount
    assert amount_of(first) / 3 + found_to_be_texts == pytest.approx(of_column)
    assert plan.of_texts("town", parts).amount == pytest.approx(of_column)
    # At most all four columns have texts, and what comes after has the rest of delta.
    assert 4 * plan.delta_of_texts + delta_of_rest(DELTA) == pytest.approx(DELTA)
    assert 0 < plan.delta_of_texts < delta_of_rest(DELTA) / 4


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_third_histogram_is_counted_where_bins_stand_out_of_its_noise(unit: str) -> None:
    """The rows of the smallest bin are to be more than five deviations of the third histogram."""
    budget = Budget("rho", 0.02) if unit == "rho" else Budget.pure(0.5)
    last = budget.amount * 0.375 * 3 / 4  # of three columns of four
    deviation = sqrt(6 / 2 / last) if unit == "rho" else sqrt(2) * 6 / last
    needed = 5 * 20 * deviation * sqrt(3 / 2)  # one party of three knows its share of the noise
    assert len(parts_of(budget, rows=int(needed * 0.98))) == 2
    assert len(parts_of(budget, rows=int(needed * 1.02))) == 3


def test_texts_alone_need_no_histogram() -> None:
    plan = SchemaPlan({"town": Learnt(kind="categories"), "sex": SEX})
    parts = parts_of(Budget.pure(1.0), rows=10**9, plan=plan)
    assert len(parts) == 2
    assert rounds(Budget.pure(1.0), plan=plan).counted_first == []
    assert rounds(Budget.pure(1.0), plan=plan).of_texts("town", parts).amount == 1.0


def variance_of_counts(budget: Budget, *, plan: SchemaPlan, rows: int) -> float:
    """Compute the variance of what least squares make of a count in all histograms of a budget."""
    spent = rounds(budget, plan=plan)
    parts = spent.parts(parties=3, rows=rows, colluding=1)
    batches = [spent.first(parts), *(spent.finer(part, cells=[9]) for part in parts[1:])]
    noise = [batch.among(parties=3, rows=rows, colluding=1) for batch in batches]
    inverse = np.diag([1 / each.variance(shares=True) for each in noise])
    column = np.ones((len(noise), 1))
    return float(np.linalg.inv(column.T @ inverse @ column)[0, 0])


def chosen_budget(plan: SchemaPlan, *, epsilon: float, rows: int, noise: Noise = "auto") -> Budget:
    """Let the protocol choose; its rounds have all of the budget."""
    settings = PrivateSchemaParameters(epsilon=epsilon, delta=DELTA, noise=noise, colluding=1)
    public = Public(parties=3, rows=rows, key_bits=2048, domain=None)
    return PrivateSchema(settings, mode="rigorous").rounds(plan, public).budget


@pytest.mark.parametrize("rows", [100, 10_000_000])
def test_the_unit_with_less_noise_is_taken(rows: int) -> None:
    """Both choices are tried, up to and across the border between them.

    Histograms share the budget, so the border is not where it is for one histogram.
    """
    chosen = set()
    otherwise = 0
    for columns, epsilon in product([1, 2, 3, 5, 10, 40, 200], [0.1, 1.0, 5.0, 12.0]):
        plan = SchemaPlan({f"a{place}": Learnt(kind="numbers") for place in range(columns)})
        both = Budget.candidates(epsilon, delta=delta_of_rest(DELTA))
        assert len(both) == 2
        better = min(both, key=lambda each: variance_of_counts(each, plan=plan, rows=rows))
        assert chosen_budget(plan, epsilon=epsilon, rows=rows) == better
        alone = min(both, key=lambda each: rounds(each, plan=plan).first((1.0,)).deviation)
        chosen.add(better.unit)
        otherwise += alone != better
    assert chosen == {"epsilon", "rho"}
    assert otherwise


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 6, 10, 40])
def test_for_texts_alone_the_unit_with_less_noise_is_taken(columns: int) -> None:
    """Each column of texts is released once, with its whole part of the budget."""
    plan = SchemaPlan({f"t{place}": Learnt(kind="categories") for place in range(columns)})
    for epsilon in (0.5, 5.0):
        both = Budget.candidates(epsilon, delta=delta_of_rest(DELTA))
        deviation = {
            budget: deviation_of_texts(rounds(budget, plan=plan).of_texts("t0", (0.5, 0.5)))
            for budget in both
        }
        better = min(both, key=lambda each: deviation[each])
        assert chosen_budget(plan, epsilon=epsilon, rows=100) == better


def deviation_of_texts(budget: Budget) -> float:
    released = SecretHistogram({"a": 1}, budget, DELTA, "replace-one")
    return released.scale * (1 if budget.concentrated else sqrt(2))


def test_a_unit_that_is_given_is_kept() -> None:
    candidates = Budget.candidates(1.0, delta=1e-9)

    def variance(budget: Budget) -> float:
        return budget.amount

    best = min(candidates, key=variance)
    assert whole_budget(candidates, unit=None, variance=variance) == best
    for budget in candidates:
        assert whole_budget(candidates, unit=budget.unit, variance=variance) == budget
    assert whole_budget(candidates[:1], unit="rho", variance=variance) == candidates[0]
    plan = SchemaPlan({"a": Learnt(kind="numbers")})
    assert chosen_budget(plan, epsilon=1.0, rows=100, noise="laplace").unit == "epsilon"
    assert chosen_budget(plan, epsilon=1.0, rows=100, noise="gaussian").unit == "rho"


@pytest.mark.parametrize("rows", [100, 10_000_000])
@pytest.mark.parametrize("unit", ["epsilon", "rho", None])
def test_the_unit_is_that_of_the_protocol_after(unit: Unit | None, rows: int) -> None:
    """It sees the domain that is expected. If it has no unit of its own, it has an epsilon."""
    asked: list[Public] = []

    def unit_of_budget(public: Public) -> Unit | None:
        asked.append(public)
        return unit

    after: Any = SimpleNamespace(unit_of_budget=unit_of_budget)
    public = Public(parties=3, rows=rows, key_bits=2048, domain=None)
    for columns in (1, 200):
        plan = SchemaPlan({f"a{place}": Learnt(kind="numbers") for place in range(columns)})
        settings = PrivateSchemaParameters(epsilon=1.0, delta=DELTA)
        protocol = PrivateSchema(settings, mode="rigorous", share=0.25, after=after)
        whole = Budget.candidates(1.0, delta=delta_of_rest(DELTA))[unit == "rho"]
        assert whole.unit == (unit or "epsilon")
        assert protocol.rounds(plan, public).budget == whole.share(0.25)
        assert asked[-1] == replace(public, domain=expected_domain(plan))


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_rest_of_the_budget_is_that_of_the_protocol_after(share: float) -> None:
    pure = rest_of_budget(Budget.pure(2.0), share=share, delta=DELTA)
    assert pure["epsilon"] == pytest.approx(2 * (1 - share))
    assert pure["noise"] == "laplace"
    whole = Budget.of(2.0, delta=delta_of_rest(DELTA))
    gaussian = rest_of_budget(whole, share=share, delta=DELTA)
    assert gaussian["noise"] == "gaussian"
    assert gaussian["delta"] == pure["delta"] == delta_of_rest(DELTA)
    after = Budget.of(gaussian["epsilon"], delta=gaussian["delta"])
    assert after.amount == pytest.approx((1 - share) * whole.amount, rel=1e-6)


def test_a_plan_is_expected_to_have_all_its_bins() -> None:
    domain = expected_domain(PLAN)
    assert domain.attributes == ("age", "sex", "any", "town", "year")
    assert domain.shape(domain.attributes) == (8, 2, 20, 16, 5)


# ---- From counts to rules


def counts(*, numbers: int = 900, texts: int = 0, absent: int = 0, variance: float) -> FirstCounts:
    cells = np.zeros(len(COARSE_EDGES) + 1, np.int64)
    cells[TENS], cells[-2], cells[-1] = numbers, texts, absent
    return FirstCounts.of(cells, variance=variance, rows=numbers + texts + absent)


@pytest.mark.parametrize(("absent", "missing"), [(40, "refuse"), (41, "category"), (0, "refuse")])
def test_absent_values_are_a_category_beyond_four_deviations(absent: int, missing: str) -> None:
    first = counts(absent=absent, variance=100.0)
    assert first.numbers.deviation == 10
    assert first.missing == missing
    assert number_bins(first, [], learnt=Learnt()).missing == missing


@pytest.mark.parametrize(("numbers", "texts", "absent"), [*product((1, 5), (4, 5, 6), (0, 3))])
def test_a_column_has_texts_if_more_rows_have_texts_than_numbers(
    numbers: int, texts: int, absent: int
) -> None:
    first = counts(numbers=numbers, texts=texts, absent=absent, variance=1.0)
    assert first.are_texts == (texts > numbers)
    assert first.numbers.counts.sum() == numbers
    assert len(first.numbers.counts) == len(COARSE_EDGES) - 1


def test_without_a_range_or_a_finer_histogram_there_is_one_bin() -> None:
    hidden, clear = counts(numbers=40, variance=100.0), counts(numbers=41, variance=100.0)
    finer = [Histogram(np.array([10.0, 14.0, 18.0, 20.0]), np.array([20.0, 20.0, 1.0]), 1.0)]
    assert number_bins(hidden, finer, learnt=Learnt()).edges == ALL_NUMBERS.edges
    assert number_bins(clear, [], learnt=Learnt()).edges == ALL_NUMBERS.edges
    assert ALL_NUMBERS.edges == (-1e12, 1e12)
    for learnt in (Learnt(kind="integers", bins=4), Learnt(kind="numbers", bins=4)):
        rule = number_bins(clear, finer, learnt=learnt)
        assert len(rule.edges) > 2
        assert rule.kind == learnt.kind
        assert rule.clip


def test_categories_are_the_most_frequent_texts_of_all_parties() -> None:
    """There is room for one label less than the most: other texts, and perhaps absent ones."""
    assert categories_of([], missing="refuse") == Categories(
        categories=(), other="(other)", missing="refuse"
    )
    parties = [{"b": 3, "a": 2, "(other)": 50}, {"a": 2, "c": 1}]
    rule = categories_of(parties, missing="category")
    assert (rule.categories, rule.other, rule.missing) == (("a", "b", "c"), "(other)", "category")
    many = {f"t{number:05}": 10 for number in range(MAX_LABELS)}
    rule = categories_of([{**many, "rare": 1, "often": 11}, {"t00003": -10}], missing="category")
    assert len(rule.labels) <= MAX_LABELS
    assert len(rule.categories) == MAX_LABELS - 2
    assert "often" in rule.categories
    assert "t00000" in rule.categories
    assert not {"rare", "t00003", f"t{MAX_LABELS - 1:05}"} & {*rule.categories}


@pytest.mark.parametrize(
    ("edges", "is_accepted"), [(1, False), (2, True), (257, True), (258, False)]
)
def test_questions_have_up_to_256_bins(edges: int, is_accepted: bool) -> None:
    questions = Questions(edges={"age": tuple(map(float, range(edges)))})
    if is_accepted:
        check_questions(questions, plan=PLAN, before=None)
    else:
        with pytest.raises(Exception, match="expected edges that rise"):
            check_questions(questions, plan=PLAN, before=None)


# ---- Quantiles


@pytest.mark.parametrize("deviation", [0.0, 3.0, 25.0, 60.0, 300.0])
@pytest.mark.parametrize("bins", [2, 5, 16])
def test_bins_have_two_deviations_of_rows_each(deviation: float, bins: int) -> None:
    """Rows that are spread evenly get as many bins as the noise of the last histogram carries."""
    rows = 1000
    coarse = np.zeros(len(COARSE_EDGES) - 1)
    coarse[TENS : TENS + 2] = 250, 750  # from 10 to 20, and from 20 to 50
    edges = np.linspace(10, 50, 41)
    fine = Histogram(edges, np.full(40, 25.0), deviation**2)
    found = quantile_edges(
        [Histogram(COARSE_EDGES, coarse, 1.0), fine], rows=rows, bins=bins, whole=False
    )
    carried = bins if not deviation else int(rows / (2 * deviation))
    assert len(found) - 1 == max(2, min(bins, carried))
    expected = np.linspace(10, 50, len(found))
    if deviation <= 3:
        assert found == pytest.approx(expected, abs=40 / (len(found) - 1) / 10)


def test_a_rule_of_numbers_outside_bins_counts_them_in_the_nearest() -> None:
    assert isinstance(ALL_NUMBERS, Bins)
    assert ALL_NUMBERS.bins_of(np.array([-1e13, 0.0, 1e13])).tolist() == [0, 0, 0]


def test_columns_of_an_unknown_range_are_those_whose_only_bin_has_all_numbers() -> None:
    known = Bins(edges=(0.0, 50.0, 100.0), clip=True)
    schema = Schema({"age": known, "any": ALL_NUMBERS, "sex": SEX, "sum": ALL_NUMBERS})
    assert unknown_ranges(schema) == ["any", "sum"]


@pytest.mark.parametrize("seed", range(40))
def test_edges_stay_within_the_range_and_in_their_order(seed: int) -> None:
    """Rounding moves each by less than half of the bins beside it, from the first to the last."""
    generator = np.random.default_rng(seed)
    low = int(generator.integers(0, len(COARSE_EDGES) - 4))
    high = int(generator.integers(low + 1, min(low + 9, len(COARSE_EDGES) - 1)))
    coarse = np.zeros(len(COARSE_EDGES) - 1)
    coarse[low:high] = generator.integers(1000, 9000, high - low)
    rows, bins = int(coarse.sum()), int(generator.integers(2, 60))
    edges = finer_edges([Histogram(COARSE_EDGES, coarse, 1.0)], rows=rows, bins=bins, whole=False)
    assert (edges[0], edges[-1]) == (COARSE_EDGES[low], COARSE_EDGES[high])
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= bins + 1
    in_zero = (edges > -1e-9) & (edges < 0)
    assert not in_zero.any()


def test_histograms_of_fewer_rows_are_scaled_with_their_noise() -> None:
    """A party was lost since the first counts: the deviation grows as the counts do.

    The referee is the variance of many scaled draws. It is off by 10 per cent with a chance below
    1e-9.
    """
    plan = SchemaPlan({name: Learnt(kind="numbers") for name in ("a", "b")})
    edges = {"a": np.arange(4.0), "b": np.arange(20_001.0)}
    noise = np.random.default_rng(7).normal(0, 3, 20_003)
    of_columns = rounds(Budget.pure(1.0), plan=plan)
    for rows in (60, 90, 0):
        sums: Any = SimpleNamespace(rows=rows, total=lambda _: noise, variance=lambda _: 9.0)
        found = _histograms(sums, of_columns, 0.5, edges=edges, rows=90)
        assert [len(histogram.counts) for histogram in found.values()] == [3, 20_000]
        factor = 90 / rows if rows else 90
        assert found["a"].counts == pytest.approx(factor * noise[:3])
        assert found["b"].variance == pytest.approx(np.var(found["b"].counts), rel=0.1)
