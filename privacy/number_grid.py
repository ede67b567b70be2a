"""A public grid of numbers, on which quantiles are chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from ..messages import ArgumentError, Private
from .arguments import exact_fraction, real_numbers

__all__ = ["Grid", "number_grid"]

Points = npt.NDArray[np.int64]

GRID_STEPS: Final = 4096
"""Steps of the default grid."""
MAX_GRID_STEPS: Final = 1 << 50


@dataclass(frozen=True, slots=True)
class Grid:
    """A public grid of numbers."""

    low: float
    resolution: Fraction
    steps: int
    """Number of the last point; the first one is 0."""

    def points(self, values: npt.ArrayLike, *, mechanism: str) -> Points:
        """Clip and round numbers to the grid, in rising order."""
        reals = real_numbers(values, mechanism=mechanism)
        if reals.ndim != 1:
            raise ArgumentError(
                f"expected a number for each record in {mechanism}, found an array of "
                f"{reals.ndim} dimensions: take one column at a time"
            )
        with np.errstate(over="ignore"):
            steps = (reals - self.low) / float(self.resolution)
        return np.sort(np.rint(np.clip(steps, 0, self.steps)).astype(np.int64))

    def real(self, point: int) -> float:
        return self.low + point * float(self.resolution)

    def point(self, real: float) -> int:
        """Find the grid point of an answer."""
        return round((real - self.low) / float(self.resolution))


def number_grid(bounds: tuple[float, float], resolution: float | Fraction | None) -> Grid:
    """Lay a grid over the range."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ArgumentError("expected bounds=(low, high), found something else") from None
    if not low < high or not math.isfinite(high - low):
        raise ArgumentError(
            "expected finite bounds with low < high, found ", Private(f"{low:g} and {high:g}")
        )
    width = Fraction(high) - Fraction(low)
    step = (
        width / GRID_STEPS
        if resolution is None
        else exact_fraction(resolution, name="a resolution")
    )
    steps = math.floor(width / step)
    if not 1 <= steps <= MAX_GRID_STEPS:
        raise ArgumentError(
            "expected a resolution of at most the range of the bounds, ",
            Private(f"{high - low:g}"),
            ", and at least 2**-50 of it, found ",
            Private(f"{float(step):g}"),
        )
    return Grid(low, step, steps)
