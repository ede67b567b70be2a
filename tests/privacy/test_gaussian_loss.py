"""The Gaussian loss against exact convolutions of discrete noise, and against closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.evaluation.exact_gaussian import gaussian_epsilon
from sottovoce.messages import ArgumentError
from sottovoce.privacy import Accountant, Budget, gaussian, laplace, real_sum
from sottovoce.privacy.batch import MIN_SHARE, Batch
from sottovoce.privacy.conversion import epsilon_at, epsilon_of, rho_of
from sottovoce.privacy.exact_value import ExactValue
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.gaussian_loss import (
    MAX_LOSS,
    SLACK,
    TAIL,
    epsilon_of_gaussian,
    gaussian_loss,
    gaussian_of,
    variance_for,
)
from sottovoce.privacy.gaussian_shares import deviation
from sottovoce.privacy.loss import Loss

DELTAS = [1e-4, 1e-6, 1e-9, 1e-12]
FAR = 14
"""Standard deviations beyond which noise is left out; it has a chance of 10^-43 there."""

Law = npt.NDArray[np.float64]


def law_of(variance: float, *, reach: int) -> Law:
    """Compute P[X = x] of N_Z(0, variance) for |x| <= reach."""
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * variance))
    return np.asarray(weights / weights.sum())


def convolved(law: Law, times: int) -> Law:
    """Compute the law of a sum of so many draws, from positive terms alone."""
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, law)
    return total


def exact_epsilon(law: Law, logs_over: npt.NDArray[np.float64], *, delta: float) -> float:
    """Find the smallest epsilon at delta, from probabilities and their log-ratios."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        found = float((law * -np.expm1(np.minimum(middle - logs_over, 0))).sum())
        low, high = (middle, high) if found > delta else (low, middle)
    return high


def discrete_epsilon(variance: float, *, change: int, cells: int, delta: float) -> float:
    """Compute the exact epsilon of cells with discrete noise that all change by as much.

    The loss is linear in the sum of the cells' noise, so the law of that sum is all that matters.
    """
    reach = math.ceil(FAR * math.sqrt(variance))
    law = convolved(law_of(variance, reach=reach), cells)
    half = len(law) // 2
    sums = np.arange(-half, half + 1)
    # ln P[x] / P[x + change] over all cells.
    ratios = (2 * change * sums + cells * change**2) / (2 * variance)
    return exact_epsilon(law, ratios, delta=delta)


@pytest.mark.parametrize("spread", [20.1, 25.0, 40.0])
@pytest.mark.parametrize(("change", "cells"), [(1, 1), (1, 2), (3, 1), (1, 30), (7, 9), (20, 1)])
@pytest.mark.parametrize("delta", DELTAS)
def test_it_bounds_the_exact_epsilon_of_discrete_noise(
    spread: float, change: int, cells: int, delta: float
) -> None:
    """It is hardly larger, and smaller than what rho implies."""
    variance = Fraction(spread) ** 2
    squares = cells * change**2
    loss = gaussian_loss(variance, l2_squared=squares)
    bound = epsilon_of_gaussian(loss, delta=delta)
    exact = discrete_epsilon(float(variance), change=change, cells=cells, delta=delta)
    assert exact <= bound <= exact + 1.1 * SLACK * loss + 2e-3 * exact + 1e-6
    rho = squares / (2 * float(variance))
    assert bound < epsilon_of(rho, delta=delta)


