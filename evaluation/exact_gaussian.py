"""Privacy losses of Gaussian noise: the exact epsilon at a delta, and a bound on the mean loss.

The exact epsilon is theorem 8 of Balle and Wang (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["gaussian_delta", "gaussian_epsilon", "mean_lower_bound"]


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


def mean_lower_bound(losses: Sequence[float], *, confidence: float) -> float:
    """Bound the mean of privacy losses from below, by the normal approximation.

    The mean loss is a Kullback-Leibler divergence, which rho of zero-concentrated differential
    privacy bounds. An infinite loss counts as itself.

    >>> mean_lower_bound([1.0, 1.0, 1.0, 1.0], confidence=0.999)
    1.0
    """
    from scipy.special import ndtri

    values = np.asarray(losses, np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return float(values.mean()) if len(values) else 0.0
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - float(ndtri(confidence)) * error
