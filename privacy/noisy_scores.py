"""Many noisy scores at once, by the Laplace mechanism or by the Gaussian mechanism.

A record changes each of k scores by S at most. Together this is k S in the L1 norm, and sqrt(k) S
in the L2 norm, so Gaussian noise is much smaller for many scores. Its guarantee is weaker: rho-zCDP
(Bun, Steinke 2016) implies epsilon except with probability delta. The noise is discrete, after
Canonne, Kamath and Steinke (2020, theorem 4 and algorithm 3). Scores are rounded to a grid, as for
`exponential`, and noise is drawn with integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exact_value import ExactValue
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

RENYI_ORDERS: Final = 1 + np.geomspace(1e-4, 1e6, 20_000)
"""Orders among which `epsilon_of` finds the best."""


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
        """Bound on the change of all scores together, in the L1 norm."""
        return len(self.steps) * STEPS * self.step

    @property
    def scale(self) -> float:
        return self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.float64]:
        """Add the noise. Called by `Accountant.release` alone."""
        rate = Fraction(self.epsilon) / (len(self.steps) * STEPS)
        return (
            np.array(
                [score + two_sided_geometric(rate, randomness) for score in self.steps.tolist()]
            )
            * self.step
        )

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="L1")


@dataclass(frozen=True, slots=True)
class GaussianScores:
    """Scores that wait to be released with discrete Gaussian noise."""

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
        """Bound on the change of all scores together, in the L2 norm."""
        return math.sqrt(len(self.steps)) * STEPS * self.step

    @property
    def scale(self) -> float:
        return math.sqrt(float(self._variance)) * self.step

    @property
    def _variance(self) -> Fraction:
        """Noise variance in squared steps: rho is the squared sensitivity over twice of it."""
        return Fraction(len(self.steps) * STEPS**2) / (
            2 * Fraction(rho_of(self.epsilon, delta=self.delta))
        )

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.float64]:
        """Add the noise. Called by `Accountant.release` alone."""
        variance = self._variance
        return (
            np.array(
                [score + discrete_gaussian(variance, randomness) for score in self.steps.tolist()]
            )
            * self.step
        )

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="L2")


def laplace_scores(scores: npt.ArrayLike, *, sensitivity: float, epsilon: float) -> LaplaceScores:
    """Prepare scores for release.

    A record changes each of k scores by at most `sensitivity`, or all together by at most k times
    `sensitivity` in the L1 norm.
    """
    steps, step = on_grid(scores, sensitivity=sensitivity, epsilon=epsilon)
    return LaplaceScores(steps, step, epsilon)


def gaussian_scores(
    scores: npt.ArrayLike, *, sensitivity: float, epsilon: float, delta: float
) -> GaussianScores:
    """Prepare scores for release with less noise; epsilon may fail with probability `delta`.

    A record changes each of k scores by at most `sensitivity`, or all together by at most sqrt(k)
    times `sensitivity` in the L2 norm.
    """
    steps, step = on_grid(scores, sensitivity=sensitivity, epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"expected a delta between 0 and 1, found {delta:g}")
    return GaussianScores(steps, step, epsilon, delta)


def discrete_gaussian(variance: Fraction, randomness: RandomStream) -> int:
    """Draw X with P[X = x] proportional to exp(-x^2 / (2 variance)): algorithm 3."""
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        candidate = two_sided_geometric(Fraction(1, t), randomness)
        if bernoulli_exp((abs(candidate) - variance / t) ** 2 / (2 * variance), randomness):
            return candidate


def epsilon_of(rho: float, *, delta: float) -> float:
    """Compute the epsilon that rho-zCDP implies except with probability delta.

    This is corollary 13 of Canonne, Kamath, Steinke. The usual bound, which is
    rho + 2 sqrt(rho ln(1 / delta)), is a little larger:

    >>> round(epsilon_of(0.005, delta=1e-6), 3), round(0.005 + 2 * (0.005 * 13.8155) ** 0.5, 3)
    (0.43, 0.531)
    """
    added = (
        math.log(1 / delta)
        + (RENYI_ORDERS - 1) * np.log1p(-1 / RENYI_ORDERS)
        - np.log(RENYI_ORDERS)
    ) / (RENYI_ORDERS - 1)
    return float((RENYI_ORDERS * rho + added).min())


@lru_cache(maxsize=64)
def rho_of(epsilon: float, *, delta: float) -> float:
    """Compute the largest rho that implies at most epsilon, rounded down."""
    low, high = 0.0, epsilon
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta=delta) <= epsilon else (low, middle)
    return low
