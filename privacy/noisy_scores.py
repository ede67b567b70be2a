"""Many scores at once, each with noise: by the Laplace mechanism, or by the Gaussian, which is
(epsilon, delta)-private only.

A record changes each of k scores by S at most: together by k S in the sum of absolute values, and
by sqrt(k) S in length, which is why Gaussian noise is so much less for many scores. Its promise is
another: rho-zCDP (Bun, Steinke 2016), with discrete noise after Canonne, Kamath and Steinke (2020,
theorem 4 and algorithm 3), which means epsilon but for a chance of delta. Scores are whole numbers
of a grid, as for `exponential`, and noise is drawn with integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exponential import STEPS, on_grid
from .laplace import bernoulli_exp, two_sided_geometric

__all__ = [
    "GaussianScores",
    "LaplaceScores",
    "discrete_gaussian",
    "epsilon_of",
    "gaussian_scores",
    "laplace_scores",
    "rho_of",
]

Steps = npt.NDArray[np.int64]

ORDERS: Final = 1 + np.geomspace(1e-4, 1e6, 20_000)


@dataclass(frozen=True, slots=True)
class LaplaceScores:
    """Scores that wait to be released with discrete Laplace noise."""

    steps: Steps = field(repr=False)
    step: float
    epsilon: float

    name = "laplace-of-scores"
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        """How much one record changes all scores together, in the sum of absolute values."""
        return len(self.steps) * STEPS * self.step

    @property
    def scale(self) -> float:
        return self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.float64]:
        """Add the noise. Called by `Accountant.release` alone."""
        rate = Fraction(self.epsilon) / (len(self.steps) * STEPS)
        return (
            np.array([own + two_sided_geometric(rate, randomness) for own in self.steps.tolist()])
            * self.step
        )


@dataclass(frozen=True, slots=True)
class GaussianScores:
    """Scores that wait to be released with discrete Gaussian noise: `epsilon` holds but for a
    chance of `delta`.
    """

    steps: Steps = field(repr=False)
    step: float
    epsilon: float
    delta: float

    name = "gaussian-of-scores"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        """How much one record changes all scores together, as a length."""
        return math.sqrt(len(self.steps)) * STEPS * self.step

    @property
    def scale(self) -> float:
        return math.sqrt(float(self._variance)) * self.step

    @property
    def _variance(self) -> Fraction:
        """Of the noise, in squared steps: rho is the squared length over twice the variance."""
        return Fraction(len(self.steps) * STEPS**2) / (
            2 * Fraction(rho_of(self.epsilon, delta=self.delta))
        )

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.float64]:
        """Add the noise. Called by `Accountant.release` alone."""
        variance = self._variance
        return (
            np.array([own + discrete_gaussian(variance, randomness) for own in self.steps.tolist()])
            * self.step
        )


def laplace_scores(scores: npt.ArrayLike, *, sensitivity: float, epsilon: float) -> LaplaceScores:
    """Prepare scores for release; one record changes any of them by at most `sensitivity`."""
    steps, step = on_grid(scores, sensitivity=sensitivity, epsilon=epsilon)
    return LaplaceScores(steps, step, epsilon)


def gaussian_scores(
    scores: npt.ArrayLike, *, sensitivity: float, epsilon: float, delta: float
) -> GaussianScores:
    """Prepare scores for release with less noise, and a chance of `delta` that epsilon does not
    hold.
    """
    steps, step = on_grid(scores, sensitivity=sensitivity, epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"expected a delta between 0 and 1, found {delta:g}")
    return GaussianScores(steps, step, epsilon, delta)


def discrete_gaussian(variance: Fraction, randomness: RandomStream) -> int:
    """Draw X with P[X = x] proportional to exp(-x^2 / (2 variance)): algorithm 3."""
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        drawn = two_sided_geometric(Fraction(1, t), randomness)
        if bernoulli_exp((abs(drawn) - variance / t) ** 2 / (2 * variance), randomness):
            return drawn


def epsilon_of(rho: float, *, delta: float) -> float:
    """Compute the epsilon that rho-zCDP means but for a chance of delta (Canonne, Kamath, Steinke,
    corollary 13).

    What is often written, rho + 2 sqrt(rho ln(1 / delta)), is a little more:

    >>> round(epsilon_of(0.005, delta=1e-6), 3), round(0.005 + 2 * (0.005 * 13.8155) ** 0.5, 3)
    (0.43, 0.531)
    """
    more = (math.log(1 / delta) + (ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS)) / (
        ORDERS - 1
    )
    return float((ORDERS * rho + more).min())


def rho_of(epsilon: float, *, delta: float) -> float:
    """Compute the largest rho that means no more than epsilon, from below."""
    low, high = 0.0, epsilon
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta=delta) <= epsilon else (low, middle)
    return low
