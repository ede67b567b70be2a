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
import numpy.typing as npt

from .share_law import log_probabilities

__all__ = ["gaussian_half_width", "laplace_half_width", "score_interval"]

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


def score_interval(
    estimates: npt.NDArray[np.float64], *, base: float, slope: float, confidence: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Find all shares f that explain unbiased estimates with the variance base + slope f.

    This is Wilson's interval: (estimate - f)^2 <= z^2 (base + slope f), with z from the normal law.

    >>> low, high = score_interval(np.array([0.1]), base=1e-4, slope=0.0, confidence=0.95)
    >>> print(f"{low[0]:.4f} {high[0]:.4f}")
    0.0804 0.1196
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = estimates + z**2 * slope / 2
    radius = z * np.sqrt(np.maximum(base + slope * estimates + (z * slope / 2) ** 2, 0))
    return np.clip(centre - radius, 0, 1), np.clip(centre + radius, 0, 1)
