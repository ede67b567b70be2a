"""Adversarial belief, the loss of several reports together, and the division of a budget.

Claims of spec A are checked by enumeration.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import exp, expm1, inf, log, log1p

import numpy as np
import pytest

from sottovoce.curator.labels import underestimation, upper_beliefs
from sottovoce.evaluation.label_sets import LABEL_SETS, conditional_of, label_set
from sottovoce.messages import UsageError
from sottovoce.privacy.local.belief import (
    Allocation,
    PastReport,
    allocate,
    beliefs,
    capped_belief,
    largest_ratio,
    leakage,
)
from sottovoce.privacy.local.groups import GroupBook
from sottovoce.privacy.local.heads import HeadsResponse, choose_heads


def test_table_1_and_table_4() -> None:
    """D1 and D2; the printed .638 is .6387 (C16)."""
    assert beliefs([[0.01, 0.22, 0.77], [0.68, 0.16, 0.16]]).round(12).tolist() == [0.77, 0.99, 1.0]
    curves = {name: beliefs(conditional_of(name)) for name in LABEL_SETS}
    assert curves["N(25,1)"][0] == pytest.approx(0.382925, abs=2e-6)
    assert curves["N(25,0.3)"][0] == pytest.approx(0.638691, abs=2e-5)
    assert curves["U(1,50)"][11] == pytest.approx(0.24)
    assert curves["N(25,1)"][:5].round(4).tolist() == [0.3829, 0.6247, 0.8664, 0.9270, 0.9876]
    assert curves["N(25,0.3)"][:5].round(4).tolist() == [0.6387, 0.8163, 0.9938, 0.9969, 1.0]


def test_drawn_labels_have_the_stated_distribution() -> None:
    """The tables of section 7.1 are within five standard deviations of their distribution."""
    table = label_set("N(25,0.3)", rows=20_000, seed=1)
    fifth = table[table["label"] == "5"]["value"].astype(int)
    assert abs((fifth == 25).mean() - 0.6387) < 5 * np.sqrt(0.6387 * 0.3613 / len(fifth))
    assert {len(table), table["label"].nunique(), table["value"].nunique()} == {20_000, 5, 50}
    with pytest.raises(UsageError, match=r"expected one of U\(1,50\)"):
        conditional_of("N(0,1)")


def test_definition_5_by_enumeration() -> None:
    """A set of k cells names at most omega(k) of a label's people, with whatever label."""
    rng = np.random.default_rng(1)
    for values, labels in ((3, 2), (2, 3)):
        conditional = rng.dirichlet(np.ones(values), size=labels)
        curve = [*beliefs(conditional), *[1.0] * (values * labels)]
        cells = list(product(range(labels), range(values)))
        for k in range(1, len(cells) + 1):
            largest = max(
                sum(conditional[label, value] for value in {value for _, value in chosen})
                for chosen in combinations(cells, k)
                for label in range(labels)
            )
            assert curve[k - 1] == pytest.approx(min(1.0, largest))


@pytest.mark.parametrize("chosen", [1, 2])
def test_equation_13_bounds_all_reports_together(chosen: int) -> None:
    """The bound holds for all pairs of reports about nested sets, and is nearly reached (A6)."""
    rng = np.random.default_rng(chosen)
    closest = 0.0
    for _ in range(12):
        joint = rng.dirichlet(np.full(4, 0.6), size=2).reshape(2, 2, 2)  # Pr[u, v | l]
        u = joint.sum(axis=2)
        first, second = (
            float(beliefs(table.reshape(2, -1))[min(chosen, 2 * table.ndim - 2) - 1])
            for table in (u, joint)
        )
        randomizer_1 = HeadsResponse(4, epsilon=0.6, belief=first, chosen=chosen)
        randomizer_2 = HeadsResponse(8, epsilon=0.8, belief=second, chosen=chosen)
        bound = leakage(
            [
                PastReport(first, float(randomizer_1.ratio)),
                PastReport(second, float(randomizer_2.ratio)),
            ]
        )
        worst = 0.0
        laws_1 = [randomizer_1.law(value) for value in range(4)]
        laws_2 = [randomizer_2.law(value) for value in range(8)]
        for report_1, report_2 in product(laws_1[0], laws_2[0]):
            likelihoods = [
                sum(
                    joint[label, a, b]
                    * float(laws_1[label * 2 + a][report_1])
                    * float(laws_2[label * 4 + a * 2 + b][report_2])
                    for a in range(2)
                    for b in range(2)
                )
                for label in range(2)
            ]
            worst = max(worst, max(likelihoods) / min(likelihoods))
        assert worst <= bound * (1 + 1e-9)
        closest = max(closest, worst / bound)
    assert closest > 0.95


