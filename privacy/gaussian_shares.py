"""Shares of discrete Gaussian noise: what their sum costs, and which share a loss needs.

Every party adds a share of the law N_Z(0, v), where P[x] is proportional to exp(-x^2 / 2v). A sum
of n shares has nearly the law W = N_Z(0, nv). Kairouz, Liu and Steinke (2021) bound the difference.
The bound here has the same form with smaller constants, and is proved in four steps.

*One more share.* If W_k = N_Z(0, kv) and X = N_Z(0, v), completing the square gives

    P[W_k + X = z] / P[W_(k+1) = z] = theta(z / (k + 1)) up to a constant,
    theta(u) = sum over integers x of exp(-(x - u)^2 / 2c),   c = vk / (k + 1)

By Poisson's formula theta is largest at 0 and smallest at 1/2. So the logarithm of this ratio lies
in an interval of length log(theta(0) / theta(1/2)), which is close to 4 exp(-2 pi^2 c). A further
share averages such a ratio, so the length for Z, the sum of n shares, is at most

    deviation = sum over k < n of log(theta(0) / theta(1/2))

*Bounded range.* Two laws P and Q whose log-ratio lies in an interval of length w have
D_a(P || Q) <= a w^2 / 8 for every order a > 1. Indeed (a - 1) D_a is a convex function of a that is
0 at 0 and at 1. Its second derivative is the variance of a variable in that interval, and so at
most w^2 / 4. In d cells the bound is a d w^2 / 8.

*Three laws.* If D_a(P || Q) <= a s^2 / 2 and D_a(Q || R) <= a t^2 / 2 for every a > 1, then
D_a(P || R) <= a (s + t)^2 / 2. This is Hoelder's inequality with exponents 1 + x and 1 + 1/x,
x = (a - 1) t / (a s), applied to (P / Q)^a and (Q / R)^(a - 1) under Q.

*Together.* D_a(W || W + D) <= a |D|^2 / 2nv (Canonne, Kamath and Steinke 2020, theorem 4). The
way from Z over W and W + D to Z + D has three parts, the first and last of d w^2 / 8. So the sum is
rho-concentrated with

    rho = e^2 / 2,   e = L2 / sqrt(nv) + deviation * sqrt(d)

Only cells that change between neighbouring datasets count in d. They change by whole numbers, so d
is at most L2^2. The paper has 10 instead of 4 in the deviation, and a second bound without a
proof by these steps, which is not used.

*Small shares.* A share of standard deviation 5 has a deviation below e^-245 per share. At 1 it is
0.0002 for two shares, and at 1/2 it is 0.34. `share_variance_for` takes it into account, so noise
of small shares becomes wider by itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from ..messages import UsageError

__all__ = ["deviation", "noise_bound", "rho_of_sum", "share_variance_for"]

SAFETY_BITS: Final = 40
"""The noise of a batch exceeds its bound with a probability below 2**-40."""

MAX_NOISE_DEVIATION: Final = 2.0**40
"""Largest standard deviation of the noise that any honest shares leave together."""
ROUNDING: Final = 1e-11
"""Relative amount by which bounds are rounded up.

