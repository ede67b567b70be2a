"""The Gaussian loss of choices: the pairs of laws that it has to cover, enumerated."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Accountant, Budget, gaussian
from sottovoce.privacy.conversion import epsilon_at, epsilon_of
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.gaussian_loss import epsilon_of_gaussian
from sottovoce.privacy.gaussian_range import gaussian_of_range, range_of_gaussian
from sottovoce.privacy.loss import Loss

EPSILONS = [1e-4, 0.01, 0.3, 1.0, 4.0, 20.0]


def two_ratios(epsilon: float, highest: float) -> tuple[float, float]:
    """Give the chances of the larger ratio under P and Q, if ratios are e^(t - eps) and e^t."""
    low, high = math.exp(highest - epsilon), math.exp(highest)
    under_q = (1 - low) / (high - low)
    return under_q * high, under_q


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_pair_of_two_ratios_is_told_apart_better_than_gaussian_noise(epsilon: float) -> None:
    """Referee: the kink of the trade-off function, for all positions of the range."""
    normal, mu = NormalDist(), math.sqrt(2 * gaussian_of_range(epsilon))
    largest = 0.0
    for share in np.linspace(0.001, 0.999, 999).tolist():
        under_p, under_q = two_ratios(epsilon, share * epsilon)
        if under_q > 1e-300 and under_p < 1 - 1e-15:
            largest = max(largest, normal.inv_cdf(under_p) - normal.inv_cdf(under_q))
    assert largest <= mu * (1 + 1e-9)
    assert largest >= 0.95 * mu or epsilon > 2  # small ranges are hardly bounded too high


@pytest.mark.parametrize("epsilon", [0.05, 0.4])
@pytest.mark.parametrize("times", [1, 5, 40])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_it_bounds_choices_that_are_composed(epsilon: float, times: int, share: float) -> None:
    """Referee: delta of so many choices between two answers, from a binomial law."""
    under_p, under_q = two_ratios(epsilon, share * epsilon)
    loss = times * gaussian_of_range(epsilon)
    for delta in (1e-3, 1e-6):
        bound = epsilon_of_gaussian(loss, delta=delta)
        exact = sum(
            max(
                math.comb(times, count)
                * (
                    under_p**count * (1 - under_p) ** (times - count)
                    - math.exp(bound) * under_q**count * (1 - under_q) ** (times - count)
                ),
                0.0,
            )
            for count in range(times + 1)
        )
        assert exact <= delta


@pytest.mark.parametrize("choices", [1, 8])
def test_it_bounds_choices_beside_gaussian_noise(choices: int) -> None:
    """Referee: the joint law of noise on one number and of choices, integrated on a grid."""
    epsilon, rho = 0.3, 0.02
    under_p, under_q = two_ratios(epsilon, epsilon / 2)
    mu = math.sqrt(2 * rho)
    x = np.linspace(-12, 12, 200_001)
    step = float(x[1] - x[0])
    noise_p, noise_q = (
        np.exp(-((x - shift) ** 2) / 2) / math.sqrt(2 * math.pi) for shift in (mu, 0)
    )
    loss = choices * gaussian_of_range(epsilon) + rho
    for delta in (1e-3, 1e-7):
        bound = epsilon_of_gaussian(loss, delta=delta)
        exact = 0.0
        for answers in product((True, False), repeat=choices):
            up = sum(answers)
            p = under_p**up * (1 - under_p) ** (choices - up)
            q = under_q**up * (1 - under_q) ** (choices - up)
            exact += float(np.maximum(p * noise_p - math.exp(bound) * q * noise_q, 0).sum()) * step
        assert exact <= delta


def test_a_pure_mechanism_counts_as_a_range_of_twice_its_epsilon() -> None:
    assert Loss.pure(0.3).gaussian == Loss.bounded_range(0.6).gaussian == gaussian_of_range(0.6)
    assert Loss.pure(0.0).gaussian == 0
    assert Loss.pure(0.3).gaussian / Loss.pure(0.3).rho == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("loss", [1e-9, 1e-4, 0.1])
def test_a_budget_buys_the_range_that_costs_it(loss: float) -> None:
    assert gaussian_of_range(range_of_gaussian(loss)) == pytest.approx(loss, rel=1e-12)
    budget = Budget("rho", loss, of_gaussian=True)
    assert Loss.bounded_range(budget.of_choice).gaussian == pytest.approx(loss, rel=1e-12)
    assert Loss.pure(budget.of_pure).gaussian == pytest.approx(loss, rel=1e-12)


def test_noise_and_choices_together_keep_the_epsilon_of_their_budget() -> None:
    """In rho they would exceed it: a budget of Gaussian loss is a tenth larger."""
    budget = Budget.of_noise(1.0, delta=1e-9)
    accountant = Accountant(party=1, parties=3, budget=1.0, delta=1e-9, neighbours="replace-one")
    stream = RandomStream(bytes(32))
    noisy = gaussian([1, 2], sensitivity=20, budget=budget.share(0.9))
    accountant.release(noisy, to=0, phase="p", randomness=stream)
    for _ in range(2):
        choice = choose([1.0, 2.0], sensitivity=1, budget=budget.share(0.05))
        accountant.release(choice, to=0, phase="p", randomness=stream)
    assert accountant.spent == pytest.approx(1.0, rel=1e-9)
    assert accountant.spent <= 1.0 + 1e-9
    assert epsilon_of(accountant.total.rho, delta=1e-9) > 1.02
    accountant.withdraw(readers=[])
    assert accountant.total.gaussian == pytest.approx(0.95 * budget.amount)
    assert epsilon_at(accountant.total, delta=1e-9) < 0.98
