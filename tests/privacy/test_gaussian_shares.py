"""Gaussian shares: the loss of their sum against exact convolutions, and bounds of their tails."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sottovoce.crypto import RandomStream
from sottovoce.messages import UsageError
from sottovoce.privacy import gaussian_shares
from sottovoce.privacy.discrete_gaussian import discrete_gaussian
from sottovoce.privacy.gaussian_share_law import gaussian_log_ratio, periodic_part
from sottovoce.privacy.gaussian_shares import (
    deviation,
    noise_bound,
    rho_of_sum,
    share_variance_for,
)

CHANCE = 1e-7
REACH = 260
VARIANCES = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(5, 2)]
ORDERS = [1.001, 1.1, 1.5, 2.0, 3.0, 5.0, 12.0, 40.0]


def logs_of_sum(variance: Fraction, shares: int) -> np.ndarray:
    """Compute ln P[z] for |z| <= REACH by convolution, term by term, in logarithms."""
    z = np.arange(-REACH, REACH + 1)
    share = -(z**2) / (2 * float(variance))
    share = share - logsumexp(share)
    total = share
    differences = z[:, np.newaxis] - z
    inside = np.abs(differences) <= REACH
    for _ in range(shares - 1):
        terms = np.where(inside, total[np.clip(differences, -REACH, REACH) + REACH], -np.inf)
        total = logsumexp(terms + share, axis=1)
    return np.asarray(total)


def renyi(logs: np.ndarray, shift: int, order: float) -> float:
    """Compute the Renyi divergence of the law from the law moved by `shift`."""
    # Convolutions have lost nothing within half of the reach. Most of the sum is near the shift
    # times the order, so within 80.
    kept = slice(REACH // 2, -(REACH // 2))
    before, after = logs[kept], np.roll(logs, shift)[kept]
    return float(logsumexp(order * before + (1 - order) * after) / (order - 1))


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("shares", [1, 2, 3, 6])
def test_rho_bounds_every_renyi_divergence(variance: Fraction, shares: int) -> None:
    """One or two cells change. The largest exact divergence is close to the bound."""
    logs = logs_of_sum(variance, shares)
    for shifts in ((1,), (2,), (1, -1), (2, -1)):
        bound = rho_of_sum(
            share_variance=variance,
            shares=shares,
            l2_squared=sum(shift**2 for shift in shifts),
            cells=len(shifts),
        )
        exact = [sum(renyi(logs, shift, order) for shift in shifts) / order for order in ORDERS]
        assert max(exact) <= bound * (1 + 1e-9)
        # The deviation is what the bound adds, and it is small at once.
        if deviation(share_variance=variance, shares=shares) < 0.001:
            assert max(exact) > bound * 0.995


def test_the_loss_of_single_noise_is_the_closed_form() -> None:
    """One share is a whole discrete Gaussian: rho is L2^2 / 2 v (Canonne, Kamath, Steinke)."""
    for variance in (Fraction(1, 3), Fraction(50), Fraction(10**9)):
        rho = rho_of_sum(share_variance=variance, shares=1, l2_squared=6, cells=100)
        assert rho == pytest.approx(float(3 / variance), rel=1e-10)
        assert rho >= 3 / variance


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("shares", [2, 3, 5])
def test_the_deviation_bounds_the_exact_one(variance: Fraction, shares: int) -> None:
    logs = logs_of_sum(variance, shares)
    z = np.arange(-REACH, REACH + 1)
    difference = (logs + z**2 / (2 * shares * float(variance)))[np.abs(z) < REACH // 3]
    exact, bound = np.ptp(difference), deviation(share_variance=variance, shares=shares)
    assert exact <= bound + 1e-9
    if shares == 2:
        assert exact == pytest.approx(bound, rel=0.002, abs=1e-9)


@pytest.mark.parametrize(("variance", "shares"), [(0.02, 2), (0.159, 3), (0.16, 3), (30, 4)])
def test_the_deviation_is_that_of_the_paper_or_less(variance: float, shares: int) -> None:
    """Kairouz, Liu and Steinke have 10 exp(-2 pi^2 c), and the series is close to 4 of them."""
    c = [variance * k / (k + 1) for k in range(1, shares)]
    ours = deviation(share_variance=Fraction(variance), shares=shares)
    paper = sum(10 * math.exp(-2 * math.pi**2 * x) for x in c)
    if variance >= 0.25:
        assert ours == pytest.approx(0.4 * paper, rel=1e-6)
    # The exact sums, whichever series is used.
    x = np.arange(-200, 201)
    thetas = [[np.exp(-((x - u) ** 2) / (2 * y)).sum() for u in (0, 0.5)] for y in c]
    exact = sum(math.log(top / bottom) for top, bottom in thetas)
    assert exact * (1 - 1e-9) - 1e-12 <= ours <= exact * 1.01 + 1e-12


@pytest.mark.parametrize("c", [0.02, 0.05, 0.1, 0.15, 0.159, 0.16, 0.2, 0.5, 1.0, 3.0])
def test_a_step_is_above_the_exact_one_by_the_tail_of_its_series_alone(c: float) -> None:
    """Theta at 0 and at 1/2, by 61 terms in 400 bits; both series are worst at c = 1 / 2 pi."""
    share_variance = Fraction(2 * c)
    with gmpy2.context(gmpy2.get_context(), precision=400):
        spread = gmpy2.mpfr(float(share_variance) / 2) * 2
        at_zero, at_half = (
            sum(gmpy2.exp(-((x - u) ** 2) / spread) for x in range(-30, 31))
            for u in (gmpy2.mpfr(0), gmpy2.mpfr(1) / 2)
        )
        exact = gmpy2.log(at_zero / at_half)
        bound = gmpy2.mpfr(deviation(share_variance=share_variance, shares=2))
        # What the two series leave out of theta(1/2): its second pair of terms, and p^4.
        is_wide = c >= 1 / (2 * math.pi)
        left_out = 3 * math.exp(-8 * math.pi**2 * c) if is_wide else 1.1 * math.exp(-1 / c)
        assert exact <= bound <= exact * (1 + gmpy2.mpfr(1e-9)) + left_out


@pytest.mark.parametrize("c", [0.03, 0.08, 0.12, 0.159])
def test_a_narrow_step_has_theta_at_0_and_less_than_the_geometric_tail_more(c: float) -> None:
    """Of theta at 1/2 it has the first pair of terms; theta at 0 is summed in 400 bits."""
    share_variance = Fraction(2 * c)
    with gmpy2.context(gmpy2.get_context(), precision=400):
        q = gmpy2.exp(-1 / (2 * gmpy2.mpfr(float(share_variance) / 2)))
        exact = gmpy2.log(1 + 2 * sum(q ** (k * k) for k in range(1, 31)))
        exact += -gmpy2.log(gmpy2.mpfr(2)) - gmpy2.log(q) / 4
        bound = gmpy2.mpfr(deviation(share_variance=share_variance, shares=2))
        rounding = exact * gmpy2.mpfr(2e-11)
        # All powers of q from the fifth on, of which theta itself has the ninth first.
        assert exact - rounding / 4 <= bound <= exact + rounding + 2 * q**5 / (1 - q)


def test_the_deviation_of_large_shares() -> None:
    assert math.log(deviation(share_variance=Fraction(25), shares=1000)) < -245
    # It is above 0 even where no float between is left.
    assert 0 < deviation(share_variance=Fraction(10**6), shares=3) < 1e-300
    assert deviation(share_variance=Fraction(1), shares=1) == 0


@pytest.mark.parametrize("rho", [1e-7, 0.003, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("shares", [1, 2, 5, 300])
@pytest.mark.parametrize(("l2_squared", "cells"), [(2, 2), (210, 210), (Fraction(9, 2), 1000)])
def test_the_smallest_variance_is_found(
    rho: float, shares: int, l2_squared: Fraction | int, cells: int
) -> None:
    batch: Any = {"l2_squared": l2_squared, "cells": cells}
    variance = share_variance_for(rho, shares=shares, **batch)
    assert rho_of_sum(share_variance=variance, shares=shares, **batch) <= rho
    smaller = variance * (1 - Fraction(2, 10**9))
    assert rho_of_sum(share_variance=smaller, shares=shares, **batch) > rho
    assert Fraction(float(variance)) == variance
    # Together they are never less than what one noise would need.
    assert shares * variance >= Fraction(l2_squared) / (2 * Fraction(rho))


def test_small_shares_become_wider() -> None:
    """Without the deviation a share would have the variance 1 / 2 rho shares."""
    wide = share_variance_for(1e-4, shares=10, l2_squared=1, cells=1)
    small = share_variance_for(1.0, shares=10, l2_squared=1, cells=1)
    assert float(wide * 20) * 1e-4 == pytest.approx(1, rel=1e-8)
    assert float(small * 20) > 5


def test_more_shares_never_cost_more() -> None:
    for variance in VARIANCES:
        losses = [
            rho_of_sum(share_variance=variance, shares=shares, l2_squared=2, cells=2)
            for shares in range(1, 40)
        ]
        assert all(first >= second for first, second in pairwise(losses))


def test_only_cells_that_can_change_count() -> None:
    """A squared change of 3 is at most three cells."""
    few, many = (
        rho_of_sum(share_variance=Fraction(1, 2), shares=3, l2_squared=3, cells=cells)
        for cells in (3, 10_000)
    )
    assert few == many
    assert few > rho_of_sum(share_variance=Fraction(1, 2), shares=3, l2_squared=3, cells=1)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("shares", [1, 2, 4])
@pytest.mark.parametrize("cells", [1, 16])
def test_the_bound_holds_with_the_probability_stated(
    variance: Fraction, shares: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P[|X| > t] is summed up from the exact law, at 2**-14 instead of 2**-40."""
    monkeypatch.setattr(gaussian_shares, "SAFETY_BITS", 14)
    bound = noise_bound(share_variance=variance, shares=shares, cells=cells)
    beyond = 2 * cells * math.exp(logsumexp(logs_of_sum(variance, shares)[REACH + bound + 1 :]))
    assert beyond <= 2.0**-14
    # The bound is at most two standard deviations and a step too large.
    inside = max(0, math.ceil(bound - 2 * math.sqrt(shares * variance) - 1))
    assert (
        2 * cells * math.exp(logsumexp(logs_of_sum(variance, shares)[REACH + inside :])) > 2.0**-14
    )


