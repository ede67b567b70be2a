"""Expectation and maximisation: a table of several attributes from reports that say something of
each of them.

What a report says of an attribute is how likely it is from each label: its likelihood, known up to
a factor. Given the labels a user's reports of different attributes are independent, so those of a
cell multiply. From a table P

    expectation     each user's cell, given what she said: P(cell) times its likelihood, over the sum of that
    maximisation    P is the average of these

until nothing changes by more than a thousandth of a cell's even share. The likelihood of all
reports rises in each step, and has no other maximum than its highest, as its logarithm is concave
in P.

No user's cells are written down. The attributes stand on two sides, as even in cells as can be, of
likelihoods A and B, and a step is two products of matrices: B times P^T A, cell by cell, adds up to
every user's sum, and A times B over these sums, times P, is all users' expectation. Users go in
blocks, which stay in the cache, as do those of sides of several attributes, made when needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .marginal import Numbers

__all__ = ["ITERATIONS", "Likelihood", "MostLikely", "most_likely"]

Likelihood = npt.NDArray[np.floating[Any]]
"""A line a label, a column a user; each column up to a factor."""

ITERATIONS: Final = 1000
CHANGE: Final = 1e-3
"""Of a cell, in even shares, that is worth another step."""
BLOCK: Final = 1 << 18
"""Numbers of both sides together, of the users of a block."""


@dataclass(frozen=True, slots=True)
class MostLikely:
    """A distribution, an axis an attribute, and in how many steps it was found."""

    table: Numbers
    iterations: int
    settled: bool
    """Whether it stopped by itself."""


def most_likely(
    likelihoods: Sequence[Likelihood], *, start: Numbers | None = None, iterations: int = ITERATIONS
) -> MostLikely:
    """Find the table from which the reports are most likely, from `start` or all cells alike; a
    cell of 0 stays 0.

    Computes in the precision of the likelihoods, and adds blocks up in double.

    >>> said = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])  # a, a, b, and one who says nothing
    >>> most_likely([said]).table.round(2).tolist()
    [0.67, 0.33]
    """
    shape = _shape(likelihoods)
    table = np.full(shape, 1 / prod(shape)) if start is None else np.asarray(start, np.float64)
    if table.shape != shape or not (table.min() >= 0 and table.sum() > 0):
        raise ValueError(
            f"expected a start of {'x'.join(map(str, shape))} cells, none below 0, found {table.shape}"
        )
    left, right = _sides(shape)
    order = (*left, *right)
    sides = [likelihoods[at] for at in left], [likelihoods[at] for at in right]
    p = (table / table.sum()).transpose(order).reshape(prod(shape[at] for at in left), -1)
    done, settled = 0, False
    while done < iterations and not settled:
        after = p * _expected(p, *sides)
        after /= after.sum()
        settled = bool(np.abs(after - p).max() < CHANGE / p.size)
        p, done = after, done + 1
    back = np.argsort(order)
    return MostLikely(p.reshape([shape[at] for at in order]).transpose(back), done, settled)


def _shape(likelihoods: Sequence[Likelihood]) -> tuple[int, ...]:
    if (
        any(own.ndim != 2 for own in likelihoods)
        or len({own.shape[-1] for own in likelihoods}) != 1
        or not likelihoods[0].size
    ):
        raise ValueError(
            f"expected a column for each of the same users, found {[own.shape for own in likelihoods]}"
        )
    return tuple(len(own) for own in likelihoods)


def _sides(shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Put the attributes on two sides, the largest first, each where there are fewer cells."""
    sides: tuple[list[int], list[int]] = [], []
    cells = [1, 1]
    for at in sorted(range(len(shape)), key=lambda at: (-shape[at], at)):
        side = int(cells[1] < cells[0])
        sides[side].append(at)
        cells[side] *= shape[at]
    return sides


def _expected(p: Numbers, left: Sequence[Likelihood], right: Sequence[Likelihood]) -> Numbers:
    """Add up over users how likely their reports are from each cell, over how likely from all."""
    kind = np.result_type(*left, *right)
    found, of = np.zeros(p.shape), np.ascontiguousarray(p.T).astype(kind)
    step, users = max(64, BLOCK // sum(p.shape)), left[0].shape[1]
    for start in range(0, users, step):
        part = slice(start, min(start + step, users))
        one, other = _together(left, part, kind), _together(right, part, kind)
        told = of @ one
        told *= other
        sums = told.sum(axis=0)
        # From a table with zeros somebody's report may be impossible: it says nothing then.
        over = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
        found += one @ np.multiply(other, over, out=told).T
    return found


def _together(side: Sequence[Likelihood], part: slice, kind: np.dtype[Any]) -> Likelihood:
    """Multiply out what these users' reports say of all attributes of a side."""
    users = part.stop - part.start
    found: Likelihood = side[0][:, part] if side else np.ones((1, users), kind)
    for own in side[1:]:
        found = (found[:, np.newaxis] * own[:, part]).reshape(-1, users)
    return found
