"""The exact epsilon of Gaussian noise at a delta (Balle and Wang 2018, theorem 8)."""

from __future__ import annotations

import math

__all__ = ["gaussian_delta", "gaussian_epsilon"]


def gaussian_delta(shift: float, *, epsilon: float) -> float:
    """Compute the delta at which Gaussian noise has this epsilon.

    Args:
        shift: the distance of the two exact values, in standard deviations of the noise.
        epsilon: the privacy loss.
    """
    from scipy.special import log_ndtr

    first = math.exp(log_ndtr(shift / 2 - epsilon / shift))
    return first - math.exp(epsilon + log_ndtr(-shift / 2 - epsilon / shift))


def gaussian_epsilon(shift: float, *, delta: float) -> float:
    """Compute the smallest epsilon at this delta, by bisection.

    >>> round(gaussian_epsilon(1.0, delta=1e-5), 4)
    4.3772
    """
    low, high = 0.0, 1.0
    while gaussian_delta(shift, epsilon=high) > delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if gaussian_delta(shift, epsilon=middle) > delta:
            low = middle
        else:
            high = middle
    return high
