"""Scores of a specialisation, and the choice between specialisations in private.

A specialisation of a node v replaces it by two children. With D_c the records under a child c, by
class (Mohammed et al. 2011):

    max     sum over both children of the most frequent class's count
    gain    H(class | v) - sum over c of |D_c| / |D_v| H(class | c), in bits

One replaced record changes *max* by at most 1: what it leaves loses 0 or 1, what it joins gains 0
or 1, and a record that moves from one child to the other does both. *Gain* stays between 0 and H(c
| v) <= 1, as there are two children, so its change is at most 1, and that is reached: {one of class
A on the left} has no gain, {that one, and one of class B on the right} has 1. The printed bound,
log2 of the number of classes, holds, but for more than two classes it is too large.

Where a numeric node is split, both children need a split point, each chosen by the records under
it. That the records are disjoint does not make two choices as cheap as one when neighbours
*replace* a record, which may leave the one child and join the other. By *max* they are, because its
scores only grow with records: of the two changes one is downwards and one upwards, and the sum of
both children's scores changes by at most 1. By *gain* the sum may change by more than 1, though
never by more than 2. `choose_together` draws from the exponential mechanism over all pairs, by the
sum of the two scores: exp(epsilon (u + v) / 2S) is a product, so the parts are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from ...crypto import RandomStream
from ...curator.marginal import Numbers
from ...privacy.exponential import ExponentialChoice, choose

__all__ = ["JointChoice", "Score", "choose_together", "score_splits", "sensitivity_of"]

Score: TypeAlias = Literal["max", "gain"]

MAX_CHANGE: Final = 1.0
GAIN_CHANGE: Final = 1.0
"""Bits: the entropy of two children."""


def score_splits(left: Numbers, right: Numbers, *, score: Score) -> Numbers:
    """Score specialisations, one a line: `left` and `right` are the class counts of the two
    children. None may be negative.

    >>> score_splits(np.array([[3.0, 1.0]]), np.array([[0.0, 4.0]]), score="max").tolist()
    [7.0]
    """
    if score == "max":
        return np.asarray(left.max(axis=1) + right.max(axis=1))
    both = left + right
    # |D_v| H(class | v) is |D_v| log |D_v| less the same of every class.
    saved = _bits(both) - _bits(left) - _bits(right)
    rows = both.sum(axis=1)
    return np.asarray(
        np.clip(np.divide(saved, rows, out=np.zeros(len(rows)), where=rows > 0), 0.0, GAIN_CHANGE)
    )


def _bits(counts: Numbers) -> Numbers:
    """Compute n H(class), line by line."""
    rows = counts.sum(axis=1)
    return np.asarray(_n_log_n(rows) - _n_log_n(counts).sum(axis=1))


def _n_log_n(numbers: Numbers) -> Numbers:
    return np.asarray(numbers * np.log2(numbers, out=np.zeros(numbers.shape), where=numbers > 0))


def sensitivity_of(score: Score, *, choices: int) -> float:
    """Bound what a replaced record changes in the sum of so many scores, each of a node of its
    own.
    """
    return MAX_CHANGE if score == "max" else GAIN_CHANGE * choices


@dataclass(frozen=True, slots=True)
class JointChoice:
    """Choices that wait to be released together: sums of scores change by at most `sensitivity`, so
    all cost `epsilon` once.
    """

    parts: tuple[ExponentialChoice, ...]

    name = "exponential"
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        return self.parts[0].sensitivity

    @property
    def epsilon(self) -> float:
        return self.parts[0].epsilon

    @property
    def scale(self) -> float:
        return self.parts[0].scale

    def draw(self, randomness: RandomStream) -> tuple[int, ...]:
        """Choose one candidate of each part. Called by `Accountant.release` alone."""
        return tuple([part.draw(randomness) for part in self.parts])


def choose_together(scores: Sequence[Numbers], *, score: Score, epsilon: float) -> JointChoice:
    """Prepare a choice from each list of candidates, for `epsilon` in all; the lists are of
    different nodes' records.

    The steps to which scores are rounded are so many to the sensitivity of the sum that two
    roundings cost `choose` no more than it allows for: by *max* scores are whole and need none, by
    *gain* each may change by half of the sensitivity.
    """
    sensitivity = sensitivity_of(score, choices=len(scores))
    return JointChoice(
        tuple(choose(own, sensitivity=sensitivity, epsilon=epsilon) for own in scores)
    )
