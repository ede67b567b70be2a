"""Shares of Laplace noise: their shape, a bound on their sum, and the loss of less than all.

`privacy.shares` says what a share is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from .gaussian_shares import SAFETY_BITS

__all__ = ["MAX_SCALE", "excess", "hypergeometric", "noise_bound", "shape_of"]

MAX_SCALE: Final = 2.0**40
"""Largest noise scale.

Sums of such noise fit into 62 bits, and double precision suffices to compute `excess`.
"""
MAX_SUMMED: Final = 0.995
"""Argument up to which a hypergeometric series is summed here: it has 8,000 terms then."""
SMALLEST_TERM: Final = 1e-18
"""Terms below this one change no sum, which is at least 1, in double precision."""


def shape_of(*, parties: int, colluding: int) -> Fraction:
    """Compute r, the shape of each party's share."""
    if not 0 <= colluding < parties:
        raise ValueError(
            f"expected 0 to {parties - 1} colluding parties of {parties}, found {colluding}"
        )
    return Fraction(1, parties - colluding)


@lru_cache(maxsize=256)
def noise_bound(
    *, sensitivity: int, epsilon: float, cells: int, parties: int = 1, colluding: int = 0
) -> int:
    """Bound the noise in any cell of a batch, except with probability 2**-40.

    Slots of a plaintext must have room for it. Let lambda = ln 2 * (40 + log2 cells), and let
    s = K / (K - c) be the shape of all shares together. P[|X| > t] is at most

        e^(-t/b)                                 for s = 1
        (1 + t/2b) e^(-t/b)                      for s = 2, and so below, as tails grow with s
        2 e^(-theta t) (1 - theta^2 b^2)^(-s)    for larger s and every theta < 1/b (Chernoff)

    >>> noise_bound(sensitivity=114, epsilon=0.05, cells=9864, parties=3, colluding=1)
    92473
    """
    b = sensitivity / epsilon
    lam = math.log(2) * (SAFETY_BITS + math.log2(max(cells, 1)))
    s = parties / (parties - colluding)
    if s == 1:
        return math.ceil(b * lam)
    if s <= 2:
        return math.ceil(b * (lam + math.log1p(lam)))
    # A grid suffices, because every theta gives a valid bound.
    thetas = (k / 1000 for k in range(1, 1000))
    return math.ceil(
        b * min((lam + math.log(2) - s * math.log1p(-theta * theta)) / theta for theta in thetas)
    )


@lru_cache(maxsize=1024)
def excess(*, rate: float, shape: float) -> float:
    """Compute the factor by which the loss exceeds the claim where shares have this total shape.

    It is the log-ratio per count over the rate, a figure for reports, in floating point. The law of
    less than full noise (shape < 1) peaks at 0, and its log-ratios fall from there towards the
    rate. From shape 1 on they rise towards the rate, so the claim holds.
    """
    if shape >= 1:
        return 1.0

    # P[0] = (1 - a)^2r F(r, r; 1; a^2) and P[1] = (1 - a)^2r r a F(r, r + 1; 2; a^2).
    a = math.exp(-rate)
    peak = math.log(
        hypergeometric(shape, shape, 1, a * a)
        / (shape * hypergeometric(shape, shape + 1, 2, a * a))
    )
    return (peak + rate) / rate


def hypergeometric(a: float, b: float, c: int, x: float) -> float:
    """Compute Gauss's hypergeometric function, where terms never grow: a <= 1, b <= c and x < 1.

    Its terms fall like powers of x, so there are few of them unless x is nearly 1. SciPy takes a
    seventh of a second to load, which is much of what a forecast takes.
    """
    if x > MAX_SUMMED:
        from scipy.special import hyp2f1

        return float(hyp2f1(a, b, c, x))
    terms = [1.0]
    while terms[-1] > SMALLEST_TERM:
        k = len(terms) - 1
        terms.append(terms[-1] * (a + k) * (b + k) / ((c + k) * (k + 1)) * x)
    return math.fsum(terms)
