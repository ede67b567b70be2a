"""Gaussian differential privacy: what Gaussian noise costs, without the detour over rho.

If real numbers of L2 sensitivity D are released with continuous Gaussian noise of variance s^2,
delta is exactly known for every epsilon (Balle and Wang 2018), with mu = D / s:

    delta = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

Such releases compose without loss: the squares of their mu add up, also where releases are chosen
by the answers of earlier ones (Dong, Roth and Su 2022; Smith and Thakurta 2022). At
epsilon 1 and delta 10^-9 a budget allows a tenth more of mu^2 / 2 than it allows rho, so deviations
are 5 per cent smaller. Here g = mu^2 / 2 is called the *Gaussian loss*. It is in the unit of rho.

Noise here is not continuous: it is a discrete Gaussian X ~ N_Z(0, v), or a sum of shares of it.
Rounded continuous noise R = round(N(0, s^2)) would cost what continuous noise costs, as exact
numbers are whole. X is compared with R for

    1 / v = 1 / s^2 - 1 / (12 s^4)

*One cell.* ln P[R = x] is -x^2 / 2s^2 + h(x) up to a constant, where h is the logarithm of the mean
of exp(-xu / s^2 - u^2 / 2s^2) over u in (-1/2, 1/2). Its second derivative is the variance of u
under that weight, over s^4. Without the term in u^2 the variance is 1/12 at x = 0, and at least
1/12 - (x / s^2)^2 / 240. That term changes it by at most 1 / 96 s^2: if it is scaled by a factor
from 0 to 1, the derivative of the variance is a covariance with u^2 / 2s^2, which spans 1 / 8s^2.
So, by integrating twice,

    h(x) = h(0) + x^2 / 24 s^4 + e(x),
    -x^4 / 2880 s^8 - x^2 / 192 s^6 <= e(x) <= x^2 / 192 s^6

The first two terms turn s^2 into v, and ln(P[X = x] / P[R = x]) is a constant minus e(x). Let
T = t sqrt(v). Both laws have their mass within T but for 3 exp(-t^2 / 2) at most. So the constant
lies between the smallest and the largest e(x) there, and for |x| <= T on the one side and
|x| <= 2T on the other P[X = x] and P[R = x] differ by factors whose logarithms add up to at most

    w = T^4 / 1440 s^8 + 7 T^2 / 192 s^6 + 8 exp(-t^2 / 2) + 2 deviation

The last term is that of sums of shares (`gaussian_shares.deviation`).

*All releases.* Only cells that change between neighbouring datasets matter, and they change by
whole numbers. So there are at most D^2 of them in a release, of w each. If w <= SLACK / 2 s^2, they
add at most SLACK g to epsilon, and multiply delta by at most e^(SLACK g). Noise beyond T has a
chance of at most 2 D^2 exp(-t^2 / 2), which is below TAIL g. Releases add up in all three, so with
G the sum of all g

    epsilon(G, delta) <= SLACK G + epsilon of continuous noise at (delta - TAIL G) e^(-SLACK G)

Changes must be at most T in each cell, for which g <= MAX_LOSS suffices.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

__all__ = ["MIN_DEVIATION", "epsilon_of_gaussian", "gaussian_loss", "gaussian_of", "variance_for"]

MIN_DEVIATION: Final = 20.0
"""Least standard deviation s for which a Gaussian loss is stated."""
SLACK: Final = 0.05
"""What whole numbers add to epsilon, as a share of the Gaussian loss."""
TAIL: Final = 1e-16
"""What they take from delta, likewise: 4 s^2 exp(-t^2 / 2), which falls with s."""
REACH: Final = 9.5
"""t at the least deviation; it grows with the root of the deviation."""
MAX_LOSS: Final = 40.0
"""The largest Gaussian loss of a release that is stated; REACH^2 / 2 is 45."""
MAX_VARIANCE: Final = 2.0**100
"""Above, nothing is stated: no noise is that wide, and squares would overflow."""
ROUNDING: Final = 1e-12
"""Relative error of a few operations in double precision."""
HALVINGS: Final = 80
MAX_EPSILON: Final = 500.0
"""Above, exponentials would overflow; no bound is stated."""


def gaussian_loss(
    variance: Fraction, *, l2_squared: Fraction | int, deviation: float = 0.0
) -> float:
    """Compute the Gaussian loss g of discrete Gaussian noise; infinity where none is proved.

    Args:
        variance: the parameter v of the noise.
        l2_squared: bound on the sum of squared changes between neighbouring datasets.
        deviation: how far the noise's law is from N_Z(0, v) in a cell, as a logarithm.

    >>> round(gaussian_loss(Fraction(10_000), l2_squared=2), 9)
    0.000100001
    """
    square = _continuous(float(variance))
    if square < MIN_DEVIATION**2:
        return math.inf
    reach = REACH * (square**0.5 / MIN_DEVIATION) ** 0.5
    far = reach**2 * float(variance)
    apart = (
        far**2 / (1440 * square**4)
        + 7 * far / (192 * square**3)
        + 8 * math.exp(-(reach**2) / 2)
        + 2 * deviation
    )
    loss = float(l2_squared) / (2 * square) * (1 + ROUNDING)
    return loss if apart <= SLACK / (2 * square) and loss <= MAX_LOSS else math.inf


def variance_for(loss: float, *, l2_squared: Fraction | int) -> Fraction:
    """Find the smallest variance parameter of discrete Gaussian noise with this Gaussian loss.

    Its deviation is at least `MIN_DEVIATION`, as nothing is proved of narrower noise.

    >>> float(variance_for(0.01, l2_squared=2)) ** 0.5  # doctest: +ELLIPSIS
    20.0...
    """
    square = max(Fraction(l2_squared) / (2 * Fraction(loss)), Fraction(MIN_DEVIATION) ** 2)
    square *= 1 + Fraction(4 * ROUNDING)
    return square**2 / (square - Fraction(1, 12))


def _continuous(variance: float) -> float:
    """Give the variance s^2 of the continuous noise that is compared, rounded down."""
    if not 1 <= variance <= MAX_VARIANCE:
        return 0.0
    return (variance + math.sqrt(variance**2 - variance / 3)) / 2 * (1 - ROUNDING)


@lru_cache(maxsize=1024)
def epsilon_of_gaussian(loss: float, *, delta: float) -> float:
    """Compute the epsilon that a sum of Gaussian losses implies except with probability delta.

    >>> round(epsilon_of_gaussian(0.0165, delta=1e-9), 3)
    0.999
    """
    if loss == 0:
        return 0.0
    left = (delta - TAIL * loss) * math.exp(-SLACK * loss) if loss < math.inf else 0.0
    if not left > 0:
        return math.inf
    mu = math.sqrt(2 * loss)
    low, high = 0.0, MAX_EPSILON
    if _delta(high, mu) > left:
        return math.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(middle, mu) <= left else (middle, high)
    return SLACK * loss + high


@lru_cache(maxsize=256)
def gaussian_of(epsilon: float, *, delta: float) -> float:
    """Compute the largest Gaussian loss that implies at most epsilon, rounded down."""
    low, high = 0.0, MAX_LOSS
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_within = epsilon_of_gaussian(middle, delta=delta) <= epsilon
        low, high = (middle, high) if is_within else (low, middle)
    return low


def _delta(epsilon: float, mu: float) -> float:
    """Compute delta of continuous noise at epsilon, rounded up."""
    over = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    under = math.exp(epsilon) * math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    return over - under + ROUNDING * over
