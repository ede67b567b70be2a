"""Lasso: which few of many candidates make up what was counted (Tibshirani 1996), none less than
not at all.

Minimises |y - X w|^2 / 2 m + alpha sum of w over w >= 0, for y of m numbers: scikit-learn's scale.
By coordinate descent: each coefficient in turn is moved to its best value given the others, until
none moves.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .marginal import Numbers

__all__ = ["lasso"]

SWEEPS: Final = 1000
TOLERANCE: Final = 1e-9
"""Of the largest coefficient, by which the last sweep may still move one."""


def lasso(x: Numbers, y: Numbers, *, alpha: float) -> Numbers:
    """Find the coefficients of the columns of `x`.

    >>> lasso(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([4.0, 2.0, -1.0]), alpha=0.0).tolist()
    [3.0, 0.0]
    """
    gram, told, price = x.T @ x, x.T @ y, alpha * len(y)
    found = np.zeros(x.shape[1])
    for _ in range(SWEEPS):
        before = found.copy()
        for at in np.flatnonzero(gram.diagonal() > 0):
            alone = told[at] - gram[at] @ found + gram[at, at] * found[at]
            found[at] = max(0.0, (alone - price) / gram[at, at])
        if np.abs(found - before).max() <= TOLERANCE * found.max():
            break
    return found