Exponents are below 745, so exponentials in double precision are off by less than 1e-12.
"""
TOLERANCE: Final = 1e-9
"""Relative amount by which `share_variance_for` may exceed the smallest variance."""
SMALLEST: Final = 5e-324
"""The smallest float, which stands for a positive number below it."""


def deviation(*, share_variance: Fraction, shares: int) -> float:
    """Bound how far the log-probabilities of a sum of shares are from N_Z's, up to a constant.

    It is the length of an interval, per cell, and is rounded up.

    >>> deviation(share_variance=Fraction(1), shares=2)  # doctest: +ELLIPSIS
    0.000206...
    """
    _check(share_variance, shares)
    return float(_deviations(float(share_variance), shares)[-1])


@lru_cache(maxsize=1024)
def rho_of_sum(
    *, share_variance: Fraction, shares: int, l2_squared: Fraction | int, cells: int
) -> float:
    """Bound the loss rho (zero-concentrated) of counts plus a sum of shares, rounded up.

    More shares never cost more, as the further ones are added to a result. So the smallest bound
    for a number of shares up to `shares` holds.

    Args:
        share_variance: the variance parameter of one share.
        shares: the number of shares that the adversary does not know.
        l2_squared: bound on the sum of squared changes between neighbouring datasets.
        cells: bound on the number of cells that change between neighbouring datasets.
    """
    _check(share_variance, shares)
    if l2_squared < 0 or cells < 0:
        raise ValueError(
            f"expected l2_squared and cells of at least 0, found {l2_squared} and {cells}"
        )
    changed = min(cells, math.floor(l2_squared))
    single = float(Fraction(l2_squared) / share_variance)
    counts = np.arange(1, shares + 1)
    losses = np.sqrt(single / counts) + math.sqrt(changed) * _deviations(
        float(share_variance), shares
    )
    return float(losses.min() ** 2 / 2 * (1 + ROUNDING))


@lru_cache(maxsize=1024)
def share_variance_for(
    rho: float, *, shares: int, l2_squared: Fraction | int, cells: int
) -> Fraction:
    """Find the smallest variance of a share for which any `shares` shares cost at most rho.

    It is the exact value of a float, and exceeds the smallest variance by at most one part in 10^9.

    Raises:
        UsageError: the standard deviation of the noise would exceed 2**40.
    """
    if not 0 < rho < math.inf:
        raise ValueError(f"expected a finite rho above 0, found {rho}")
    if l2_squared <= 0 or shares < 1 or cells < 1:
        raise ValueError(
            "expected l2_squared above 0, and at least one share and one cell, "
            f"found {l2_squared}, {shares} and {cells}"
        )

    def suffices(variance: float) -> bool:
        return rho >= rho_of_sum(
            share_variance=Fraction(variance), shares=shares, l2_squared=l2_squared, cells=cells
        )

    # Without a deviation this would be the variance.
    low = float(Fraction(l2_squared) / (2 * Fraction(rho) * shares))
    if low * shares > MAX_NOISE_DEVIATION**2:
        raise UsageError(
            f"expected Gaussian noise of a standard deviation up to 2**40, found "
            f"{math.sqrt(low * shares):g}: rho {rho:g} is too small for a sum of squared changes "
            f"of {l2_squared}, so choose a larger epsilon"
        )
    high = low * (1 + TOLERANCE / 2)
    if not suffices(high):
        while not suffices(high):
            low, high = high, 2 * high
        while high > low * (1 + TOLERANCE / 2):
            middle = (low + high) / 2
            low, high = (low, middle) if suffices(middle) else (middle, high)
    return Fraction(high)


def noise_bound(*, share_variance: Fraction, shares: int, cells: int) -> int:
    """Bound the noise in any cell of a batch, except with probability 2**-40.

    `shares` are all shares in the sum. N_Z(0, v) is sub-Gaussian: E[exp(t X)] is exp(t^2 v / 2)
    times theta(tv) / theta(0), which is at most 1. So the sum of n shares is at least t in absolute
    value with a probability of at most 2 exp(-t^2 / 2nv).

    >>> noise_bound(share_variance=Fraction(100), shares=3, cells=1000)
    146
    """
    _check(share_variance, shares)
    nats = math.log(2) * (SAFETY_BITS + 1 + math.log2(max(cells, 1)))
    return math.ceil(math.sqrt(2 * nats * float(shares * share_variance)) * (1 + ROUNDING))


def _check(share_variance: Fraction, shares: int) -> None:
    if share_variance <= 0 or shares < 1:
        raise ValueError(
            "expected a variance above 0 and at least one share, "
            f"found {float(share_variance):g} and {shares}"
        )


@lru_cache(maxsize=256)
def _deviations(share_variance: float, shares: int) -> npt.NDArray[np.float64]:
    """Bound the deviation for 1, 2, ... shares.

    Below c = 1 / 2 pi Poisson's formula is the slower of two series, so theta's own series is used.
    Every tail of a series is bounded by a geometric one.
    """
    k = np.arange(1, shares)
    c = share_variance * k / (k + 1)
    wide = c >= 1 / (2 * math.pi)
    steps = np.empty(len(c))
    p = np.maximum(np.exp(-2 * math.pi**2 * c[wide]), SMALLEST)
    steps[wide] = np.log1p(2 * p + 2 * p**4 / (1 - p)) - np.log1p(-2 * p)
    q = np.exp(-1 / (2 * c[~wide]))
    steps[~wide] = np.log1p(2 * q + 2 * q**4 / (1 - q)) - math.log(2) + 1 / (8 * c[~wide])
    return np.concatenate([[0.0], np.cumsum(steps) * (1 + ROUNDING)])
