"""Expectation and maximisation: the joint table of several attributes, from users' reports.

A report gives the likelihood of each label of an attribute, up to a factor. Given the labels, a
user's reports of different attributes are independent, so the likelihoods of a cell multiply. One
step goes from a table P to the next:

    expectation     the posterior of each user's cell: P(cell) times its likelihood, normalised
    maximisation    the next P is the average of these posteriors

It ends when no cell changes by more than a thousandth of 1 / (number of cells). The likelihood of
all reports rises in each step. Its logarithm is concave in P, so every maximum is a global one.

The posteriors are never written down. The attributes are put on two sides with about equally many
cells, with likelihoods A and B. A step is then two matrix products. The cell-by-cell product of B
and P^T A sums to the evidence of each user. A times (B over these sums), times P, is the sum of all
posteriors. Users are processed in blocks that fit in the cache. The likelihoods of a side with
several attributes are made block by block, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .marginal import Numbers

__all__ = ["MAX_ITERATIONS", "Likelihood", "LikelihoodFit", "most_likely"]

Likelihood: TypeAlias = npt.NDArray[np.floating[Any]]
"""A row for each label and a column for each user; each column is known up to a factor."""

MAX_ITERATIONS: Final = 1000
MIN_CHANGE: Final = 1e-3
"""Change of a cell that requires another step, as a share of 1 / (number of cells)."""
BLOCK: Final = 1 << 18
"""Numbers on both sides for the users of one block."""
MIN_BLOCK_USERS: Final = 64


@dataclass(frozen=True, slots=True)
class LikelihoodFit:
    """The fitted distribution, with an axis for each attribute, and the number of steps."""

    table: Numbers
    iterations: int
    converged: bool
    """Whether it ended before the largest number of steps."""


def most_likely(
    likelihoods: Sequence[Likelihood],
    *,
    start: Numbers | None = None,
    iterations: int = MAX_ITERATIONS,
) -> LikelihoodFit:
    """Find the table under which the reports are most likely.

    It computes in the precision of the likelihoods, and adds up blocks in double precision.

    Args:
        likelihoods: Likelihoods of each attribute.
        start: The table to start from; a cell of 0 stays 0. The default is the uniform table.
        iterations: The largest number of steps.

    Two users report the first label, one the second, and one report says nothing:

    >>> likelihood = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    >>> most_likely([likelihood]).table.round(2).tolist()
    [0.67, 0.33]
    """
    shape = _shape(likelihoods)
    table = np.full(shape, 1 / prod(shape)) if start is None else np.asarray(start, np.float64)
    if table.shape != shape or not (table.min() >= 0 and table.sum() > 0):
        raise ValueError(
            f"expected a start of {'x'.join(map(str, shape))} cells, none below 0, "
            f"found {table.shape}"
        )
    left, right = _sides(shape)
    order = (*left, *right)
    sides = [likelihoods[axis] for axis in left], [likelihoods[axis] for axis in right]
    p = (table / table.sum()).transpose(order).reshape(prod(shape[axis] for axis in left), -1)
    steps, converged = 0, False
    while steps < iterations and not converged:
        after = p * _evidence(p, *sides)
        after /= after.sum()
        converged = bool(np.abs(after - p).max() < MIN_CHANGE / p.size)
        p, steps = after, steps + 1
    result = p.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
    return LikelihoodFit(result, steps, converged)


def _shape(likelihoods: Sequence[Likelihood]) -> tuple[int, ...]:
    if (
        any(likelihood.ndim != 2 for likelihood in likelihoods)
        or len({likelihood.shape[-1] for likelihood in likelihoods}) != 1
        or not likelihoods[0].size
    ):
        raise ValueError(
            "expected a column for each of the same users, "
            f"found {[likelihood.shape for likelihood in likelihoods]}"
        )
    return tuple(len(likelihood) for likelihood in likelihoods)


def _sides(shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Put each attribute, the largest first, on the side that has fewer cells."""
    sides: tuple[list[int], list[int]] = [], []
    cells = [1, 1]
    for axis in sorted(range(len(shape)), key=lambda axis: (-shape[axis], axis)):
        side = int(cells[1] < cells[0])
        sides[side].append(axis)
        cells[side] *= shape[axis]
    return sides


def _evidence(p: Numbers, left: Sequence[Likelihood], right: Sequence[Likelihood]) -> Numbers:
    """Sum over users, for each cell, the likelihood of their reports divided by that under `p`."""
    precision = np.result_type(*left, *right)
    sums, transposed = np.zeros(p.shape), np.ascontiguousarray(p.T).astype(precision)
    step, users = max(MIN_BLOCK_USERS, BLOCK // sum(p.shape)), left[0].shape[1]
    for start in range(0, users, step):
        block = slice(start, min(start + step, users))
        a, b = _product(left, block, precision), _product(right, block, precision)
        weighted = transposed @ a
        weighted *= b
        totals = weighted.sum(axis=0)
        # If the table has zeros, a report may be impossible. It then counts for nothing.
        inverse = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
        sums += a @ np.multiply(b, inverse, out=weighted).T
    return sums


def _product(side: Sequence[Likelihood], block: slice, precision: np.dtype[Any]) -> Likelihood:
    """Multiply the likelihoods of all attributes of a side for the users of a block."""
    users = block.stop - block.start
    product: Likelihood = side[0][:, block] if side else np.ones((1, users), precision)
    for likelihood in side[1:]:
        product = (product[:, np.newaxis] * likelihood[:, block]).reshape(-1, users)
    return product
