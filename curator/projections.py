"""Projections: from noisy numbers, of which some are negative, to numbers of which none is.

Each takes an array of any shape and returns one of the same shape. Most also take the sum of the
result. `norm_sub` is the default: it finds the nearest distribution. Which projection has the least
bias depends on the truth: if most cells are empty, those that cut have less. All are from Wang et
al. (2020, "Locally differentially private frequency estimation with consistency"), except
`threshold`, which is from JTree (Chen et al. 2015).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from .marginal import Numbers

__all__ = ["base_cut", "norm_cut", "norm_mul", "norm_sub", "threshold"]


def norm_sub(values: Numbers, total: float = 1.0) -> Numbers:
    """Find the nearest point of the simplex (Held, Wolfe, Crowder 1974).

    It subtracts one number from all, and clips at 0.

    >>> norm_sub(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.43333, 0.33333, 0.0, 0.23333]
    """
    if total <= 0:
        return np.zeros(values.shape)
    # Adding a number to all changes nothing. This one keeps `total` from being lost to rounding.
    shifted = values - values.max()
    falling = np.sort(shifted, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    return np.asarray(np.maximum(shifted - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def norm_mul(values: Numbers, total: float = 1.0) -> Numbers:
    """Clip at 0, then rescale. Small cells keep the positive half of their noise.

    The result is uniform if no number is above 0.

    >>> norm_mul(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.41667, 0.33333, 0.0, 0.25]
    """
    clipped = np.maximum(values, 0.0)
    mass = clipped.sum()
    return clipped * (total / mass) if mass > 0 else np.full(values.shape, total / values.size)


def norm_cut(values: Numbers, total: float = 1.0) -> Numbers:
    """Clip at 0, then cut the smallest cells until the sum is `total`.

    The last of them is cut in part. A sum below `total` stays.

    >>> norm_cut(np.array([0.5, 0.4, -0.1, 0.3])).round(5).tolist()
    [0.5, 0.4, 0.0, 0.1]
    """
    kept = np.maximum(values, 0.0).reshape(-1)
    order = np.argsort(-kept, kind="stable")
    room = np.maximum(total - np.concatenate([[0.0], np.cumsum(kept[order])[:-1]]), 0.0)
    kept[order] = np.minimum(kept[order], room)
    return kept.reshape(values.shape)


def base_cut(values: Numbers, *, deviation: float, alpha: float) -> Numbers:
    """Keep the numbers above the quantile of the noise at 1 - alpha / K, for K cells.

    The sum is not changed to any total.

    >>> base_cut(np.array([0.5, 0.23, -0.1, 0.22]), deviation=0.1, alpha=0.05).tolist()
    [0.5, 0.23, 0.0, 0.0]
    """
    return np.where(values > NormalDist().inv_cdf(1 - alpha / values.size) * deviation, values, 0.0)


def threshold(counts: Numbers, total: float) -> Numbers:
    """Keep the counts above a threshold, and rescale them (JTree, 4.3).

    The threshold is the positive integer for which the sum of these counts is nearest to `total`.
    The result is uniform if no count is above 1.

    >>> threshold(np.array([50.0, 40.0, 9.0, -7.0, 8.0]), 100).round(3).tolist()
    [50.505, 40.404, 9.091, 0.0, 0.0]
    """
    falling = np.sort(counts, axis=None)[::-1]
    falling = falling[falling > 1]
    if not falling.size:
        return np.full(counts.shape, total / counts.size)
    # Only a threshold of 1 and the integers next above a count change the set of counts.
    candidates = np.unique(np.append(np.ceil(falling), 1.0))
    sums = np.concatenate([[0.0], np.cumsum(falling)])[
        np.searchsorted(-falling, -candidates, side="left")
    ]
    best = candidates[np.argmin(np.where(sums > 0, np.abs(sums - total), np.inf))]
    kept = np.where(counts > best, counts, 0.0)
    return np.asarray(kept * (total / kept.sum()))
