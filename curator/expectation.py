"""Expectation and maximisation: the joint table of several attributes, from users' reports.

A report gives the likelihood of each label of an attribute, up to a factor. Given the labels, a
user's reports of different attributes are independent, so the likelihoods of a cell multiply. One
step goes from a table P to the next:

    expectation     the posterior of each user's cell: P(cell) times its likelihood, normalised
    maximisation    the next P is the average of these posteriors

It ends when a step changes no cell by more than a thousandth of 1 / (number of cells). The
likelihood of all reports rises in each step. Its logarithm is concave in P, so every maximum is a
global one.

Near the maximum the steps are small and alike. So after two steps, r = P1 - P0 and
v = (P2 - P1) - r, the search goes on from P0 + 2 a r + a^2 v with a = |r| / |v| (SQUAREM, scheme S3
of Varadhan and Roland 2008), where a = 1 is P2. A point that is no table, or at which the reports
are less likely than at P1, is left out. The fixed points are those of the plain steps.

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

__all__ = ["MAX_ITERATIONS", "Likelihood", "LikelihoodFit", "most_likely", "repeat_steps"]

Likelihood: TypeAlias = npt.NDArray[np.floating[Any]]
"""A row for each label and a column for each user; each column is known up to a factor."""

MAX_ITERATIONS: Final = 1000
MIN_CHANGE: Final = 1e-3
"""Change of a cell that requires another step, as a share of 1 / (number of cells)."""
BLOCK: Final = 1 << 18
"""Numbers on both sides for the users of one block."""
MIN_BLOCK_USERS: Final = 64
SMALLEST_FACTOR: Final = 1.1
"""A search that goes on by less than that is no further than two steps."""


@dataclass(frozen=True, slots=True)
class LikelihoodFit:
    """The fitted distribution, with an axis for each attribute, and the number of steps."""

    table: Numbers
    iterations: int
    """Number of steps, each of which goes through all users."""
    converged: bool
    """Whether it ended before the largest number of steps."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step from one table to the next."""

    table: Numbers
    log_likelihood: float
    """Logarithm of the likelihood of all reports at the table from which the step began."""
    is_small: bool


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
    reports = _Reports.of(likelihoods)
    p = reports.begin(start)
    step, steps = reports.step(p), 1
    while not step.is_small and steps < iterations:
        second, steps = reports.step(step.table), steps + 1
        further = None if second.is_small else _extrapolated(p, step.table, second.table)
        p, step = step.table, second
        if further is None or steps >= iterations:
            continue
        beyond, steps = reports.step(further), steps + 1
        if beyond.log_likelihood >= second.log_likelihood:
            p, step = further, beyond
    return LikelihoodFit(reports.in_order(step.table), steps, step.is_small)


def repeat_steps(
    likelihoods: Sequence[Likelihood],
    *,
    start: Numbers | None = None,
    iterations: int = MAX_ITERATIONS,
) -> LikelihoodFit:
    """Make plain steps, one after another; where they are cut off, the table stays near its start.

    The arguments are those of `most_likely`.
    """
    reports = _Reports.of(likelihoods)
    step, steps = reports.step(reports.begin(start)), 1
    while not step.is_small and steps < iterations:
        step, steps = reports.step(step.table), steps + 1
    return LikelihoodFit(reports.in_order(step.table), steps, step.is_small)


@dataclass(frozen=True, slots=True)
class _Reports:
    """The likelihoods of all reports on two sides: a table has a row for each cell of the left."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    """The attributes of the left side, then those of the right one."""
    left: Sequence[Likelihood]
    right: Sequence[Likelihood]

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood]) -> _Reports:
        """Put attributes on two sides."""
        shape = _shape(likelihoods)
        left, right = _sides(shape)
        sides = [likelihoods[axis] for axis in left], [likelihoods[axis] for axis in right]
        return cls(shape, (*left, *right), *sides)

    def begin(self, start: Numbers | None) -> Numbers:
        """Put the start on two sides.

        Raises:
            ValueError: It is no table of these attributes.
        """
        shape = self.shape
        table = np.full(shape, 1 / prod(shape)) if start is None else np.asarray(start, np.float64)
        if table.shape != shape or not (table.min() >= 0 and table.sum() > 0):
            raise ValueError(
                f"expected a start of {'x'.join(map(str, shape))} cells, none below 0, "
                f"found {table.shape}"
            )
        rows = prod(len(likelihood) for likelihood in self.left)
        p: Numbers = (table / table.sum()).transpose(self.order).reshape(rows, -1)
        return p

    def in_order(self, p: Numbers) -> Numbers:
        """Put a table's axes into the order of the attributes."""
        return p.reshape([self.shape[axis] for axis in self.order]).transpose(
            np.argsort(self.order)
        )

    def step(self, p: Numbers) -> _Step:
        """Go from one table to the next."""
        evidence, log_likelihood = _evidence(p, self.left, self.right)
        after = p * evidence
        after /= after.sum()
        is_small = bool(np.abs(after - p).max() < MIN_CHANGE / p.size)
        return _Step(after, log_likelihood, is_small)


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


def _extrapolated(start: Numbers, first: Numbers, second: Numbers) -> Numbers | None:
    """Go further along two steps, or give `None` where that is no table or no further."""
    r = first - start
    v = second - first - r
    length = float(np.linalg.norm(v))
    factor = float(np.linalg.norm(r)) / length if length else 0.0
    while factor > 1:
        table: Numbers = start + 2 * factor * r + factor**2 * v
        # A cell above 0 must stay above 0, as no step leaves 0.
        if not ((table <= 0) & (second > 0)).any():
            further: Numbers = table / table.sum()
            return further
        factor = factor / 2 if factor > SMALLEST_FACTOR else 0.0
    return None


def _evidence(
    p: Numbers, left: Sequence[Likelihood], right: Sequence[Likelihood]
) -> tuple[Numbers, float]:
    """Sum over users, for each cell, the likelihood of their reports divided by that under `p`.

    Beside it give the logarithm of the likelihood of all reports under `p`.
    """
    precision = np.result_type(*left, *right)
    sums, transposed = np.zeros(p.shape), np.ascontiguousarray(p.T).astype(precision)
    log_likelihood = 0.0
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
        logs = np.log(totals, out=np.zeros_like(totals), where=totals > 0)
        log_likelihood += float(logs.sum(dtype=np.float64))
    return sums, log_likelihood


def _product(side: Sequence[Likelihood], block: slice, precision: np.dtype[Any]) -> Likelihood:
    """Multiply the likelihoods of all attributes of a side for the users of a block."""
    users = block.stop - block.start
    product: Likelihood = side[0][:, block] if side else np.ones((1, users), precision)
    for likelihood in side[1:]:
        product = (product[:, np.newaxis] * likelihood[:, block]).reshape(-1, users)
    return product