@pytest.mark.parametrize("shares", [170, 400])
def test_it_bounds_the_exact_epsilon_of_a_sum_of_small_shares(shares: int) -> None:
    """Shares have the least variance that is used. The pair of laws is enumerated."""
    share = law_of(float(MIN_SHARE), reach=24)
    law = convolved(share, shares)
    inside = slice(len(law) // 2 - 300, len(law) // 2 + 301)
    apart = deviation(share_variance=MIN_SHARE, shares=shares)
    loss = gaussian_loss(MIN_SHARE * shares, l2_squared=9, deviation=apart)
    assert loss < math.inf
    for delta in (1e-5, 1e-9):
        ratios = np.log(law[inside]) - np.log(np.roll(law, 3)[inside])
        exact = exact_epsilon(law[inside], ratios, delta=delta)
        assert exact <= epsilon_of_gaussian(loss, delta=delta) <= exact * 1.01


def log_ratios(variance: float, *, square: float, reach: int) -> Law:
    """Compute ln P[X = x] / P[R = x]: discrete Gaussian over rounded continuous noise."""
    x = np.arange(reach + 1)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    u = nodes / 2
    means = (np.exp(-(x[:, None] * u + u**2 / 2) / square) * weights).sum(axis=1) / 2
    law = law_of(variance, reach=reach + 200)[reach + 200 :][: reach + 1]
    rounded = np.exp(-(x**2) / (2 * square)) * means / math.sqrt(2 * math.pi * square)
    ratios: Law = np.log(law) - np.log(rounded)
    return ratios


@pytest.mark.parametrize("spread", [20.0, 22.0, 30.0, 60.0])
def test_discrete_noise_is_as_near_to_rounded_noise_as_is_proved(spread: float) -> None:
    """The two factors of a cell stay within its part of the slack."""
    square = spread**2
    variance = square**2 / (square - 1 / 12)
    far = 9.5 * math.sqrt(spread / 20) * math.sqrt(variance)
    ratios = log_ratios(variance, square=square, reach=math.floor(2 * far))
    factors = ratios[: math.floor(far) + 1].max() - ratios.min()
    assert 0 <= factors <= SLACK / (2 * square)


@pytest.mark.parametrize("epsilon", [0.001, 0.2, 1.0, 8.0, 60.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-13])
def test_a_budget_implies_the_epsilon_it_was_made_for(epsilon: float, delta: float) -> None:
    loss = gaussian_of(epsilon, delta=delta)
    assert 0.99 * epsilon < epsilon_of_gaussian(loss, delta=delta) <= epsilon or loss > 39
    mu = math.sqrt(2 * loss)
    assert gaussian_epsilon(mu, delta=delta) <= epsilon
    assert gaussian_epsilon(mu, delta=delta) >= 0.9 * epsilon
    if epsilon < 20 and delta < 1e-3:
        assert 1.05 < loss / rho_of(epsilon, delta=delta) < 1.2


def test_epsilon_grows_with_the_loss_and_falls_with_delta() -> None:
    losses = np.geomspace(1e-12, 39, 60).tolist()
    for delta in (1e-2, 1e-9, 1e-14):
        epsilons = [epsilon_of_gaussian(loss, delta=delta) for loss in losses]
        assert all(before <= after for before, after in pairwise(epsilons))
    assert epsilon_of_gaussian(0.0, delta=1e-9) == 0
    assert epsilon_of_gaussian(math.inf, delta=1e-9) == math.inf
    assert epsilon_of_gaussian(0.01, delta=0.0) == math.inf
    assert epsilon_of_gaussian(0.01, delta=1e-19) == math.inf  # whole numbers take more than that


@pytest.mark.parametrize("loss", [1e-9, 3e-4, 0.0165, 0.4, 30.0])
@pytest.mark.parametrize("squares", [1, 2, 210, 2_000_000])
def test_noise_for_a_loss_has_it(loss: float, squares: int) -> None:
    variance = variance_for(loss, l2_squared=squares)
    reached = gaussian_loss(variance, l2_squared=squares)
    assert reached <= loss
    wide = squares / (2 * loss) > 400
    assert reached >= loss * (1 - 1e-9) if wide else variance < 401


def test_nothing_is_stated_of_narrow_noise_or_of_a_large_loss() -> None:
    assert gaussian_loss(Fraction(399), l2_squared=1) == math.inf
    for narrow in (Fraction(1, 2), Fraction(1, 10**6)):
        assert gaussian_loss(narrow, l2_squared=1) == math.inf
    assert gaussian_loss(Fraction(10_000), l2_squared=10**6) == math.inf
    assert gaussian_loss(Fraction(10_000), l2_squared=1, deviation=1e-3) == math.inf
    assert gaussian_loss(Fraction(10) ** 200, l2_squared=1) == math.inf


def test_the_widest_noise_and_the_largest_loss_that_are_stated() -> None:
    assert gaussian_loss(Fraction(2**100), l2_squared=1) == pytest.approx(2.0**-101)
    assert gaussian_loss(Fraction(2**100 + 2**49), l2_squared=1) == math.inf
    variance = Fraction(10_000)
    least = gaussian_loss(variance, l2_squared=1)
    for part, is_stated in ((1 - 1e-9, True), (1 + 1e-9, False)):
        squares = Fraction(MAX_LOSS * part) / Fraction(least)
        assert (gaussian_loss(variance, l2_squared=squares) < math.inf) == is_stated


@pytest.mark.parametrize("spread", [20.0001, 20.3, 24.0, 40.0, 300.0])
def test_how_far_noise_may_be_from_a_gaussian_follows_from_w(spread: float) -> None:
    """The largest `deviation` that is accepted fills up w, whose other terms are computed apart.

    With N_Z as the noise no other test comes near the limit but at the least deviation.
    """
    square = Fraction(spread) ** 2
    variance = square**2 / (square - Fraction(1, 12))
    t_squared = Fraction(19, 2) ** 2 * Fraction(spread) / 20
    far = t_squared * variance
    terms = far**2 / (1440 * square**4) + 7 * far / (192 * square**3)
    tail = 8 * gmpy2.exp(-gmpy2.mpfr(t_squared) / 2)
    expected = (SLACK / (2 * float(square)) - float(terms) - float(tail)) / 2
    low, high = 0.0, 1e-3
    for _ in range(80):
        middle = (low + high) / 2
        is_stated = gaussian_loss(variance, l2_squared=1, deviation=middle) < math.inf
        low, high = (middle, high) if is_stated else (low, middle)
    assert low == pytest.approx(expected, rel=1e-8)
    # Beyond T there is less than what is taken from delta for it.
    assert 4 * square * gmpy2.exp(-gmpy2.mpfr(t_squared) / 2) < TAIL


@pytest.mark.parametrize("variance", [401, 402, 403, 1000, 1717, 10**4, 10**6, 10**9, 2**80])
@pytest.mark.parametrize("squares", [1, 2, 3, 7])
def test_a_loss_is_rounded_up(variance: int, squares: int) -> None:
    """It is D^2 / 2s^2, where s^2 - 1/12 is to s^2 as s^2 is to v."""
    with gmpy2.context(precision=200):
        square = (variance + gmpy2.sqrt(gmpy2.mpfr(variance) ** 2 - gmpy2.mpfr(variance) / 3)) / 2
        exact = squares / (2 * square)
        loss = gaussian_loss(Fraction(variance), l2_squared=squares)
        assert exact < loss < exact * (1 + 1e-11)


@pytest.mark.parametrize("loss", [1e-6, 0.0165, 0.4, 5.0, 30.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_epsilon_of_a_loss_is_rounded_up(loss: float, delta: float) -> None:
    """It is that of continuous noise at a smaller delta, and what whole numbers add."""
    with gmpy2.context(precision=300):
        left = (delta - TAIL * gmpy2.mpfr(loss)) * gmpy2.exp(-SLACK * gmpy2.mpfr(loss))
        mu = gmpy2.sqrt(2 * gmpy2.mpfr(loss))

        def above(epsilon: gmpy2.mpfr) -> gmpy2.mpfr:
            over, under = (
                gmpy2.erfc((epsilon / mu + side * mu / 2) / gmpy2.sqrt(2)) / 2 for side in (-1, 1)
            )
            return over - gmpy2.exp(epsilon) * under - left

        low, high = gmpy2.mpfr(0), gmpy2.mpfr(500)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) > 0 else (low, middle)
        exact = SLACK * loss + high
        bound = epsilon_of_gaussian(loss, delta=delta)
        assert exact <= bound <= exact * (1 + 1e-9) + 1e-11


def test_no_epsilon_above_500_is_stated() -> None:
    """Exponentials would overflow. Losses of several releases may add up to so much."""
    delta = 1e-9

    def reached(loss: float) -> float:
        left = (delta - TAIL * loss) * math.exp(-SLACK * loss)
        return gaussian_epsilon(math.sqrt(2 * loss), delta=left)

    low, high = 100.0, 400.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < 500 else (low, middle)
    assert epsilon_of_gaussian(low * (1 - 1e-6), delta=delta) == pytest.approx(
        500 + SLACK * low, rel=1e-5
    )
    assert epsilon_of_gaussian(low * (1 + 1e-6), delta=delta) == math.inf


def test_gaussian_releases_count_by_what_is_less() -> None:
    wide, narrow = (gaussian(5, sensitivity=1, rho=rho).loss for rho in (1e-4, 0.01))
    assert wide.gaussian == pytest.approx(1e-4, rel=1e-3)
    assert narrow.gaussian == math.inf
    assert epsilon_at(wide, delta=1e-9) == epsilon_of_gaussian(wide.gaussian, delta=1e-9)
    assert epsilon_at(narrow, delta=1e-9) == epsilon_of(narrow.rho, delta=1e-9)


def test_a_gaussian_loss_below_rho_is_refused() -> None:
    """No Gaussian noise has one, and the accountant would count it."""

    @dataclass(frozen=True)
    class Understated:
        name: ClassVar[str] = "understated"
        sensitivity: ClassVar[float] = 1.0
        scale: ClassVar[float] = 5.0
        loss: ClassVar[Loss] = Loss.concentrated(0.02, gaussian=1e-9)
        seen: ClassVar[dict[str, Loss]] = {}
        by_users: ClassVar[tuple[()]] = ()
        whole_record: ClassVar[None] = None

        def draw(self, randomness: RandomStream) -> int:
            raise AssertionError("it is refused before")

        def exact_value(self) -> ExactValue:
            return ExactValue.of(0.0, norm="L2")

    accountant = Accountant(party=1, parties=2, budget=1.0, delta=1e-9, neighbours="replace-one")
    with pytest.raises(ValueError, match="expected a Gaussian loss of at least rho"):
        accountant.release(Understated(), to=0, phase="p", randomness=RandomStream(b"j" * 32))
    assert accountant.releases == []


def test_what_a_budget_of_noise_pays_for() -> None:
    budget = Budget.of_noise(1.0, delta=1e-9)
    assert budget.amount > 1.1 * Budget.of(1.0, delta=1e-9).amount
    assert budget.share(0.5).of_gaussian
    assert budget.epsilon(delta=1e-9) <= 1.0
    part = budget.share(0.1)
    paid = [
        gaussian([5, 6], sensitivity=2, budget=part).loss,
        choose([1.0, 2.0], sensitivity=3, budget=part).loss,
        laplace(5, sensitivity=1, budget=part).loss,
    ]
    for loss in paid:
        assert part.amount * (1 - 1e-9) <= loss.gaussian <= part.amount * (1 + 1e-12)
    with pytest.raises(ArgumentError, match="which this one cannot spend"):
        real_sum([1.0], bounds=(0, 1), neighbours="replace-one", budget=part)


def test_the_noise_of_a_large_budget_is_not_too_narrow() -> None:
    loss = gaussian(5, sensitivity=1, budget=Budget("rho", 1.0, of_gaussian=True)).loss
    assert 0 < loss.gaussian < 0.00126  # nothing is proved of a deviation below 20


@pytest.mark.parametrize("parties", [1, 2, 3, 40, 1000])
@pytest.mark.parametrize("amount", [1e-5, 0.0165, 0.5])
@pytest.mark.parametrize("squares", [2, 20_000])
def test_shares_for_a_gaussian_loss_have_it(parties: int, amount: float, squares: int) -> None:
    """Rho is below it, and fewer shares lose more."""
    colluding = min(1, parties - 1)
    batch = Batch(
        cells=50,
        sensitivity=200,
        rho=amount,
        squares=squares,
        of_gaussian=True,
        rows=1000,
        parties=parties,
        colluding=colluding,
    )
    loss = batch.loss
    assert loss.rho == amount
    assert loss.gaussian <= amount * (1 + 1e-11)
    assert batch.scale >= 20
    if parties > 4 and squares > 2:  # otherwise shares are wider than they need be
        assert batch.loss_with(parties // 2).gaussian > loss.gaussian
    assert Loss.concentrated(amount).gaussian == math.inf
