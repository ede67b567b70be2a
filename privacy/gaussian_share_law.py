"""The exact law of a sum of discrete Gaussian shares: its log-ratios, for the audit.

The sum of n shares of the law N_Z(0, v) has

    ln P[z] = -z^2 / 2nv + r(z mod n)   up to a constant

since the integer vectors that add up to z + n are those that add up to z, each coordinate plus one.
The periodic part r follows share by share, by completing the square as in `gaussian_shares`:

    exp(r_(k+1)(z)) = sum over x of exp(r_k(z - x)) exp(-(x - z / (k + 1))^2 / 2c),
    c = vk / (k + 1)

All terms are positive, and only those near z / (k + 1) matter. So each step adds a few roundings
of 2^-53, and nothing underflows however far z is from 0. Where shares are so large that r is below
2^-60, it is taken as 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from .gaussian_shares import deviation

__all__ = ["gaussian_log_ratio", "periodic_part"]

NEGLIGIBLE: Final = 2.0**-60
"""Deviation below which the sum of shares is taken as discrete Gaussian."""
REACH: Final = 12
"""Standard deviations around a centre outside of which terms are below e^-72 of the largest."""

Counts = npt.NDArray[np.int64]


def gaussian_log_ratio(
    noise: Counts, shift: Counts, *, share_variance: Fraction, shares: int
) -> float:
    """Compute the log-ratio of seeing this noise, against seeing it moved, in all cells together.

    An answer is an exact table plus noise. If a neighbouring dataset has the exact table plus
    `shift`, the same answer means the noise minus `shift`.

    Args:
        noise: the noise in each cell, as far as the adversary cannot subtract it.
        shift: the change of the exact table towards the neighbouring dataset.
        share_variance: the variance parameter of one share.
        shares: the number of shares in this noise.
    """
    changed = np.flatnonzero(shift)
    before, moved = noise[changed], shift[changed]
    after = before - moved
    # after^2 - before^2 = -moved (2 before - moved), which cancels nothing.
    squares = -(moved.astype(np.float64) * (2 * before - moved)).sum()
    ratio = float(squares) / (2 * shares * float(share_variance))
    if deviation(share_variance=share_variance, shares=shares) < NEGLIGIBLE:
        return ratio
    periodic = periodic_part(share_variance=share_variance, shares=shares)
    return ratio + float((periodic[before % shares] - periodic[after % shares]).sum())


@lru_cache(maxsize=64)
def periodic_part(*, share_variance: Fraction, shares: int) -> npt.NDArray[np.float64]:
    """Tabulate r(0) ... r(shares - 1), up to the same constant for all."""
    variance = float(share_variance)
    logs = np.zeros(1)
    for k in range(1, shares):
        c = variance * k / (k + 1)
        reach = math.ceil(REACH * math.sqrt(c)) + 1
        z = np.arange(k + 1)[:, np.newaxis]
        x = np.arange(-reach, reach + 2)
        exponents = logs[(z - x) % k] - (x - z / (k + 1)) ** 2 / (2 * c)
        largest = exponents.max(axis=1)
        logs = largest + np.log(np.exp(exponents - largest[:, np.newaxis]).sum(axis=1))
        logs -= logs[0]
    return logs
