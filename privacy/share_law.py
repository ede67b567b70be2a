"""The law of noise that consists of shares: its log-probabilities, for the audit.

A share is A - B with A, B independent NB(r, alpha). A sum of shares has the same law with the sum s
of their r. Its generating function is ((1 - alpha z)(1 - alpha / z))^-s up to a constant, so its
probabilities keep a recurrence of three terms:

    alpha (k + 1 - s) f(k + 1) = (1 + alpha^2) k f(k) - alpha (k - 1 + s) f(k - 1)

f is the solution that falls, so the ratios f(k) / f(k - 1) are a continued fraction, computed from
a far k downwards (Miller). An error of a ratio shrinks by about alpha^2 at every step. Beginning
40 noise scales beyond the last ratio that is used leaves less than e^-80 of it, and rounding adds
less than 2^-52 / (1 - alpha^2) to each ratio, relatively.

For s = 1 this is the two-sided geometric law, whose ratios are all alpha.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["log_probabilities", "noise_log_ratio"]

SCALES_BEYOND: Final = 40
"""Noise scales between the largest noise in a table and the start of the continued fraction."""
MIN_SIZE: Final = 64

Counts = npt.NDArray[np.int64]


def noise_log_ratio(noise: Counts, shift: Counts, *, shape: float, rate: Fraction) -> float:
    """Compute the log-ratio of seeing this noise, against seeing it moved, in all cells together.

    An answer is an exact table plus noise. If a neighbouring dataset has the exact table plus
    `shift`, the same answer means the noise minus `shift`.

    Args:
        noise: the noise in each cell, as far as the adversary cannot subtract it.
        shift: the change of the exact table towards the neighbouring dataset.
        shape: the shape of all shares in this noise together.
        rate: epsilon / sensitivity.
    """
    changed = np.flatnonzero(shift)
    if not len(changed):
        return 0.0
    before = np.abs(noise[changed])
    after = np.abs(noise[changed] - shift[changed])
    largest = int(max(before.max(), after.max()))
    size = max(MIN_SIZE, 1 << largest.bit_length())
    logs = log_probabilities(shape, rate, size)
    return float((logs[before] - logs[after]).sum())


@lru_cache(maxsize=256)
def log_probabilities(shape: float, rate: Fraction, size: int) -> npt.NDArray[np.float64]:
    """Tabulate ln f(0) ... ln f(size), up to the same constant for all."""
    slope = float(rate)
    if shape == 1:
        return np.asarray(-slope * np.arange(size + 1), np.float64)
    alpha = math.exp(-slope)
    ratios = np.empty(size + 1)
    ratio = alpha
    for k in range(size + math.ceil(SCALES_BEYOND / slope) + 1, 0, -1):
        ratio = (
            alpha * (k - 1 + shape) / ((1 + alpha * alpha) * k - alpha * (k + 1 - shape) * ratio)
        )
        if k <= size:
            ratios[k] = ratio
    ratios[0] = 1.0
    return np.asarray(np.cumsum(np.log(ratios)))
