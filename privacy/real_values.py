"""Sums and means of real numbers, clipped to public bounds and rounded to a public resolution.

The numbers are turned into whole ones (`privacy.clipping`), which are added up and released with
discrete noise: Laplace noise for a budget in epsilon, Gaussian noise for one in rho. Nothing
depends on floating point but the last multiplication by the resolution.

A mean divides by the number of records. Where neighbours replace a record, that number is public.
Elsewhere it is released, too: with its own noise, as one more column that takes half of the budget.
Numbers are then measured from the middle of their bounds, which halves their sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import ArgumentError
from .arguments import one_budget, real_numbers
from .budget import Budget
from .clipping import fitted_clipping
from .exact_value import ExactValue
from .loss import Loss
from .neighbours import Neighbours
from .real_bounds import Bounds, interval, require_one_of
from .step_noise import NoisySteps, noise_scale, with_count, with_noise

__all__ = ["RealMean", "RealSum", "real_mean", "real_sum"]

Reals = npt.NDArray[np.float64]

NOISE_STEPS: Final = 1 << 20
"""Steps of the default resolution in one noise scale.

Of a million rows each may be off by half a step, so a sum is off by half a noise scale at most.
"""


@dataclass(frozen=True, slots=True)
class RealSum:
    """Sums of real numbers that wait to be released, or means with a public number of records."""

    noisy: NoisySteps
    """The exact sums in steps, with their noise."""
    resolution: float
    """The length of a step, divided by the number of records where it is a mean."""
    shape: tuple[int, ...]
    """The shape of the answer; empty for a single number."""
    name: str

    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return self.noisy.loss

    @property
    def sensitivity(self) -> float:
        return self.noisy.sensitivity * self.resolution

    @property
    def scale(self) -> float:
        return self.noisy.scale * self.resolution

    def draw(self, randomness: RandomStream) -> Reals | float:
        """Add the noise. Called by `Accountant.release` alone, after the loss was recorded."""
        reals = np.asarray(self.noisy.draw(randomness) * self.resolution, np.float64)
        return reals.reshape(self.shape) if self.shape else float(reals.reshape(-1)[0])

    def exact_value(self) -> ExactValue:
        (steps,) = self.noisy.exact_value().parts
        return ExactValue.of(steps * self.resolution, norm=self.noisy.exact_value().norm)

    def log_likelihood(self, answer: Reals | float) -> float:
        """Compute ln P[answer], up to a constant."""
        steps = np.rint(np.asarray(answer, np.float64) / self.resolution)
        return self.noisy.log_likelihood(steps.reshape(self.noisy.value.shape).astype(np.int64))


@dataclass(frozen=True, slots=True)
class RealMean:
    """Means of real numbers that wait to be released, with a noisy number of records."""

    noisy: NoisySteps
    """The sums in steps from the middle, and the number of records, with their noise."""
    weight: int
    """The factor by which the number of records is multiplied."""
    resolution: float
    lows: Reals
    highs: Reals
    shape: tuple[int, ...]

    name = "real-mean"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return self.noisy.loss

    @property
    def sensitivity(self) -> float:
        """Bound on the change of the sums and of the weighted number of records, together."""
        return self.noisy.sensitivity * self.resolution

    @property
    def scale(self) -> float:
        """Noise scale of each sum."""
        return self.noisy.scale * self.resolution

    def draw(self, randomness: RandomStream) -> Reals | float:
        """Add the noise, and divide. Called by `Accountant.release` alone."""
        noisy = self.noisy.draw(randomness)
        number = max(1.0, float(noisy[-1]) / self.weight)
        middles = (self.lows + self.highs) / 2
        means = np.clip(middles + noisy[:-1] * self.resolution / number, self.lows, self.highs)
        return means.reshape(self.shape) if self.shape else float(means[0])

    def exact_value(self) -> ExactValue:
        (steps,) = self.noisy.exact_value().parts
        return ExactValue.of(steps * self.resolution, norm=self.noisy.exact_value().norm)


def real_sum(
    values: npt.ArrayLike,
    *,
    neighbours: Neighbours,
    bound: float | None = None,
    bounds: Bounds | None = None,
    resolution: float | Fraction | None = None,
    groups: npt.ArrayLike | None = None,
    number_of_groups: int = 1,
    epsilon: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
) -> RealSum:
    """Prepare the sum of real numbers for release.

    Say `bound` or `bounds`, and one of `epsilon` (Laplace noise), `rho` (Gaussian noise) and
    `budget`.

    Args:
        values: A number for each record, or a row of numbers for each record.
        neighbours: The relation between neighbouring datasets: `replace-one` or
            `add-or-remove-one`, as the protocol declares it.
        bound: The largest absolute value of a number, or the largest L2 norm of a row.
        bounds: The lowest and the highest number, each for all columns or one for each column.
        resolution: The length of a step. Each number is rounded to it, so a sum of n numbers is off
            by n / 2 steps at most. By default a noise scale has a million steps or more.
        groups: The number of each record's group, from 0: sums are taken by group.
        number_of_groups: The number of groups, which is public.
        epsilon: The privacy loss.
        rho: The privacy loss, in zero-concentrated differential privacy.
        budget: A part of the budget.

    >>> ages = [30.5, 41.0, 200.0]
    >>> mechanism = real_sum(ages, bounds=(0, 100), neighbours="add-or-remove-one", epsilon=1.0)
    >>> mechanism.sensitivity, mechanism.scale
    (100.0, 100.0)
    """
    rows, alone = _rows(values, mechanism="real_sum")
    spending = one_budget(epsilon, rho, budget, mechanism="real_sum")
    by_group = groups is not None
    clipping = fitted_clipping(
        lambda clipping: noise_scale(
            clipping.sensitivities(neighbours, by_group=by_group), spending
        ),
        columns=rows.shape[1],
        bound=bound,
        bounds=bounds,
        resolution=resolution,
        steps=NOISE_STEPS,
    )
    sums = clipping.sums(
        rows, mechanism="real_sum", groups=groups, number_of_groups=number_of_groups
    )
    shape = (number_of_groups,) if by_group else ()
    return RealSum(
        with_noise(sums, clipping.sensitivities(neighbours, by_group=by_group), spending),
        float(clipping.resolution),
        shape if alone else (*shape, clipping.columns),
        "real-sum",
    )


def real_mean(
    values: npt.ArrayLike,
    *,
    neighbours: Neighbours,
    bound: float | None = None,
    bounds: Bounds | None = None,
    resolution: float | Fraction | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
) -> RealSum | RealMean:
    """Prepare the mean of real numbers for release.

    The arguments are those of `real_sum`. Where neighbours replace a record, the number of records
    is public. Elsewhere the mean is that of noisy sums and a noisy number of records, which cost
    half of the budget each, and it is clipped to the bounds.

    >>> mechanism = real_mean([30.5, 41.0], bounds=(0, 100), neighbours="replace-one", epsilon=1.0)
    >>> mechanism.sensitivity
    50.0
    """
    rows, alone = _rows(values, mechanism="real_mean")
    spending = one_budget(epsilon, rho, budget, mechanism="real_mean")
    if neighbours == "replace-one":
        if not len(rows):
            raise ArgumentError("expected at least one record in real_mean, found none")
        total = real_sum(
            rows,
            neighbours=neighbours,
            bound=bound,
            bounds=bounds,
            resolution=resolution,
            budget=spending,
        )
        shape = () if alone else (rows.shape[1],)
        return RealSum(total.noisy, total.resolution / len(rows), shape, "real-mean")

    require_one_of(bound, bounds)
    columns = rows.shape[1]
    ends = (-bound, bound) if bounds is None and bound is not None else bounds
    lows, highs = interval(ends, columns=columns)
    half = (highs - lows) / 2
    clipping = fitted_clipping(
        lambda clipping: noise_scale(with_count(clipping, neighbours, spending)[0], spending),
        columns=columns,
        bound=bound,
        bounds=None if bounds is None else (-half, half),
        resolution=resolution,
        steps=NOISE_STEPS,
    )
    sensitivities, weight = with_count(clipping, neighbours, spending)
    sums = clipping.sums(rows - (lows + highs) / 2, mechanism="real_mean")
    return RealMean(
        with_noise(np.append(sums, len(rows) * weight), sensitivities, spending),
        weight,
        float(clipping.resolution),
        lows,
        highs,
        () if alone else (columns,),
    )


def _rows(values: npt.ArrayLike, *, mechanism: str) -> tuple[Reals, bool]:
    """Take a row of numbers for each record; tell whether rows are single numbers."""
    reals = real_numbers(values, mechanism=mechanism)
    if reals.ndim == 1:
        return reals[:, None], True
    if reals.ndim != 2 or not reals.shape[1]:
        raise ArgumentError(
            f"expected a number, or a row of numbers, for each record in {mechanism}, found an "
            f"array of {reals.ndim} dimensions"
        )
    return reals, False
