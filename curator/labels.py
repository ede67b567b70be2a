"""What noisy joint tables of a label and attributes tell: how the label goes with them, and how
surely.

A table is an unbiased estimate of the joint distribution, a line for each label. Its cells vary
alike and, as a report is a set of fixed size, against one another: a sum of cells has a variance of
its own (`privacy.local.heads.variance_of_set`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np

from .marginal import Numbers
from .projections import norm_sub

__all__ = ["SURE", "pooled", "upper_beliefs"]

SURE: Final = 3.0
"""Standard deviations: none of Adult's bounds was too small in 560 runs at each epsilon (spec
A4).
"""


def upper_beliefs(joint: Numbers, *, variance: float, users: int, sure: float = SURE) -> Numbers:
    """Bound omega(1), omega(2), ... from above (`privacy.local.belief`).

    `variance`: of each cell's estimate; `users`: how many were asked. What k cells' noise and the
    sample itself may be off is added, for a label as rare as it may be; one that may not be there
    at all makes omega 1. If `sure` is 0 the estimate stays as it is: too small in a third of all
    cases, so that more than epsilon is told (spec C11).
    """
    whole = norm_sub(joint)
    rows = whole.sum(axis=1)
    size = joint.shape[1]
    k = np.arange(1, size + 1)
    least = np.maximum(joint.sum(axis=1), 0.0) - sure * sqrt(size * variance) if sure else rows
    if (least <= 0).any() and sure:
        return np.ones(size)
    bound = np.zeros(size)
    for line, label, low in zip(whole, rows, least, strict=True):
        if label <= 0:
            continue
        omega = np.minimum(np.cumsum(np.sort(line)[::-1]) / label, 1.0)
        off = np.sqrt(k * variance / low**2 + omega * (1 - omega) / (users * low)) if sure else 0.0
        bound = np.maximum(bound, omega + sure * off)
    return np.minimum(bound, 1.0) if bound.any() else np.ones(size)


def pooled(parts: Sequence[tuple[Numbers, float]]) -> tuple[Numbers, float]:
    """Average estimates of the same numbers by inverse variance: what comes out, and its variance.

    >>> pooled([(np.array([1.0]), 1.0), (np.array([4.0]), 0.5)])
    (array([3.]), 0.3333333333333333)
    """
    weights = [1 / variance for _, variance in parts]
    return np.asarray(
        sum(w * own for w, (own, _) in zip(weights, parts, strict=True)) / sum(weights)
    ), 1 / sum(weights)
