"""Questions one after another whether a value is above a threshold, until one is (AboveThreshold).

This is the sparse vector technique with one answer "above" (Dwork, Naor, Reingold, Rothblum and
Vadhan 2009; Lyu, Su and Li 2017), for values that are not known in advance, as in a training loop
that shall stop early. The threshold gets noise once, and each value gets noise of its own. All
answers together cost epsilon, however many are "below". So the first question costs epsilon and the
others cost nothing. After an answer "above" the questions are at an end.

Values are rounded to a grid, as for `exponential`, and noise is discrete Laplace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ..crypto import RandomStream
from ..messages import ArgumentError, MisuseError
from .arguments import exact_fraction, pure_epsilon, real_numbers
from .budget import Budget
from .exact_value import ExactValue
from .exponential import STEPS, on_grid
from .laplace import two_sided_geometric
from .loss import NO_LOSS, Loss
from .sparse_vector import SparseVector, log_probability

__all__ = ["AboveThreshold", "ThresholdQuestion", "above_threshold"]


class AboveThreshold:
    """Questions about one threshold. It keeps the noisy threshold, which is secret."""

    def __init__(self, threshold: float, *, sensitivity: float, epsilon: float) -> None:
        self.epsilon = epsilon
        self._threshold = threshold
        self._sensitivity = sensitivity
        self._steps: list[int] = []
        self._drawn = 0
        self._noise: int | None = None
        self._is_over = False
        self._bearer: object = None

    def __repr__(self) -> str:
        return f"AboveThreshold({self._drawn} questions, epsilon={self.epsilon:g})"

    def bind(self, bearer: object) -> None:
        """Hold all questions to the records of the first, which bear the loss of all.

        Raises:
            MisuseError: this question is about other records.
        """
        if self._bearer is None:
            self._bearer = bearer
        if self._bearer != bearer:
            raise MisuseError(
                "expected all questions about a threshold to be released about the same records, "
                "found another part or other users: prepare questions of their own by "
                "above_threshold"
            )

    def question(self, value: float) -> ThresholdQuestion:
        """Prepare the next question: is this value above the threshold?

        Release each question before you prepare the next one, and all of them about the same
        records: the first one costs epsilon for all.
        """
        if self._is_over:
            raise MisuseError(
                "expected no question after an answer above the threshold, found another one: "
                "prepare new questions by above_threshold, with their own part of the budget"
            )
        reals = real_numbers(value, mechanism="above_threshold")
        if reals.ndim:
            raise ArgumentError(
                "expected a number in a question of above_threshold, found an array of "
                f"{reals.ndim} dimensions"
            )
        distance = [float(reals) - self._threshold]
        steps, step = on_grid(distance, sensitivity=self._sensitivity, epsilon=self.epsilon)
        self._steps.append(int(steps[0]))
        return ThresholdQuestion(self, step, tuple(self._steps))

    def answer(self, question: ThresholdQuestion, randomness: RandomStream) -> bool:
        """Compare the value with the threshold, both with noise. Called by the question."""
        if question.number != self._drawn or self._is_over:
            raise MisuseError(
                f"expected question {self._drawn + 1} about a threshold, found question "
                f"{question.number + 1}: release each question once, before the next is prepared"
            )
        self._drawn += 1
        of_threshold, of_values = question.rates
        if self._noise is None:
            self._noise = two_sided_geometric(of_threshold, randomness)
        noisy = question.history[-1] + two_sided_geometric(of_values, randomness)
        self._is_over = noisy >= self._noise
        return self._is_over


@dataclass(frozen=True, slots=True)
class ThresholdQuestion:
    """A value that waits to be compared with a noisy threshold."""

    about: AboveThreshold
    step: float
    history: tuple[int, ...] = field(repr=False)
    """Distances from the threshold, in steps: those of the questions before, and this one's."""

    name = "above-threshold"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def number(self) -> int:
        """The number of the question, from 0."""
        return len(self.history) - 1

    @property
    def loss(self) -> Loss:
        """Epsilon for the first question, and nothing for the others."""
        return NO_LOSS if self.number else Loss.pure(self.about.epsilon)

    @property
    def sensitivity(self) -> float:
        """Bound on the change of a value between neighbouring datasets, roundings included."""
        return STEPS * self.step

    @property
    def scale(self) -> float:
        """Noise scale of the values."""
        return self.step / float(self.rates[1])

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """Rates of the threshold's noise and of a value's noise, for each step."""
        vector = SparseVector(np.array(self.history), self.step, self.about.epsilon, cutoff=1)
        of_threshold, of_values = vector.shares
        return of_threshold / STEPS, of_values / (2 * STEPS)

    def bind(self, bearer: object) -> None:
        """Hold all questions to the records of the first. Called by the accountant."""
        self.about.bind(bearer)

    def draw(self, randomness: RandomStream) -> bool:
        """Answer the question. Called by `Accountant.release` alone."""
        return self.about.answer(self, randomness)

    def exact_value(self) -> ExactValue:
        return ExactValue.of([self.history[-1] * self.step], norm="max")

    def log_likelihood(self, answer: bool) -> float:  # noqa: FBT001 - an answer
        """Compute ln P[answer] after answers "below" to all questions before."""
        before = [False] * self.number
        scales = [1 / float(rate) for rate in self.rates]
        together = log_probability(
            self.history, [*before, answer], threshold_scale=scales[0], query_scale=scales[1]
        )
        return together - log_probability(
            self.history[:-1], before, threshold_scale=scales[0], query_scale=scales[1]
        )


def above_threshold(
    threshold: float,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> AboveThreshold:
    """Prepare questions whether values are above a threshold. Say `epsilon` or `budget`.

    Each question is a mechanism of its own: `me.release(questions.question(value), to=CURATOR)`.
    The first one costs epsilon, the others cost nothing, and after an answer "above" there are
    none. All questions must be about the same records.

    Args:
        threshold: The public threshold.
        sensitivity: The bound on the change of any value between neighbouring datasets, given the
            answers before.
        epsilon: The privacy loss of all questions together.
        budget: A part of the budget.

    >>> from sottovoce.crypto import RandomStream
    >>> questions = above_threshold(500, sensitivity=1, epsilon=1.0)
    >>> stream = RandomStream(b"t" * 32)
    >>> [questions.question(value).draw(stream) for value in (100, 200, 900)]
    [False, False, True]
    """
    loss = pure_epsilon(epsilon, budget, mechanism="above_threshold")
    bound = float(exact_fraction(sensitivity, name="a sensitivity"))
    border = real_numbers(threshold, mechanism="above_threshold")
    if border.ndim:
        raise ArgumentError(
            f"expected a number as the threshold, found an array of {border.ndim} dimensions"
        )
    return AboveThreshold(float(border), sensitivity=bound, epsilon=loss)