@pytest.mark.parametrize(("variance", "shares"), [(Fraction(1, 2), 3), (Fraction(1, 4), 2)])
def test_drawn_shares_add_up_to_the_law(variance: Fraction, shares: int) -> None:
    count, stream = 400_000, RandomStream(b"s" * 32)
    law = discrete_gaussian(variance=variance)
    total = np.sum([law.draw(count, randomness=stream) for _ in range(shares)], axis=0)
    chances = np.exp(logs_of_sum(variance, shares))
    used = chances * count > 5
    counts = np.bincount(total + REACH, minlength=2 * REACH + 1)
    assert counts[~used].sum() < 60
    assert (
        stats.chisquare(
            counts[used], chances[used] / chances[used].sum() * counts[used].sum()
        ).pvalue
        > CHANCE
    )


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_log_ratios_are_those_of_the_law(variance: Fraction, shares: int) -> None:
    logs = logs_of_sum(variance, shares)
    noise = np.array([0, 1, -3, 17, -40, 5, 2])
    for shift in (np.array([1, 0, -1, 2, 0, 0, 0]), np.array([0, -5, 9, 1, -1, 1, 0])):
        expected = (logs[noise + REACH] - logs[noise - shift + REACH]).sum()
        ratio = gaussian_log_ratio(noise, shift, share_variance=variance, shares=shares)
        assert ratio == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_log_ratios_of_large_noise() -> None:
    """Where the deviation is negligible, the sum is discrete Gaussian."""
    noise, shift = np.array([3 * 10**9, 0, -5]), np.array([1, 0, -2])
    ratio = gaussian_log_ratio(noise, shift, share_variance=Fraction(10**12), shares=4)
    squares = (3 * 10**9 - 1) ** 2 - (3 * 10**9) ** 2 + (-3) ** 2 - 5**2
    assert ratio == pytest.approx(squares / (8 * 10**12), rel=1e-14)
    assert gaussian_log_ratio(noise, 0 * shift, share_variance=Fraction(1), shares=4) == 0.0


