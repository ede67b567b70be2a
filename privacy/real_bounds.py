"""Public bounds of real numbers, as an author states them.

An author says `bound`, the largest absolute value of a number or L2 norm of a row, or `bounds`, the
lowest and the highest number.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import ArgumentError, Private

__all__ = ["Bounds", "interval", "require_one_of"]

Reals = npt.NDArray[np.float64]

Bounds: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]
"""The lowest and the highest number, each for all columns or one for each column."""


def require_one_of(bound: float | None, bounds: Bounds | None) -> None:
    """Refuse a way to clip that is not stated, or stated twice."""
    if (bound is None) == (bounds is None):
        raise ArgumentError(
            "expected bound=B (the largest absolute value, or L2 norm of a row) or "
            f"bounds=(low, high), found {'neither' if bound is None else 'both'}"
        )


def interval(bounds: Bounds | None, *, columns: int) -> tuple[Reals, Reals]:
    """Check the bounds, and repeat them for each column.

    >>> [ends.tolist() for ends in interval((0, [1, 2]), columns=2)]
    [[0.0, 0.0], [1.0, 2.0]]
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ArgumentError("expected bounds=(low, high), found something else")
    try:
        lowest, highest = (_for_each_column(end, columns=columns) for end in bounds)
    except (TypeError, ValueError):
        each = "" if columns == 1 else f", or as {columns} numbers each for columns={columns}"
        raise ArgumentError(
            f"expected bounds=(low, high) as numbers{each}, found something else: a batch of "
            "several columns states columns="
        ) from None
    if not np.isfinite([*lowest, *highest]).all() or (lowest > highest).any():
        raise ArgumentError("expected finite bounds with low <= high, found ", Private(str(bounds)))
    if not np.any([lowest, highest]):
        raise ArgumentError("expected bounds (low, high) that are not both 0, found 0 and 0")
    return lowest, highest


def _for_each_column(end: npt.ArrayLike, *, columns: int) -> Reals:
    """Repeat one number, or take a number for each column."""
    numbers = np.asarray(end, np.float64)
    if numbers.shape not in ((), (columns,)):
        raise ValueError
    return np.broadcast_to(numbers, columns).copy()
