"""Adversarial belief, what several reports tell together, and how a budget is shared out: spec A,
by enumeration.
"""

from __future__ import annotations

from itertools import product
from math import exp, expm1, log

import numpy as np
import pytest

from sottovoce.curator.labels import upper_beliefs
from sottovoce.evaluation.label_sets import LABEL_SETS, conditional_of, label_set
from sottovoce.messages import UsageError
from sottovoce.privacy.local.belief import (
    Allocation,
    PastReport,
    allocate,
    beliefs,
    capped_belief,
    leakage,
)
from sottovoce.privacy.local.groups import GroupBook
from sottovoce.privacy.local.heads import HeadsResponse, choose_heads


def test_table_1_and_table_4() -> None:
    """D1, D2; .638 of the print is .6387 (C16)."""
    assert beliefs([[0.01, 0.22, 0.77], [0.68, 0.16, 0.16]]).round(12).tolist() == [0.77, 0.99, 1.0]
    found = {name: beliefs(conditional_of(name)) for name in LABEL_SETS}
    assert found["N(25,1)"][0] == pytest.approx(0.382925, abs=2e-6)
    assert found["N(25,0.3)"][0] == pytest.approx(0.638691, abs=2e-5)
    assert found["U(1,50)"][11] == pytest.approx(0.24)
    assert found["N(25,1)"][:5].round(4).tolist() == [0.3829, 0.6247, 0.8664, 0.9270, 0.9876]
    assert found["N(25,0.3)"][:5].round(4).tolist() == [0.6387, 0.8163, 0.9938, 0.9969, 1.0]


def test_labels_that_are_drawn() -> None:
    """The tables of section 7.1: within five standard deviations of what they are drawn from."""
    table = label_set("N(25,0.3)", rows=20_000, seed=1)
    fifth = table[table["label"] == "5"]["value"].astype(int)
    assert abs((fifth == 25).mean() - 0.6387) < 5 * np.sqrt(0.6387 * 0.3613 / len(fifth))
    assert {len(table), table["label"].nunique(), table["value"].nunique()} == {20_000, 5, 50}
    with pytest.raises(UsageError, match=r"expected one of U\(1,50\)"):
        conditional_of("N(0,1)")


def test_definition_5_by_enumeration() -> None:
    """Over all sets of k cells: the most of a label's people whose values a report names, with any
    label.
    """
    rng = np.random.default_rng(1)
    for values, labels in ((3, 2), (2, 3)):
        likely = rng.dirichlet(np.ones(values), size=labels)
        curve = [*beliefs(likely), *[1.0] * (values * labels)]
        cells = list(product(range(labels), range(values)))
        for k in range(1, len(cells) + 1):
            from itertools import combinations

            most = max(
                sum(likely[label, value] for value in {value for _, value in chosen})
                for chosen in combinations(cells, k)
                for label in range(labels)
            )
            assert curve[k - 1] == pytest.approx(min(1.0, most))


@pytest.mark.parametrize("chosen", [1, 2])
def test_equation_13_bounds_all_reports_together(chosen: int) -> None:
    """Two rounds of nested sets, all pairs of reports: never above, and nearly reached (spec
    A6).
    """
    rng = np.random.default_rng(chosen)
    closest = 0.0
    for _ in range(12):
        joint = rng.dirichlet(np.full(4, 0.6), size=2).reshape(2, 2, 2)  # Pr[u, v | l]
        u = joint.sum(axis=2)
        first, second = (
            float(beliefs(own.reshape(2, -1))[min(chosen, 2 * own.ndim - 2) - 1])
            for own in (u, joint)
        )
        one = HeadsResponse(4, epsilon=0.6, belief=first, chosen=chosen)
        two = HeadsResponse(8, epsilon=0.8, belief=second, chosen=chosen)
        bound = leakage([PastReport(first, float(one.ratio)), PastReport(second, float(two.ratio))])
        worst = 0.0
        laws_1, laws_2 = (
            [one.law(value) for value in range(4)],
            [two.law(value) for value in range(8)],
        )
        for said_1, said_2 in product(laws_1[0], laws_2[0]):
            seen = [
                sum(
                    joint[label, a, b]
                    * float(laws_1[label * 2 + a][said_1])
                    * float(laws_2[label * 4 + a * 2 + b][said_2])
                    for a in range(2)
                    for b in range(2)
                )
                for label in range(2)
            ]
            worst = max(worst, max(seen) / min(seen))
        assert worst <= bound * (1 + 1e-9)
        closest = max(closest, worst / bound)
    assert closest > 0.95