def test_the_printed_sum_equals_equation_13() -> None:
    """The value is D14."""
    omegas, epsilons = (0.6, 0.4, 0.3), (0.2, 0.25, 0.1877)
    theta = [expm1(e) / omega + 1 for e, omega in zip(epsilons, omegas, strict=True)]
    printed = 1 - omegas[0] + omegas[2] * np.prod(theta)
    printed += (omegas[0] - omegas[1]) * theta[0] + (omegas[1] - omegas[2]) * theta[0] * theta[1]
    assert leakage(
        [PastReport(*pair) for pair in zip(omegas, theta, strict=True)]
    ) == pytest.approx(printed)
    assert printed == pytest.approx(2.0936022, abs=1e-7)


@pytest.mark.parametrize("allocation", ["tight", "paper_fixed", "paper"])
@pytest.mark.parametrize(
    "omegas", [(1.0,) * 5, (0.2, 0.1, 0.05, 0.02, 0.01), (0.6, 0.6, 0.9, 0.5, 0.4)]
)
def test_no_allocation_exceeds_the_budget(
    allocation: Allocation, omegas: tuple[float, ...]
) -> None:
    reports: list[PastReport] = []
    for number, omega in enumerate(omegas, start=1):
        epsilon = allocate(
            reports, belief=omega, epsilon=1.0, number=number, rounds=5, allocation=allocation
        )
        if epsilon:
            reports.append(PastReport(omega, expm1(epsilon) / omega + 1))
        assert leakage(reports) <= exp(1) * (1 + 1e-12)
    if allocation == "tight":
        assert leakage(reports) == pytest.approx(exp(1))


def test_equation_15_as_printed() -> None:
    """C7: nothing is left for the fifth round if omega is 1 (D15); if small, budget is unused."""
    reports: list[PastReport] = []
    epsilons = []
    for number in range(1, 6):
        epsilon = allocate(
            reports, belief=1.0, epsilon=1.0, number=number, rounds=5, allocation="paper"
        )
        epsilons.append(epsilon)
        reports += [PastReport(1.0, exp(epsilon))] if epsilon else []
    assert epsilons == pytest.approx([0.2, 0.25, 1 / 3, 0.216667, 0.0], abs=1e-6)
    reports = []
    for number, omega in enumerate((0.2, 0.1, 0.05, 0.02, 0.01), start=1):
        epsilon = allocate(
            reports, belief=omega, epsilon=1.0, number=number, rounds=5, allocation="paper"
        )
        reports.append(PastReport(omega, expm1(epsilon) / omega + 1))
    assert log(leakage(reports)) == pytest.approx(0.619, abs=1e-3)


def test_the_cap_is_kept() -> None:
    """The loss of the whole record is ln of the product of all thetas."""
    assert capped_belief(0.02, epsilon=1.0, cap=None) == 0.02
    omega = capped_belief(0.02, epsilon=1.0, cap=2.0)
    assert log(expm1(1) / omega + 1) == pytest.approx(2.0)
    assert capped_belief(0.9, epsilon=1.0, cap=2.0) == 0.9
    assert capped_belief(0.02, epsilon=1.0, cap=1.0) == 1.0
    reports: list[PastReport] = []
    for number in range(1, 4):
        epsilon = allocate(
            reports, belief=0.05, epsilon=1.0, number=number, rounds=3, allocation="tight", cap=1.5
        )
        reports += [PastReport(0.05, expm1(epsilon) / 0.05 + 1)] if epsilon else []
    assert sum(log(report.ratio) for report in reports) == pytest.approx(1.5)


