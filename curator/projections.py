"""Projections: from noisy numbers, some negative, to numbers that are not.

Each takes an array of any shape and returns one of the same shape; most take the sum that is
wanted, too. `norm_sub` is the default: it is the nearest distribution. Which has the least bias
depends on the truth: where most cells are empty the ones that cut have less. After Wang et al.
(2020, "Locally differentially private frequency estimation with consistency"), except `threshold`,
which is JTree's (Chen et al. 2015).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from .marginal import Numbers

__all__ = ["base_cut", "norm_cut", "norm_mul", "norm_sub", "threshold"]


def norm_sub(values: Numbers, total: float = 1.0) -> Numbers:
    """Find the nearest point of the simplex: subtract one number from all, clip at 0 (Held, Wolfe,
    Crowder 1974).

    >>> norm_sub(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.43333, 0.33333, 0.0, 0.23333]
    """
    if total <= 0:
        return np.zeros(values.shape)
    shifted = (
        values - values.max()
    )  # adding a number to all changes nothing, and like this the largest do not drown `total`
    falling = np.sort(shifted, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    return np.asarray(np.maximum(shifted - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def norm_mul(values: Numbers, total: float = 1.0) -> Numbers:
    """Clip at 0, then rescale: small cells keep the positive half of their noise. Uniform when
    nothing is left.

    >>> norm_mul(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.41667, 0.33333, 0.0, 0.25]
    """
    clipped = np.maximum(values, 0.0)
    mass = clipped.sum()
    return clipped * (total / mass) if mass > 0 else np.full(values.shape, total / values.size)


def norm_cut(values: Numbers, total: float = 1.0) -> Numbers:
    """Clip at 0, then cut the smallest cells until the sum is `total`, the last in part. A sum
    below it stays.

    >>> norm_cut(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.5, 0.4, 0.0, 0.1]
    """
    kept = np.maximum(values, 0.0).reshape(-1)
    order = np.argsort(-kept, kind="stable")
    room = np.maximum(total - np.concatenate([[0.0], np.cumsum(kept[order])[:-1]]), 0.0)
    kept[order] = np.minimum(kept[order], room)
    return kept.reshape(values.shape)


def base_cut(values: Numbers, *, deviation: float, alpha: float) -> Numbers:
    """Keep what is significant: above the noise's quantile at 1 - alpha / K of K cells. The sum is
    what it is.

    >>> base_cut(np.array([0.5, 0.23, -0.1, 0.22]), deviation=0.1, alpha=0.05).tolist()
    [0.5, 0.23, 0.0, 0.0]
    """
    return np.where(values > NormalDist().inv_cdf(1 - alpha / values.size) * deviation, values, 0.0)


def threshold(counts: Numbers, total: float) -> Numbers:
    """Keep the counts above the positive integer at which they sum to nearest `total`, and rescale
    them (JTree, 4.3).

    Uniform when no count is above 1.

    >>> threshold(np.array([50.0, 40.0, 9.0, -7.0, 8.0]), 100).round(3).tolist()
    [50.505, 40.404, 9.091, 0.0, 0.0]
    """
    falling = np.sort(counts, axis=None)[::-1]
    falling = falling[falling > 1]
    if not falling.size:
        return np.full(counts.shape, total / counts.size)
    # What is kept changes only at a threshold of 1 and at the least integer that is not below a
    # count.
    candidates = np.unique(np.append(np.ceil(falling), 1.0))
    sums = np.concatenate([[0.0], np.cumsum(falling)])[
        np.searchsorted(-falling, -candidates, side="left")
    ]
    best = candidates[np.argmin(np.where(sums > 0, np.abs(sums - total), np.inf))]
    kept = np.where(counts > best, counts, 0.0)
    return np.asarray(kept * (total / kept.sum()))
