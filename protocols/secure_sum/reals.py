"""Sums of real numbers over all parties: how they become whole numbers, and real ones again.

A secure sum adds whole numbers. So every party clips its real numbers to public bounds, rounds them
to a public resolution, and adds up numbers of steps (`privacy.clipping`). The sensitivities in L1
and L2 follow from the bounds, the resolution and the relation between neighbouring datasets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from ...messages import ArgumentError
from ...privacy import Neighbours
from ...privacy.arguments import real_numbers, require_budget
from ...privacy.budget import Budget
from ...privacy.clipping import MAX_SUM, Clipping, fitted_clipping
from ...privacy.real_bounds import Bounds
from ...privacy.step_noise import noise_scale
from .batch import SumBatch

__all__ = ["RealBatch"]

Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

STEPS_IN_A_ROW: Final = 4
"""Steps of the default resolution in a noise scale, for each row.

Every row may be off by half a step, so a sum is off by an eighth of a noise scale at most.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBatch:
    """Real numbers that are summed and released together. All roles make the same one.

    Say `bound` or `bounds`. A budget in epsilon buys Laplace noise, and one in rho Gaussian noise.
    """

    budget: Budget
    neighbours: Neighbours
    """The relation between neighbouring datasets, as the protocol declares it."""
    columns: int = 1
    """Real numbers in a row, that is of each record."""
    bound: float | None = None
    """The largest L2 norm of a row; the largest absolute value of a single number."""
    bounds: Bounds | None = None
    """The lowest and the highest number, each for all columns or one for each column."""
    resolution: float | Fraction | None = None
    """The length of a step; by default a sum is off by an eighth of a noise scale at most."""
    groups: int | None = None
    """Number of groups of records whose sums are taken apart; `None` for all records together."""

    def __post_init__(self) -> None:
        require_budget(self.budget, mechanism="RealBatch")
        if self.columns < 1 or (self.groups is not None and self.groups < 1):
            raise ArgumentError(
                "expected at least one column and one group in RealBatch, found "
                f"{self.columns} and {self.groups}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the sums: a row for each group."""
        return self.groups or 1, self.columns

    def clipping(self, *, rows: int) -> Clipping:
        """Describe how numbers become steps, for so many rows of all parties."""
        return fitted_clipping(
            lambda clipping: noise_scale(
                clipping.sensitivities(self.neighbours, by_group=self.groups is not None),
                self.budget,
            ),
            columns=self.columns,
            bound=self.bound,
            bounds=self.bounds,
            resolution=self.resolution,
            steps=STEPS_IN_A_ROW * rows,
        )

    def sum_batch(self, *, rows: int) -> SumBatch:
        """Describe the whole numbers that are summed."""
        clipping = self.clipping(rows=rows)
        if rows * clipping.largest > MAX_SUM:
            raise ValueError(
                f"expected sums below 2**61 steps, found {rows} rows of up to {clipping.largest} "
                "steps: choose a larger resolution"
            )
        l1, l2_squared = clipping.sensitivities(self.neighbours, by_group=self.groups is not None)
        if not l1:
            raise ArgumentError(
                "expected numbers that a record can change, found bounds with low = high in all "
                "columns: their sum is public"
            )
        groups, columns = self.shape
        return SumBatch.of(
            self.budget,
            cells=groups * columns,
            sensitivity=int(l1),
            squares=int(l2_squared),
            weight=clipping.largest,
        )

    def deviation(self, *, rows: int, parties: int, colluding: int) -> float:
        """Compute the standard deviation of the noise in each released sum."""
        batch = self.sum_batch(rows=rows).among(parties=parties, rows=rows, colluding=colluding)
        resolution = float(self.clipping(rows=rows).resolution)
        return math.sqrt(batch.variance(shares=True)) * resolution

    def steps(
        self, values: npt.ArrayLike, *, rows: int, groups: npt.ArrayLike | None = None
    ) -> Iterator[Counts]:
        """Clip, round and add up one party's rows; a table for each group."""
        if (groups is None) != (self.groups is None):
            raise ArgumentError(
                "expected the group of each row where the batch has groups, found none: say groups="
                if groups is None
                else "expected a batch with groups= for the group of each row, found none"
            )
        reals = real_numbers(values, mechanism="a secure sum")
        if reals.ndim == 1 and self.columns == 1:
            reals = reals[:, None]
        yield from self.clipping(rows=rows).sums(
            reals, mechanism="a secure sum", groups=groups, number_of_groups=self.groups or 1
        )

    def reals(self, steps: npt.ArrayLike, *, rows: int) -> Reals:
        """Turn the noisy sums into real numbers.

        The array has an axis for groups, if there are any, and one for columns, if there are
        several. So a single sum is an array of no dimensions, which `float` takes.
        """
        groups = () if self.groups is None else (self.groups,)
        columns = () if self.columns == 1 else (self.columns,)
        return self.clipping(rows=rows).reals(steps).reshape((*groups, *columns))