def test_d14_and_printed_sum() -> None:
    """Equation 13 as printed is the same sum."""
    omegas, epsilons = (0.6, 0.4, 0.3), (0.2, 0.25, 0.1877)
    theta = [expm1(own) / omega + 1 for own, omega in zip(epsilons, omegas, strict=True)]
    printed = 1 - omegas[0] + omegas[2] * np.prod(theta)
    printed += (omegas[0] - omegas[1]) * theta[0] + (omegas[1] - omegas[2]) * theta[0] * theta[1]
    assert leakage([PastReport(*own) for own in zip(omegas, theta, strict=True)]) == pytest.approx(
        printed
    )
    assert printed == pytest.approx(2.0936022, abs=1e-7)


@pytest.mark.parametrize("allocation", ["tight", "paper_fixed", "paper"])
@pytest.mark.parametrize(
    "omegas", [(1.0,) * 5, (0.2, 0.1, 0.05, 0.02, 0.01), (0.6, 0.6, 0.9, 0.5, 0.4)]
)
def test_no_allocation_spends_more_than_there_is(
    allocation: Allocation, omegas: tuple[float, ...]
) -> None:
    spent: list[PastReport] = []
    for number, omega in enumerate(omegas, start=1):
        own = allocate(
            spent, belief=omega, epsilon=1.0, number=number, rounds=5, allocation=allocation
        )
        if own:
            spent.append(PastReport(omega, expm1(own) / omega + 1))
        assert leakage(spent) <= exp(1) * (1 + 1e-12)
    if allocation == "tight":
        assert leakage(spent) == pytest.approx(exp(1))


def test_equation_15_as_printed() -> None:
    """C7: if omega is 1, nothing is left for the fifth round (D15); with small ones budget stays
    unused.
    """
    spent: list[PastReport] = []
    given = []
    for number in range(1, 6):
        own = allocate(spent, belief=1.0, epsilon=1.0, number=number, rounds=5, allocation="paper")
        given.append(own)
        spent += [PastReport(1.0, exp(own))] if own else []
    assert given == pytest.approx([0.2, 0.25, 1 / 3, 0.216667, 0.0], abs=1e-6)
    spent = []
    for number, omega in enumerate((0.2, 0.1, 0.05, 0.02, 0.01), start=1):
        own = allocate(
            spent, belief=omega, epsilon=1.0, number=number, rounds=5, allocation="paper"
        )
        spent.append(PastReport(omega, expm1(own) / omega + 1))
    assert log(leakage(spent)) == pytest.approx(0.619, abs=1e-3)


def test_the_cap_is_kept() -> None:
    """What is told of the whole record: ln of all thetas together."""
    assert capped_belief(0.02, epsilon=1.0, cap=None) == 0.02
    omega = capped_belief(0.02, epsilon=1.0, cap=2.0)
    assert log(expm1(1) / omega + 1) == pytest.approx(2.0)
    assert capped_belief(0.9, epsilon=1.0, cap=2.0) == 0.9
    assert capped_belief(0.02, epsilon=1.0, cap=1.0) == 1.0
    spent: list[PastReport] = []
    for number in range(1, 4):
        own = allocate(
            spent, belief=0.05, epsilon=1.0, number=number, rounds=3, allocation="tight", cap=1.5
        )
        spent += [PastReport(0.05, expm1(own) / 0.05 + 1)] if own else []
    assert sum(log(own.ratio) for own in spent) == pytest.approx(1.5)


