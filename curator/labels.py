"""What noisy joint tables of a label and attributes say about their relation, and how surely.

A table is an unbiased estimate of the joint distribution, with a row for each label. All cells have
the same variance. They are negatively correlated, because a report is a set of fixed size, so a sum
of cells has its own variance (`privacy.local.heads.variance_of_set`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, sqrt
from typing import Final

import numpy as np

from .marginal import Numbers
from .projections import norm_sub

__all__ = ["DEFAULT_DEVIATIONS", "pool", "underestimation", "upper_beliefs"]

DEFAULT_DEVIATIONS: Final = 3.0
"""Standard deviations added to a bound.

With three, none of Adult's bounds was too small in 560 runs at each epsilon (spec A4).
"""


def upper_beliefs(
    joint: Numbers, *, variance: float, users: int, sure: float = DEFAULT_DEVIATIONS
) -> Numbers:
    """Bound omega(1), omega(2), ... from above (`privacy.local.belief`).

    The bound adds `sure` standard deviations, for the noise of k cells and for the sample itself,
    and it takes each label to be as rare as it may be. A label that may not occur at all makes
    omega 1.

    If `sure` is 0 nothing is added. The estimate is then too small in a third of all cases, so that
    the privacy loss exceeds epsilon (spec C11). `underestimation` says how often a bound fails.

    Args:
        joint: An unbiased estimate, with a row for each label.
        variance: Variance of the estimate of each cell.
        users: Number of users who were asked.
        sure: Standard deviations to add.
    """
    distribution = norm_sub(joint)
    label_shares = distribution.sum(axis=1)
    size = joint.shape[1]
    k = np.arange(1, size + 1)
    lower_shares = label_shares
    if sure:
        lower_shares = np.maximum(joint.sum(axis=1), 0.0) - sure * sqrt(size * variance)
        if (lower_shares <= 0).any():
            return np.ones(size)
    bound = np.zeros(size)
    for row, share, lower in zip(distribution, label_shares, lower_shares, strict=True):
        if share <= 0:
            continue
        omega = np.minimum(np.cumsum(np.sort(row)[::-1]) / share, 1.0)
        if sure:
            sampling = omega * (1 - omega) / (users * lower)
            omega = omega + sure * np.sqrt(k * variance / lower**2 + sampling)
        bound = np.maximum(bound, omega)
    return np.minimum(bound, 1.0) if bound.any() else np.ones(size)


def underestimation(sure: float) -> float:
    """Bound the probability with which one of `upper_beliefs` is too small.

    The bound fails only if the share of the likeliest label was taken too high, or if the sum of
    its k likeliest cells was off by more than `sure` standard deviations. Both errors are taken as
    normal, since each adds up many reports. Without any margin the sum alone decides.

    >>> f"{underestimation(3.0):.4f}", underestimation(0.0)
    ('0.0027', 0.5)
    """
    tail = erfc(sure / sqrt(2)) / 2
    return 2 * tail if sure else tail


def pool(estimates: Sequence[tuple[Numbers, float]]) -> tuple[Numbers, float]:
    """Average estimates of the same numbers by inverse variance.

    Returns:
        The average, and its variance.

    >>> pool([(np.array([1.0]), 1.0), (np.array([4.0]), 0.5)])
    (array([3.]), 0.3333333333333333)
    """
    weights = [1 / variance for _, variance in estimates]
    weighted = (weight * values for weight, (values, _) in zip(weights, estimates, strict=True))
    return np.asarray(sum(weighted) / sum(weights)), 1 / sum(weights)
