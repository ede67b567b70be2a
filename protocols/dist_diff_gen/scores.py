"""Scores of a specialisation, and the private choice between specialisations.

A specialisation of a node v replaces it by two children. With D_c the records under a child c, by
class (Mohammed et al. 2011):

    max     sum over both children of the most frequent class's count
    gain    H(class | v) - sum over c of |D_c| / |D_v| H(class | c), in bits

*Max* changes by at most 1 when a record is replaced. The child that the record leaves loses 0 or 1,
the child that it joins gains 0 or 1, and a record that moves between the children does both.

*Gain* stays between 0 and H(c | v) <= 1, as there are two children. So it changes by at most 1, and
that is reached: one record of class A on the left has no gain, that record and one of class B on
the right have gain 1. The printed bound, log2 of the number of classes, holds, but is too large for
more than two classes.

Where a numeric node is split, each child needs a split point, chosen by the records under it. The
records of the two are disjoint. But neighbours *replace* a record, which may leave one child and
join the other, so two choices may cost more than one. By *max* they do not, because its scores only
grow with records: one of the two changes is downwards and the other upwards, and the sum of both
children's scores changes by at most 1. By *gain* the sum may change by more than 1, though never by
more than 2.

`choose_together` draws from the exponential mechanism over all pairs of split points, by the sum of
the two scores. exp(epsilon (u + v) / 2S) is a product, so the parts are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from ...crypto import RandomStream
from ...curator.marginal import Numbers
from ...privacy.exact_value import ExactValue
from ...privacy.exponential import ExponentialChoice, choose
from ...privacy.likelihood import log_ratio
from ...privacy.loss import Loss

__all__ = ["JointChoice", "Score", "choose_together", "score_splits", "sensitivity_of"]

Score: TypeAlias = Literal["max", "gain"]

CHANGE_OF_MAX: Final = 1.0
CHANGE_OF_GAIN: Final = 1.0
"""In bits: the entropy of two children."""


def score_splits(left: Numbers, right: Numbers, *, score: Score) -> Numbers:
    """Score specialisations, one a line, by the class counts of the two children.

    No count may be negative.

    >>> score_splits(np.array([[3.0, 1.0]]), np.array([[0.0, 4.0]]), score="max").tolist()
    [7.0]
    """
    if score == "max":
        return np.asarray(left.max(axis=1) + right.max(axis=1))
    both = left + right
    saved = _bits(both) - _bits(left) - _bits(right)
    rows = both.sum(axis=1)
    return np.asarray(
        np.clip(
            np.divide(saved, rows, out=np.zeros(len(rows)), where=rows > 0), 0.0, CHANGE_OF_GAIN
        )
    )


def _bits(counts: Numbers) -> Numbers:
    """Compute n H(class), line by line: n log n less the same of every class."""
    rows = counts.sum(axis=1)
    return np.asarray(_n_log_n(rows) - _n_log_n(counts).sum(axis=1))


def _n_log_n(numbers: Numbers) -> Numbers:
    return np.asarray(numbers * np.log2(numbers, out=np.zeros(numbers.shape), where=numbers > 0))


def sensitivity_of(score: Score, *, choices: int) -> float:
    """Bound the change of the sum of so many different nodes' scores when a record is replaced."""
    return CHANGE_OF_MAX if score == "max" else CHANGE_OF_GAIN * choices


@dataclass(frozen=True, slots=True)
class JointChoice:
    """Choices that are released together and cost `epsilon` once.

    The sum of their scores changes by at most `sensitivity`.
    """

    parts: tuple[ExponentialChoice, ...]

    name = "exponential"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        return self.parts[0].sensitivity

    @property
    def loss(self) -> Loss:
        return self.parts[0].loss

    @property
    def scale(self) -> float:
        return self.parts[0].scale

    def draw(self, randomness: RandomStream) -> tuple[int, ...]:
        """Choose one candidate of each part. Called by `Accountant.release` alone."""
        return tuple([part.draw(randomness) for part in self.parts])

    def exact_value(self) -> ExactValue:
        return ExactValue.of(*(part.steps * part.step for part in self.parts), norm="spread")


@log_ratio.register
def _(choice: JointChoice, neighbour: JointChoice, answer: tuple[int, ...]) -> float:
    parts = zip(choice.parts, neighbour.parts, answer, strict=True)
    return sum(log_ratio(part, other, chosen) for part, other, chosen in parts)


def choose_together(scores: Sequence[Numbers], *, score: Score, epsilon: float) -> JointChoice:
    """Prepare a choice from each list of candidates, for `epsilon` in all.

    The lists are of different nodes, so of different records. Scores are rounded to steps that are
    a fixed part of the sensitivity of the sum, and two roundings cost no more than `choose` allows
    for. By *max* scores are whole and need no rounding. By *gain* each may change by half of the
    sensitivity.
    """
    sensitivity = sensitivity_of(score, choices=len(scores))
    return JointChoice(
        tuple(choose(part, sensitivity=sensitivity, epsilon=epsilon) for part in scores)
    )