def test_omega_does_not_grow_with_more_attributes() -> None:
    """C8: the paper claims the opposite, but k fine cells are within k coarse ones."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        joint = rng.dirichlet(np.full(6, 0.5), size=3).reshape(3, 3, 2)
        fine, coarse = beliefs(joint.reshape(3, 6)), beliefs(joint.sum(axis=2))
        assert all(fine[k] <= coarse[min(k, 2)] + 1e-12 for k in range(6))


def test_hashing_needs_the_omega_of_hashes() -> None:
    """C12: of 12 values hashed to 4, the omega of values gives a ratio of 5.6, not e = 2.72."""
    conditional = np.full((2, 12), 1 / 12)
    conditional[1] = [0.25, 0.25, 0.25, 0, 0, 0.25, 0, 0, 0, 0, 0, 0]
    hashed = np.array([0, 0, 0, 1, 1, 0, 2, 2, 2, 3, 3, 3])
    buckets = np.stack([np.bincount(hashed, row, minlength=4) for row in conditional])
    naive, right = (
        HeadsResponse(8, epsilon=1.0, belief=float(beliefs(table)[0]), chosen=1)
        for table in (conditional, buckets)
    )
    assert largest_ratio([naive.law(value) for value in range(8)], buckets) > 5
    assert largest_ratio([right.law(value) for value in range(8)], buckets) == pytest.approx(
        exp(1), rel=1e-6
    )


def test_a_report_that_one_label_never_gives_has_no_bound() -> None:
    """The other report has a ratio of 2, whichever label comes first."""
    laws: list[dict[bytes, Fraction]] = [
        {b"a": Fraction(1, 2), b"b": Fraction(1, 2)},
        {b"a": Fraction(1), b"b": Fraction(0)},
    ]
    likely = [{b"a": law[b"a"]} for law in laws]
    for order in (1, -1):
        assert largest_ratio(laws[::order], [[1.0], [1.0]]) == inf
        assert largest_ratio(likely[::order], [[1.0], [1.0]]) == 2


def test_the_upper_bound_is_above_the_truth() -> None:
    """The plug-in estimate is often below the truth (C11).

    There are 300 estimates of a table of Adult's size, with a tenth of its users for one of 14
    attributes.
    """
    rng = np.random.Generator(np.random.Philox(4))
    conditional = np.stack([rng.dirichlet(np.full(8, 0.7)) for _ in range(2)])
    joint = conditional * np.array([[0.76], [0.24]])
    true, users = beliefs(conditional), 230
    randomizer = HeadsResponse(16, epsilon=4.0, chosen=choose_heads(16, epsilon=4.0, beliefs=[1.0]))
    variance = randomizer.variance(users=users)
    below = {3.0: 0, 0.0: 0}
    for _ in range(300):
        counts = rng.multinomial(users, joint.reshape(-1))
        support = randomizer.simulate(counts, rng)
        table = randomizer.estimate(support, users=users).reshape(2, 8)
        for sure in below:
            bound = upper_beliefs(table, variance=variance, users=users, sure=sure)
            assert (np.diff(bound) >= -1e-12).all()
            below[sure] += bool(bound[0] < true[0] - 1e-9)
    assert below[3.0] == 0
    assert below[0.0] > 30
    # The second label may have no users.
    assert upper_beliefs(
        np.array([[0.5, 0.5], [0.01, -0.01]]), variance=0.01, users=100
    ).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(3))
def test_upper_bounds_fail_no_more_often_than_delta_states(seed: int) -> None:
    """A failure of this test itself has a probability below 1e-6: five standard deviations."""
    rng = np.random.Generator(np.random.Philox(seed))
    conditional = np.stack([rng.dirichlet(np.full(6, 2.0)) for _ in range(3)])
    joint = conditional * np.array([[0.5], [0.3], [0.2]])
    true, users, runs = beliefs(conditional), 3_000, 800
    randomizer = HeadsResponse(18, epsilon=2.0, chosen=choose_heads(18, epsilon=2.0, beliefs=[1.0]))
    variance = randomizer.variance(users=users)
    failures = {sure: np.zeros(6, np.int64) for sure in (0.0, 0.5, 1.0, 2.0, 3.0)}
    for _ in range(runs):
        support = randomizer.simulate(rng.multinomial(users, joint.reshape(-1)), rng)
        table = randomizer.estimate(support, users=users).reshape(3, 6)
        for sure in failures:
            bound = upper_beliefs(table, variance=variance, users=users, sure=sure)
            failures[sure] += bound < true - 1e-9
    for sure, failed in failures.items():
        delta = underestimation(sure)
        allowed = runs * delta + 5 * (runs * delta * (1 - delta)) ** 0.5
        assert failed.max() <= allowed, sure
    assert failures[0.0].max() > 0.05 * runs


class TestBook:
    def test_groups_are_divided_and_continue(self) -> None:
        book = GroupBook()
        first = book.record(0, 100, attributes=frozenset({1}), report=PastReport(1.0, exp(0.4)))
        assert first.epsilon == pytest.approx(0.4)
        assert first.whole_record is None
        before = book.copy()
        cost = book.record(0, 40, attributes=frozenset({1, 2}), report=PastReport(0.5, 3.0))
        assert before.of(0, 40).loss == pytest.approx(0.4)
        assert cost.epsilon == pytest.approx(
            log(leakage([PastReport(1.0, exp(0.4)), PastReport(0.5, 3.0)])) - 0.4
        )
        assert cost.whole_record == pytest.approx(log(3))
        assert book.of(0, 40).whole_record_loss == pytest.approx(0.4 + log(3))
        assert book.of(50, 100).loss == pytest.approx(0.4)
        assert book.of(100, 120).reports == ()
        book.record(60, 70, attributes=frozenset({1, 3}), report=PastReport(1.0, 2.0))
        assert [len(book.of(*users).reports) for users in ((40, 60), (60, 70), (70, 100))] == [
            1,
            2,
            1,
        ]
        book.record(200, 300, attributes=frozenset({5}), report=PastReport(1.0, 2.0))
        book.record(100, 200, attributes=frozenset({6}), report=PastReport(1.0, 1 + 1e-13))
        assert book.of(100, 200).loss == pytest.approx(1e-13, rel=1e-3)

    def test_inconsistent_groups_are_refused(self) -> None:
        book = GroupBook()
        book.record(10, 20, attributes=frozenset({1}), report=PastReport(1.0, 2.0))
        for start, end in ((15, 30), (0, 11), (5, 25)):
            with pytest.raises(ValueError, match=r"expected users who were asked alike"):
                book.of(start, end)
        with pytest.raises(ValueError, match=r"expected a set with the attributes \[1\]"):
            book.record(10, 20, attributes=frozenset({2, 3}), report=PastReport(1.0, 2.0))


@pytest.mark.parametrize("allocation", ["paper", "paper_fixed"])
@pytest.mark.parametrize("belief", [0.05, 0.3, 1.0])
def test_the_first_round_gets_an_even_share(allocation: Allocation, belief: float) -> None:
    """Equation 15 for r = 1, whatever omega is; its second case would be smaller for omega .05."""
    first = allocate([], belief=belief, epsilon=1.0, number=1, rounds=5, allocation=allocation)
    assert first == pytest.approx(0.2, rel=1e-12)
    assert log1p(0.05 * expm1(1.0)) < 0.2


def test_later_rounds_of_equation_15() -> None:
    """min(rest / (d - r + 1), ln(omega e^rest + 1 - omega)), with both cases."""
    reports = [PastReport(0.5, 1 + expm1(0.2) / 0.5)]  # B = e^0.2, so 0.8 is left
    for belief, expected in ((1.0, 0.2), (0.01, log1p(0.01 * expm1(0.8)))):
        second = allocate(
            reports,
            belief=belief,
            epsilon=1.0,
            number=2,
            rounds=5,
            allocation="paper_fixed",
        )
        assert second == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("allocation", ["paper", "paper_fixed", "tight"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(12))
def test_no_order_of_beliefs_leaks_more_than_epsilon(
    allocation: Allocation, epsilon: float, seed: int
) -> None:
    """Equation 13 bounds the ratio of all reports' likelihoods, also where omega rises."""
    generator = np.random.default_rng(seed)
    rounds = int(generator.integers(2, 8))
    beliefs = np.sort(generator.uniform(0.01, 1.0, rounds))
    if seed % 3 == 0:
        beliefs = np.where(np.arange(rounds) < rounds // 2, 0.01, 1.0)  # as steep as can be
    elif seed % 3 == 1:
        beliefs = generator.permutation(beliefs)
    reports: list[PastReport] = []
    for number, belief in enumerate(beliefs.tolist(), start=1):
        part = allocate(
            reports,
            belief=belief,
            epsilon=epsilon,
            number=number,
            rounds=rounds,
            allocation=allocation,
        )
        assert part >= 0
        if part:
            # A report with this part has the ratio exp(part) if its belief is omega (equation 4).
            reports.append(PastReport(belief, 1 + expm1(part) / belief))
        assert leakage(reports) <= exp(epsilon) * (1 + 1e-9)