def test_omega_does_not_grow_with_more_attributes() -> None:
    """C8: printed the other way round; k fine cells lie within k coarse ones."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        joint = rng.dirichlet(np.full(6, 0.5), size=3).reshape(3, 3, 2)
        fine, coarse = beliefs(joint.reshape(3, 6)), beliefs(joint.sum(axis=2))
        assert all(fine[k] <= coarse[min(k, 2)] + 1e-12 for k in range(6))


def test_hashing_needs_an_omega_of_its_own() -> None:
    """C12: with 12 values hashed to 4, the omega of values makes 5.6 of e = 2.72; that of hashes
    keeps it.
    """
    likely = np.full((2, 12), 1 / 12)
    likely[1] = [0.25, 0.25, 0.25, 0, 0, 0.25, 0, 0, 0, 0, 0, 0]
    hashed = np.array([0, 0, 0, 1, 1, 0, 2, 2, 2, 3, 3, 3])
    buckets = np.stack([np.bincount(hashed, own, minlength=4) for own in likely])
    from sottovoce.privacy.local.belief import largest_ratio

    naive, right = (
        HeadsResponse(8, epsilon=1.0, belief=float(beliefs(own)[0]), chosen=1)
        for own in (likely, buckets)
    )
    assert largest_ratio([naive.law(value) for value in range(8)], buckets) > 5
    assert largest_ratio([right.law(value) for value in range(8)], buckets) == pytest.approx(
        exp(1), rel=1e-6
    )


def test_the_upper_bound_is_above_the_truth() -> None:
    """And the plug-in is not (C11): 300 estimates of a table of Adult's size; a tenth of its users
    for one of 14 attributes.
    """
    rng = np.random.Generator(np.random.Philox(4))
    likely = np.stack([rng.dirichlet(np.full(8, 0.7)) for _ in range(2)])
    joint = likely * np.array([[0.76], [0.24]])
    true, users = beliefs(likely), 230
    own = HeadsResponse(16, epsilon=4.0, chosen=choose_heads(16, epsilon=4.0, beliefs=[1.0]))
    below = {3.0: 0, 0.0: 0}
    for _ in range(300):
        counts = rng.multinomial(users, joint.reshape(-1))
        found = own.estimate(own.simulate(counts, rng), users=users).reshape(2, 8)
        for sure in below:
            bound = upper_beliefs(found, variance=own.variance(users=users), users=users, sure=sure)
            assert (np.diff(bound) >= -1e-12).all()
            below[sure] += bool(bound[0] < true[0] - 1e-9)
    assert below[3.0] == 0
    assert below[0.0] > 30
    # A label of which nothing may be left.
    assert upper_beliefs(
        np.array([[0.5, 0.5], [0.01, -0.01]]), variance=0.01, users=100
    ).tolist() == [1.0, 1.0]


class TestBook:
    def test_groups_are_split_and_go_on(self) -> None:
        book = GroupBook()
        first = book.record(0, 100, attributes=frozenset({1}), report=PastReport(1.0, exp(0.4)))
        assert first.epsilon == pytest.approx(0.4)
        assert first.whole_record is None
        before = book.copy()
        share = book.record(0, 40, attributes=frozenset({1, 2}), report=PastReport(0.5, 3.0))
        assert before.of(0, 40).loss == pytest.approx(0.4)
        assert share.epsilon == pytest.approx(
            log(leakage([PastReport(1.0, exp(0.4)), PastReport(0.5, 3.0)])) - 0.4
        )
        assert share.whole_record == pytest.approx(log(3))
        assert book.of(0, 40).whole_record_loss == pytest.approx(0.4 + log(3))
        assert book.of(50, 100).loss == pytest.approx(0.4)
        assert book.of(100, 120).reports == ()
        book.record(60, 70, attributes=frozenset({1, 3}), report=PastReport(1.0, 2.0))
        assert [len(book.of(*own).reports) for own in ((40, 60), (60, 70), (70, 100))] == [1, 2, 1]
        book.record(200, 300, attributes=frozenset({5}), report=PastReport(1.0, 2.0))
        book.record(100, 200, attributes=frozenset({6}), report=PastReport(1.0, 1 + 1e-13))
        assert book.of(100, 200).loss == pytest.approx(1e-13, rel=1e-3)

    def test_what_cannot_be_is_refused(self) -> None:
        book = GroupBook()
        book.record(10, 20, attributes=frozenset({1}), report=PastReport(1.0, 2.0))
        for start, end in ((15, 30), (0, 11), (5, 25)):
            with pytest.raises(ValueError, match=r"expected users who were asked alike"):
                book.of(start, end)
        with pytest.raises(ValueError, match=r"expected a set with the attributes \[1\]"):
            book.record(10, 20, attributes=frozenset({2, 3}), report=PastReport(1.0, 2.0))
