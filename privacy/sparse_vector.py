"""Which of many queries are above their thresholds: the sparse vector technique, and JTree's
threshold mechanism, which is not.

*Sparse vector* (Dwork, Naor, Reingold, Rothblum, Vadhan 2009; algorithm 1 of Lyu, Su, Li 2017):
noise on the threshold, drawn once, and on each query until c were above. Noise of the queries grows
with c: each answer "above" costs, those "below" together as much as the threshold.

*Threshold mechanism* (Chen, Xiao, Zhang, Xu 2015, algorithm 1): the same without c, so that noise
does not depend on how many queries there are. Its proof bounds the positives and the negatives by
two different shifts of the one noise that they share (formulas 3 and 4), so it holds for one kind
alone. It is differentially private for no epsilon (Lyu et al., variant 6). `log_likelihood` shows
it.

Queries are whole numbers of a grid, as for `exponential`; noise is discrete Laplace, so nothing is
left to floating point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .exponential import STEPS, on_grid
from .laplace import two_sided_geometric

__all__ = [
    "SparseVector",
    "ThresholdMechanism",
    "log_likelihood",
    "sparse_vector",
    "threshold_mechanism",
]

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Queries less their thresholds, of which the first `cutoff` that are above will be named."""

    steps: Steps = field(repr=False)
    step: float
    epsilon: float
    cutoff: int

    name = "sparse-vector"
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        """How much one record changes a query at most, the roundings included."""
        return STEPS * self.step

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """What the threshold and the queries have of epsilon: 1 to (2c)^(2/3), which makes the
        comparison's variance least.
        """
        first = Fraction(self.epsilon / (1 + (2 * self.cutoff) ** (2 / 3)))
        return first, Fraction(self.epsilon) - first

    @property
    def scale(self) -> float:
        """Of the queries' noise."""
        return 2 * self.cutoff * self.sensitivity / float(self.shares[1])

    def draw(self, randomness: RandomStream) -> list[int]:
        """Name those above. Called by `Accountant.release` alone."""
        first, second = self.shares
        border = two_sided_geometric(first / STEPS, randomness)
        found: list[int] = []
        for at, own in enumerate(self.steps.tolist()):
            if own + two_sided_geometric(second / (2 * self.cutoff * STEPS), randomness) >= border:
                found.append(at)
                if len(found) == self.cutoff:
                    break
        return found


@dataclass(frozen=True, slots=True)
class ThresholdMechanism:
    """Queries less their thresholds, as JTree's algorithm 1 answers them. Not private: no epsilon
    holds, for anybody.
    """

    steps: Steps = field(repr=False)
    step: float
    asked: float
    """By what epsilon the noise goes."""
    epsilon: float
    """What is claimed: less, where the queries are of a sample of the records."""
    views: tuple[str, ...]

    name = "threshold-mechanism"
    delta = 0.0
    by_users = ()
    whole_record = None

    @property
    def seen(self) -> Mapping[str, float]:
        return dict.fromkeys(self.views, math.inf)

    @property
    def sensitivity(self) -> float:
        return STEPS * self.step

    @property
    def scale(self) -> float:
        return 2 * self.sensitivity / self.asked

    def draw(self, randomness: RandomStream) -> list[int]:
        """Name those above: lines 5 to 10. Called by `Accountant.release` alone."""
        rate = Fraction(self.asked) / (2 * STEPS)
        border = two_sided_geometric(rate, randomness)
        return [
            at
            for at, own in enumerate(self.steps.tolist())
            if own + two_sided_geometric(rate, randomness) >= border
        ]


def sparse_vector(
    queries: npt.ArrayLike,
    thresholds: npt.ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    cutoff: int,
) -> SparseVector:
    """Prepare the question which queries are above their thresholds, at most `cutoff` of them, from
    the first on.
    """
    away = np.asarray(queries, np.float64) - np.asarray(thresholds, np.float64)
    steps, step = on_grid(away, sensitivity=sensitivity, epsilon=epsilon)
    if cutoff < 1:
        raise ValueError(f"expected a cutoff of at least 1, found {cutoff}")
    return SparseVector(steps, step, epsilon, cutoff)


def threshold_mechanism(
    queries: npt.ArrayLike,
    thresholds: npt.ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    views: tuple[str, ...],
    claimed: float | None = None,
) -> ThresholdMechanism:
    """Prepare the same question, as printed; `views`: of all whom the answer reaches; `claimed`: if
    less than epsilon is.
    """
    away = np.asarray(queries, np.float64) - np.asarray(thresholds, np.float64)
    steps, step = on_grid(away, sensitivity=sensitivity, epsilon=epsilon)
    return ThresholdMechanism(steps, step, epsilon, epsilon if claimed is None else claimed, views)


def log_likelihood(
    queries: npt.ArrayLike, thresholds: npt.ArrayLike, answers: npt.ArrayLike, *, scale: float
) -> float:
    """Compute how likely these answers of the threshold mechanism are, up to a constant, as a
    logarithm.

    By integration over the noise of the threshold, of the product over queries of being above, or
    below. All at 0, or ten at 1 and ten at -1, neighbours at sensitivity 1 and epsilon 1, and the
    answer that the first ten are below, the others above:

    >>> many, answers = [0.0] * 20, [False] * 10 + [True] * 10
    >>> near, far = (log_likelihood(own, many, answers, scale=2.0) for own in (many, [1.0] * 10 + [-1.0] * 10))
    >>> round(near - far, 2)
    9.28
    """
    above = np.asarray(answers, bool)
    distances = (np.asarray(thresholds, np.float64) - np.asarray(queries, np.float64)) / scale
    x = np.linspace(-60.0, 60.0, 120_001)  # in scales of the noise
    total = -np.abs(x)
    # Queries that are as far from their thresholds, and answered alike, have the same factor.
    for (distance, up), times in Counter(
        zip(distances.tolist(), above.tolist(), strict=True)
    ).items():
        total = total + times * _log_tail((x + distance) * (1 if up else -1))
    most = float(total.max())
    return most + math.log(float(np.exp(total - most).sum()))


def _log_tail(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Compute ln P[noise >= x], of scale 1."""
    small = np.log(2.0)
    return np.asarray(np.where(x >= 0, -x - small, np.log1p(-np.exp(-np.abs(x)) / 2)))