def test_the_periodic_part_is_symmetric() -> None:
    for shares in (2, 3, 8, 101):
        part = periodic_part(share_variance=Fraction(2, 5), shares=shares)
        assert len(part) == shares
        assert part[1:] == pytest.approx(part[1:][::-1], abs=1e-12)


@pytest.mark.parametrize(
    ("rho", "change", "match"),
    [
        (0.0, {}, "finite rho above 0"),
        (math.inf, {}, "finite rho above 0"),
        (1.0, {"shares": 0}, "at least one share"),
        (1.0, {"cells": 0}, "one cell"),
        (1.0, {"l2_squared": 0}, "l2_squared above 0"),
    ],
)
def test_noise_without_a_meaning_is_refused(rho: float, change: dict[str, int], match: str) -> None:
    batch: Any = {"shares": 2, "l2_squared": 2, "cells": 2} | change
    with pytest.raises(ValueError, match=match):
        share_variance_for(rho, **batch)


def test_the_largest_noise() -> None:
    """The standard deviation of what any honest shares leave is at most 2^40."""
    assert share_variance_for(2.0**-81, shares=4, l2_squared=1, cells=1) >= 2**78
    with pytest.raises(UsageError, match=r"up to 2\*\*40, found 1\.5\d*e\+12: .* larger epsilon"):
        share_variance_for(2.0**-82, shares=4, l2_squared=1, cells=1)


@pytest.mark.parametrize(("variance", "shares"), [(Fraction(0), 1), (Fraction(1), 0)])
def test_impossible_shares_are_refused(variance: Fraction, shares: int) -> None:
    match = "expected a variance above 0 and at least one share"
    with pytest.raises(ValueError, match=match):
        rho_of_sum(share_variance=variance, shares=shares, l2_squared=1, cells=1)
    with pytest.raises(ValueError, match=match):
        noise_bound(share_variance=variance, shares=shares, cells=1)
    with pytest.raises(ValueError, match=match):
        deviation(share_variance=variance, shares=shares)
    with pytest.raises(ValueError, match="of at least 0"):
        rho_of_sum(share_variance=Fraction(1), shares=1, l2_squared=-1, cells=1)
