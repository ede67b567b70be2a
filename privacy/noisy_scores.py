"""Many noisy scores at once, by the Laplace mechanism or by the Gaussian mechanism.

A record changes each of k scores by S at most. Together this is k S in the L1 norm, and sqrt(k) S
in the L2 norm, so Gaussian noise is much smaller for many scores. It costs rho (`privacy.loss`),
and no pure epsilon bounds it. The noise is discrete (Canonne, Kamath and Steinke 2020, theorem 4).
Scores are rounded to a grid, as for `exponential`, and noise is drawn with integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import UsageError
from .discrete_gaussian import MAX_VARIANCE, discrete_gaussian
from .exact_value import ExactValue
from .exponential import STEPS, on_grid
from .laplace import two_sided_geometric
from .loss import Loss

__all__ = [
    "GaussianScores",
    "LaplaceScores",
    "gaussian_scores",
    "laplace_scores",
]

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LaplaceScores:
    """Scores that wait to be released with discrete Laplace noise."""

    steps: Steps = field(repr=False)
    step: float
    epsilon: float

    name = "laplace-of-scores"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

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
    rho: float

    name = "gaussian-of-scores"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        laplace = math.sqrt(2 * len(self.steps)) * self.sensitivity / self.scale
        return Loss.concentrated(self.rho, laplace_epsilon=laplace)

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
        return Fraction(len(self.steps) * STEPS**2) / (2 * Fraction(self.rho))

    def draw(self, randomness: RandomStream) -> npt.NDArray[np.float64]:
        """Add the noise. Called by `Accountant.release` alone."""
        law = discrete_gaussian(variance=self._variance)
        return np.asarray(
            (self.steps + law.draw(len(self.steps), randomness=randomness)) * self.step
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


def gaussian_scores(scores: npt.ArrayLike, *, sensitivity: float, rho: float) -> GaussianScores:
    """Prepare scores for release with Gaussian noise, which costs rho.

    A record changes each of k scores by at most `sensitivity`, or all together by at most sqrt(k)
    times `sensitivity` in the L2 norm.
    """
    steps, step = on_grid(scores, sensitivity=sensitivity, epsilon=rho)
    mechanism = GaussianScores(steps, step, rho)
    if mechanism.scale > math.sqrt(MAX_VARIANCE) * step:
        raise UsageError(
            f"expected noise of at most 2**26 times the sensitivity of {sensitivity:g}, found "
            f"{mechanism.scale:g}: rho {rho:g} is too small for {len(steps)} scores"
        )
    return mechanism
