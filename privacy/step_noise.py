"""Noise for sums of steps: Laplace noise for a budget in epsilon, Gaussian noise for one in rho."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import ArgumentError
from .budget import Budget
from .clipping import Clipping, Sensitivities
from .gaussian import GaussianNumbers
from .laplace import DiscreteLaplace, require_scale
from .neighbours import Neighbours

__all__ = ["NoisySteps", "noise_scale", "with_count", "with_noise"]

Steps = npt.NDArray[np.int64]
NoisySteps: TypeAlias = DiscreteLaplace[Steps] | GaussianNumbers[Steps]


def noise_scale(sensitivities: Sensitivities, budget: Budget) -> float:
    """Compute the noise scale in steps: of Laplace noise, or of Gaussian noise in rho."""
    if budget.concentrated:
        return math.sqrt(sensitivities.l2_squared / (2 * Fraction(budget.amount)))
    return float(sensitivities.l1 / Fraction(budget.amount))


def with_count(
    clipping: Clipping, neighbours: Neighbours, budget: Budget
) -> tuple[Sensitivities, int]:
    """Add the weighted number of records to the sums; both get the same sensitivity."""
    l1, l2_squared = clipping.sensitivities(neighbours)
    weight = math.isqrt(math.ceil(l2_squared)) if budget.concentrated else math.ceil(l1)
    return Sensitivities(l1 + weight, l2_squared + weight**2), weight


def with_noise(steps: Steps, sensitivities: Sensitivities, budget: Budget) -> NoisySteps:
    """Choose the noise by the unit of the budget."""
    scale = noise_scale(sensitivities, budget)
    require_scale(scale)
    if not sensitivities.l1:
        raise ArgumentError(
            "expected numbers that a record can change, found bounds with low = high in all "
            "columns: their sum is public"
        )
    if budget.concentrated:
        laplace_epsilon = float(sensitivities.l1) * math.sqrt(2) / scale
        return GaussianNumbers(steps, sensitivities.l2_squared, budget.amount, laplace_epsilon)
    return DiscreteLaplace(steps, sensitivities.l1, budget.amount)
