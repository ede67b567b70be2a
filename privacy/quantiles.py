"""Quantiles of real numbers: the exponential mechanism over a public grid (Smith 2011).

Numbers are clipped to a public range and rounded to a public grid. A grid point y is as good as its
rank is near q n. If a records are below y, and b records are below or at y, its distance is

    d(y) = max(a - q n, q n - b, 0)

One record changes the distance of any y by D at most: by 1 if it is replaced, and by max(q, 1 - q)
if it is added or removed. So y is chosen with probability proportional to exp(-epsilon d / 2D).
Between two neighbouring records all grid points have the same distance, so the number of weights
depends on the number of records and not on the grid. Weights are integers of 176 bits, rounded up,
and one uniform integer decides: the law differs from the exact one by less than
grid points * 2^-170 in total variation.

There are two ways to choose several quantiles:

    one by one      each has its own part of the budget
    by splitting    the middle one first, then the others among the records on either side (Kaplan,
                    Schnapp and Stemmer 2022). Choices of one level are about disjoint records. An
                    added or removed record touches one choice in each level. A replaced record
                    touches the first choice once, and at most two choices in each later level.

So a record takes part in m choices one by one. By splitting it takes part in L of them, or in
2 L - 1 if it is replaced, where L is the number of binary digits of m. The way with fewer is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..messages import ArgumentError, Private
from .arguments import pure_epsilon
from .budget import Budget
from .neighbours import Neighbours
from .number_grid import number_grid
from .quantile_mechanisms import MAX_DENOMINATOR, Quantile, Quantiles

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["median", "quantile", "quantiles"]


def quantiles(
    values: npt.ArrayLike,
    q: Sequence[float | Fraction],
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantiles:
    """Prepare several quantiles of numbers for release. Say `epsilon` or `budget`.

    Args:
        values: A number for each record.
        q: The quantiles, from 0 to 1, in rising order.
        bounds: The lowest and the highest number. They are public.
        neighbours: The relation between neighbouring datasets: `replace-one` or
            `add-or-remove-one`, as the protocol declares it.
        resolution: The distance between two points of the grid. By default 1/4096 of the range.
        epsilon: The privacy loss of all quantiles together.
        budget: A part of the budget. In rho it allows more than in epsilon, as choices have a
            bounded range.

    >>> from sottovoce.crypto import RandomStream
    >>> ages = list(range(1, 1001)) * 10
    >>> mechanism = quantiles(
    ...     ages, [0.3, 0.5, 0.8], bounds=(0, 1024), neighbours="add-or-remove-one", epsilon=8.0
    ... )
    >>> [round(age, -2) for age in mechanism.draw(RandomStream(b"q" * 32)).tolist()]
    [300.0, 500.0, 800.0]
    """
    return _prepared(
        "quantiles",
        values,
        q,
        bounds=bounds,
        neighbours=neighbours,
        resolution=resolution,
        epsilon=epsilon,
        budget=budget,
    )


def quantile(
    values: npt.ArrayLike,
    q: float | Fraction,
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantile:
    """Prepare one quantile of numbers for release. The arguments are those of `quantiles`."""
    return Quantile(
        _prepared(
            "quantile",
            values,
            [q],
            bounds=bounds,
            neighbours=neighbours,
            resolution=resolution,
            epsilon=epsilon,
            budget=budget,
        )
    )


def median(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> Quantile:
    """Prepare the median of numbers for release. The arguments are those of `quantiles`.

    >>> from sottovoce.crypto import RandomStream
    >>> mechanism = median([20, 30, 40] * 99, bounds=(0, 128), neighbours="replace-one", epsilon=1)
    >>> mechanism.draw(RandomStream(b"m" * 32))
    30.0
    """
    half = Fraction(1, 2)
    return Quantile(
        _prepared(
            "median",
            values,
            [half],
            bounds=bounds,
            neighbours=neighbours,
            resolution=resolution,
            epsilon=epsilon,
            budget=budget,
        )
    )


def _prepared(
    mechanism: str,
    values: npt.ArrayLike,
    q: Sequence[float | Fraction],
    *,
    bounds: tuple[float, float],
    neighbours: Neighbours,
    resolution: float | Fraction | None,
    epsilon: float | None,
    budget: Budget | None,
) -> Quantiles:
    """Check the arguments, and divide the budget among the choices."""
    fractions = _fractions(q, mechanism=mechanism)
    touched = _touched(neighbours, mechanism=mechanism)
    # The first choice is about all records, so a replaced record touches it once.
    by_splitting = 1 + touched * (len(fractions).bit_length() - 1)
    splits = by_splitting < len(fractions)
    choices = by_splitting if splits else len(fractions)
    if budget is not None and epsilon is None:
        each = pure_epsilon(None, budget.share(1 / choices), mechanism=mechanism, by_choice=True)
    else:
        each = pure_epsilon(epsilon, budget, mechanism=mechanism) / choices
    grid = number_grid(bounds, resolution)
    points = grid.points(values, mechanism=mechanism)
    return Quantiles(points, grid, fractions, neighbours, each, choices, splits)


def _fractions(q: Sequence[float | Fraction], *, mechanism: str) -> tuple[Fraction, ...]:
    """Check quantiles, and take them as fractions."""
    try:
        fractions = tuple(Fraction(part).limit_denominator(MAX_DENOMINATOR) for part in q)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"expected quantiles from 0 to 1 in {mechanism}, found something else"
        ) from None
    if not fractions or not all(0 <= part <= 1 for part in fractions):
        listed = ", ".join(f"{float(part):g}" for part in fractions) or "none"
        raise ArgumentError(
            f"expected quantiles from 0 to 1 in {mechanism}, found ", Private(listed)
        )
    if list(fractions) != sorted(set(fractions)):
        raise ArgumentError(
            f"expected quantiles in rising order in {mechanism}, found another order"
        )
    return fractions


def _touched(neighbours: Neighbours, *, mechanism: str) -> int:
    """Tell about how many disjoint parts of the records neighbouring datasets may differ."""
    if neighbours == "add-or-remove-one":
        return 1
    if neighbours == "replace-one":
        return 2
    raise ArgumentError(
        f"expected neighbours replace-one or add-or-remove-one in {mechanism}, found {neighbours}"
    )
