"""Lasso: a few of many candidates that explain counts (Tibshirani 1996), without negative weights.

It minimises |y - X w|^2 / 2 m + alpha sum of w over w >= 0, for y of m numbers. This is the scale
of scikit-learn. In coordinate descent each coefficient in turn moves to its best value given the
others, until none moves.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .marginal import Numbers

__all__ = ["lasso"]

MAX_SWEEPS: Final = 1000
TOLERANCE: Final = 1e-9
"""Largest move in the last sweep, as a share of the largest coefficient."""


def lasso(x: Numbers, y: Numbers, *, alpha: float) -> Numbers:
    """Find the coefficients of the columns of `x`.

    >>> x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> lasso(x, np.array([4.0, 2.0, -1.0]), alpha=0.0).tolist()
    [3.0, 0.0]
    """
    gram, correlation, penalty = x.T @ x, x.T @ y, alpha * len(y)
    weights = np.zeros(x.shape[1])
    for _ in range(MAX_SWEEPS):
        before = weights.copy()
        for j in np.flatnonzero(gram.diagonal() > 0):
            residual = correlation[j] - gram[j] @ weights + gram[j, j] * weights[j]
            weights[j] = max(0.0, (residual - penalty) / gram[j, j])
        if np.abs(weights - before).max() <= TOLERANCE * weights.max():
            break
    return weights
