"""Report noisy max: the best of many candidates, by permute-and-flip (McKenna and Sheldon 2020).

Candidates are tried in a random order. One that is behind the best by s is taken with probability
exp(-epsilon s / 2S), where S is the sensitivity; the best one is always taken. The law is that of
adding exponential noise of scale 2S / epsilon to each score and reporting the largest (Ding, Kifer,
Sayed Saghaian, Steinke, Wang, Xiao and Zhang 2021). Scores are rounded to a grid as for
`exponential`, and every coin is flipped with integers alone. So the law is exact.

Beside the exponential mechanism: at the same epsilon its expected loss in score is never larger,
and up to two times smaller. But it has no bounded range: no rho below epsilon^2 / 2 is proved for
it, where `choose` costs epsilon^2 / 8. Take `report_noisy_max` where the budget is in epsilon, and
`choose` where it is in rho.
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
from ..messages import ArgumentError, Private
from .arguments import exact_fraction, pure_epsilon, real_numbers
from .budget import Budget
from .exact_value import ExactValue
from .exponential import STEPS, on_grid
from .laplace import bernoulli_exp
from .loss import Loss

__all__ = ["NoisyMax", "report_noisy_max"]

MAX_NODES: Final = 500
"""Nodes of the rule that integrates a probability."""


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The best of many candidates, which waits to be released."""

    steps: npt.NDArray[np.int64] = field(repr=False)
    """Scores in steps of the grid."""
    step: float
    epsilon: float

    name = "report-noisy-max"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def sensitivity(self) -> float:
        """Bound on half of the change of a difference of scores, roundings included."""
        return STEPS * self.step

    @property
    def scale(self) -> float:
        """Scale of the exponential noise that has the same law."""
        return 2 * self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> int:
        """Choose a candidate. Called by `Accountant.release` alone."""
        rate = Fraction(self.epsilon) / (2 * STEPS)
        behind = (self.steps.max() - self.steps).tolist()
        order = list(range(len(behind)))
        for last in range(len(order) - 1, -1, -1):
            drawn = randomness.below(last + 1)
            order[drawn], order[last] = order[last], order[drawn]
            candidate = order[last]
            if bernoulli_exp(rate * behind[candidate], randomness):
                return candidate
        raise AssertionError("the best candidate is always taken")

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="spread")

    def log_likelihood(self, answer: int) -> float:
        """Compute ln P[answer].

        With exponential noise of scale 1 the answer's noise leaves every other candidate behind.
        So the probability is the integral of e^-x prod (1 - e^-(x + gap)) over x >= 0, where gap is
        how far the answer is ahead of a candidate; for a gap below 0, x begins at -gap. It is
        computed over y = e^-x, where it is a polynomial, by Gauss and Legendre's rule, which is
        exact for up to 1,000 candidates.
        """
        gaps = (self.steps[answer] - np.delete(self.steps, answer)) * (self.epsilon / (2 * STEPS))
        start = max(0.0, -float(gaps.min(initial=0.0)))
        nodes, weights = np.polynomial.legendre.leggauss(min(len(self.steps) // 2 + 1, MAX_NODES))
        y = (nodes + 1) / 2
        # With x = start - ln y every factor is 1 - y e^-(gap + start), and none is negative.
        factors = 1 - y[:, None] * np.exp(-(gaps + start))[None, :]
        total = float((weights / 2 * factors.prod(axis=1)).sum())
        return math.log(total) - start


def report_noisy_max(
    scores: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> NoisyMax:
    """Prepare the choice of the candidate with the largest score. Say `epsilon` or `budget`.

    Args:
        scores: The candidates' scores.
        sensitivity: The bound on half of the change of a difference of two scores between
            neighbouring datasets. If no score changes by more than S, it is S.
        epsilon: The privacy loss.
        budget: A part of the budget; in rho `choose` allows more.

    >>> from sottovoce.crypto import RandomStream
    >>> report_noisy_max([1, 90, 3], sensitivity=1, epsilon=1.0).draw(RandomStream(b"n" * 32))
    1
    """
    loss = pure_epsilon(epsilon, budget, mechanism="report_noisy_max")
    bound = float(exact_fraction(sensitivity, name="a sensitivity"))
    values = real_numbers(scores, mechanism="report_noisy_max")
    if values.ndim != 1 or not len(values):
        raise ArgumentError(
            "expected a list of scores in report_noisy_max, found an array of the shape ",
            Private(str(values.shape)),
        )
    steps, step = on_grid(values - values.max(), sensitivity=bound, epsilon=loss)
    return NoisyMax(steps, step, loss)
