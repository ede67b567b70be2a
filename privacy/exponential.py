"""The exponential mechanism (McSherry and Talwar 2007).

A candidate of score s is chosen with probability proportional to exp(epsilon s / 2S). S is the
sensitivity: between neighbouring datasets no difference of two scores changes by more than 2S.
(That is so if no score changes by more than S.) So the log-probabilities of the candidates change
by amounts that span at most epsilon. Such a bounded range costs rho = epsilon^2 / 8, a quarter of
what pure epsilon costs (Cesar and Rogers 2021, lemma 3.2).

Scores are first rounded to a grid, and the sensitivity is rounded up to it. So the exponents are
exact fractions, and the sensitivity covers what floating point does to a score. Weights are whole
numbers of 2^-120 of the largest, at least one each, and off by one at most (`exponential_weights`).
One uniform integer decides. The law differs from the exact one by less than candidates * 2^-117 in
total variation, and no candidate is ever ruled out.
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
from ..messages import ArgumentError, Private, WorkKind, count_work
from .arguments import exact_fraction, pure_epsilon, real_numbers
from .budget import Budget
from .exact_value import ExactValue
from .exponential_weights import DIGIT_BITS, digits_of_steps, sum_weights
from .loss import Loss

__all__ = ["ExponentialChoice", "choose", "on_grid"]

GRID: Final = 1 << 20
"""Steps of the grid in one sensitivity; rounding costs two millionths of epsilon."""
STEPS: Final = GRID + 2
"""Half of the steps by which a difference of two scores may change.

Each of the four scores is rounded by half a step, and by the rounding of floats.
"""
MAX_STEPS_BEHIND: Final = 1 << 50
"""Largest distance from the best score; weights have reached their minimum long before."""
MAX_GRID_STEPS: Final = 2.0**60
"""Largest score in steps, which still fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """A choice among candidates that waits to be released."""

    steps: npt.NDArray[np.int64] = field(repr=False)
    """Scores in steps of the grid."""
    step: float
    epsilon: float

    name = "exponential"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.bounded_range(self.epsilon)

    @property
    def sensitivity(self) -> float:
        """Bound on half of the change of a difference of two scores, roundings included."""
        return STEPS * self.step

    @property
    def scale(self) -> float:
        """Difference of scores that changes the probability by a factor of e."""
        return 2 * self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> int:
        """Choose a candidate. Called by `Accountant.release` alone."""
        rate = Fraction(self.epsilon) / (2 * STEPS)
        behind = self.steps.max() - self.steps
        digits = digits_of_steps(behind)
        count_work(WorkKind.LAW, digits << DIGIT_BITS, once=(rate, digits))
        count_work(WorkKind.CANDIDATE, len(behind))
        weights = sum_weights(behind, rate=rate)
        return weights.first_above(randomness.below(weights.total))

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="spread")


def choose(
    scores: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> ExponentialChoice:
    """Prepare the choice of a candidate by its score. Say `epsilon` or `budget`.

    Args:
        scores: The candidates' scores.
        sensitivity: The bound on half of the change of a difference of two scores between
            neighbouring datasets. If no score changes by more than S, it is S.
        epsilon: The privacy loss.
        budget: A part of the budget; in rho it allows epsilon = sqrt(8 rho).

    >>> choose([1, 90, 3], sensitivity=1, epsilon=1.0).draw(RandomStream(b"c" * 32))
    1
    """
    loss = pure_epsilon(epsilon, budget, mechanism="choose", by_choice=True)
    bound = float(exact_fraction(sensitivity, name="a sensitivity"))
    values = real_numbers(scores, mechanism="choose")
    if values.ndim != 1 or not values.size:
        raise ArgumentError(
            "expected at least one score in choose, and a list of them, found an array of the "
            "shape ",
            Private(str(values.shape)),
        )
    steps, step = on_grid(values - values.max(), sensitivity=bound, epsilon=loss)
    return ExponentialChoice(np.maximum(steps, -MAX_STEPS_BEHIND), step, loss)


def on_grid(
    scores: npt.ArrayLike, *, sensitivity: float, epsilon: float
) -> tuple[npt.NDArray[np.int64], float]:
    """Round scores to a grid; return them in steps, and the length of a step."""
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or not np.isfinite(values).all():
        raise ArgumentError(
            "expected at least one score, all finite, found ", Private(str(values.size))
        )
    if not sensitivity > 0 or not 0 < epsilon < math.inf:
        raise ArgumentError(
            "expected sensitivity and finite epsilon above 0, found ",
            Private(f"{sensitivity:g} and {epsilon:g}"),
        )
    step = sensitivity / GRID
    limit = step * MAX_GRID_STEPS
    return np.rint(np.clip(values, -limit, limit) / step).astype(np.int64), step
