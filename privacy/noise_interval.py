"""Intervals around noisy counts: how far the noise of a cell goes, with a stated confidence.

The law of the noise is public, so an interval needs no further budget. It covers the exact count of
a cell with at least the confidence, for each cell by itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np

from .share_law import log_probabilities

__all__ = ["gaussian_half_width", "laplace_half_width"]

MAX_TABULATED: Final = 4096
"""Noise scale up to which the law of shares is tabulated; beyond it a bound is used."""
SCALES: Final = 60
"""Noise scales in the table: less than e^-50 of the noise is beyond."""


def laplace_half_width(rate: Fraction, *, shape: float, confidence: float) -> int:
    """Find the least h with P(|noise| <= h) >= confidence, for noise of shares of this shape.

    >>> laplace_half_width(Fraction(1, 10), shape=1, confidence=0.95)
    30
    """
    slope = float(rate)
    if shape == 1:  # P(|noise| > h) = 2 a^(h + 1) / (1 + a) with a = e^-rate
        tail = (1 - confidence) * (1 + math.exp(-slope)) / 2
        return max(math.ceil(-math.log(tail) / slope - 1 - 1e-9), 0)
    if 1 / slope > MAX_TABULATED:  # Chebyshev's inequality
        deviation = math.sqrt(2 * math.exp(-slope) * shape) / -math.expm1(-slope)
        return math.ceil(deviation / math.sqrt(1 - confidence))
    size = math.ceil(SCALES * max(shape, 1.0) / slope) + 1
    logs = log_probabilities(shape, rate, size)
    halves = np.exp(logs)
    halves[1:] *= 2
    shares = np.cumsum(halves) / halves.sum()
    return int(np.searchsorted(shares, confidence, side="left"))


def gaussian_half_width(variance: float, *, confidence: float) -> int:
    """Find an h with P(|noise| <= h) >= confidence, for a sum of discrete Gaussian noise.

    The noise is a whole number that is close to a rounded normal one, so h is rounded up.
    """
    return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance))
