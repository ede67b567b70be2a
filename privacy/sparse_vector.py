"""Queries above their thresholds: the sparse vector technique, and JTree's threshold mechanism.

*Sparse vector* (Dwork, Naor, Reingold, Rothblum, Vadhan 2009; algorithm 1 of Lyu, Su, Li 2017). The
threshold gets noise once, and each query gets noise, until c queries were above. The queries' noise
grows with c: each answer "above" costs privacy, and all answers "below" together cost as much as
the threshold.

*Threshold mechanism* (Chen, Xiao, Zhang, Xu 2015, algorithm 1). It is the same without c, so noise
does not depend on the number of queries. Its proof bounds positives and negatives by two different
shifts of the one noise that they share (formulas 3 and 4), so it holds for one kind alone. It is
differentially private for no epsilon (Lyu et al., variant 6), as `log_likelihood` shows.

Queries are rounded to a grid, as for `exponential`, and noise is discrete Laplace. So nothing
depends on floating point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import ArgumentError, Private
from .arguments import exact_fraction, pure_epsilon, real_numbers
from .budget import Budget
from .exact_value import ExactValue
from .exponential import STEPS, on_grid
from .laplace import two_sided_geometric
from .loss import UNBOUNDED, Loss

__all__ = [
    "SparseVector",
    "ThresholdMechanism",
    "log_likelihood",
    "log_probability",
    "sparse_vector",
    "threshold_mechanism",
]

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Queries minus their thresholds; the answer lists the first `cutoff` that are above."""

    steps: Steps = field(repr=False)
    step: float
    epsilon: float
    cutoff: int

    name = "sparse-vector"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def sensitivity(self) -> float:
        """Bound on the change of a query between neighbouring datasets, roundings included."""
        return STEPS * self.step

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Parts of epsilon for the threshold and for the queries.

        Their ratio is 1 to (2c)^(2/3), which minimises the variance of a comparison.
        """
        threshold = Fraction(self.epsilon / (1 + (2 * self.cutoff) ** (2 / 3)))
        return threshold, Fraction(self.epsilon) - threshold

    @property
    def scale(self) -> float:
        """Noise scale of the queries."""
        return 2 * self.cutoff * self.sensitivity / float(self.shares[1])

    def draw(self, randomness: RandomStream) -> list[int]:
        """List the queries that are above. Called by `Accountant.release` alone."""
        of_threshold, of_queries = self.shares
        border = two_sided_geometric(of_threshold / STEPS, randomness)
        rate = of_queries / (2 * self.cutoff * STEPS)
        above: list[int] = []
        for query, steps in enumerate(self.steps.tolist()):
            if steps + two_sided_geometric(rate, randomness) >= border:
                above.append(query)
                if len(above) == self.cutoff:
                    break
        return above

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="max")


@dataclass(frozen=True, slots=True)
class ThresholdMechanism:
    """Queries minus their thresholds, answered by JTree's algorithm 1.

    The mechanism is not private: no epsilon holds in any view.
    """

    steps: Steps = field(repr=False)
    step: float
    noise_epsilon: float
    """Epsilon to which the noise is scaled."""
    epsilon: float
    """Claimed epsilon; smaller where the queries are of a sample of the records."""
    views: tuple[str, ...]
    """All views that the answer reaches."""

    name = "threshold-mechanism"
    by_users = ()
    whole_record = None

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def seen(self) -> Mapping[str, Loss]:
        return dict.fromkeys(self.views, UNBOUNDED)

    @property
    def sensitivity(self) -> float:
        return STEPS * self.step

    @property
    def scale(self) -> float:
        return 2 * self.sensitivity / self.noise_epsilon

    def draw(self, randomness: RandomStream) -> list[int]:
        """List the queries that are above (lines 5 to 10). Called by `Accountant.release` alone."""
        rate = Fraction(self.noise_epsilon) / (2 * STEPS)
        border = two_sided_geometric(rate, randomness)
        return [
            query
            for query, steps in enumerate(self.steps.tolist())
            if steps + two_sided_geometric(rate, randomness) >= border
        ]

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.steps * self.step, norm="max")


def sparse_vector(
    queries: npt.ArrayLike,
    thresholds: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = None,
    budget: Budget | None = None,
    cutoff: int,
) -> SparseVector:
    """Prepare the question which queries are above their thresholds.

    The answer lists at most `cutoff` of them, from the first query on. Say `epsilon` or `budget`.

    Args:
        queries: The values of the queries.
        thresholds: The public threshold of each query, or one for all.
        sensitivity: The bound on the change of any query between neighbouring datasets.
        epsilon: The privacy loss of the whole answer.
        budget: A part of the budget.
        cutoff: The largest number of queries that the answer lists.

    >>> counts = [3, 700, 8, 900]
    >>> mechanism = sparse_vector(counts, 300, sensitivity=1, epsilon=1.0, cutoff=2)
    >>> mechanism.draw(RandomStream(b"v" * 32))
    [1, 3]
    """
    loss = pure_epsilon(epsilon, budget, mechanism="sparse_vector")
    bound = float(exact_fraction(sensitivity, name="a sensitivity"))
    values = real_numbers(queries, mechanism="sparse_vector")
    borders = real_numbers(thresholds, mechanism="sparse_vector")
    if values.ndim != 1 or not values.size or borders.shape not in ((), values.shape):
        raise ArgumentError(
            "expected at least one score in sparse_vector and a threshold for each, or one for "
            "all, found arrays of the shapes ",
            Private(f"{values.shape} and {borders.shape}"),
        )
    if cutoff < 1:
        raise ArgumentError("expected a cutoff of at least 1, found ", Private(str(cutoff)))
    steps, step = on_grid(values - borders, sensitivity=bound, epsilon=loss)
    return SparseVector(steps, step, loss, cutoff)


def threshold_mechanism(
    queries: npt.ArrayLike,
    thresholds: npt.ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    views: tuple[str, ...],
    claimed: float | None = None,
) -> ThresholdMechanism:
    """Prepare the same question for the printed mechanism.

    Args:
        queries: the queries' values.
        thresholds: a threshold for each query.
        sensitivity: the bound on the change of any query between neighbouring datasets.
        epsilon: the epsilon to which the noise is scaled.
        views: all views that the answer reaches.
        claimed: the claimed epsilon, where it is smaller.
    """
    distances = np.asarray(queries, np.float64) - np.asarray(thresholds, np.float64)
    steps, step = on_grid(distances, sensitivity=sensitivity, epsilon=epsilon)
    return ThresholdMechanism(steps, step, epsilon, epsilon if claimed is None else claimed, views)


def log_likelihood(
    queries: npt.ArrayLike, thresholds: npt.ArrayLike, answers: npt.ArrayLike, *, scale: float
) -> float:
    """Compute the log-likelihood of answers of the threshold mechanism, up to a constant.

    It integrates, over the threshold's noise, the product of all queries' probabilities. In the
    example two datasets are neighbours at sensitivity 1: in one all queries are 0, in the other ten
    are 1 and ten are -1. The answer is that the first ten are below and the others above. At
    epsilon 1 their log-likelihoods differ by 9.28:

    >>> zeros, answers = [0.0] * 20, [False] * 10 + [True] * 10
    >>> near = log_likelihood(zeros, zeros, answers, scale=2.0)
    >>> far = log_likelihood([1.0] * 10 + [-1.0] * 10, zeros, answers, scale=2.0)
    >>> round(near - far, 2)
    9.28
    """
    queries_above = np.asarray(queries, np.float64) - np.asarray(thresholds, np.float64)
    return log_probability(queries_above, answers, threshold_scale=scale, query_scale=scale)


def log_probability(
    distances: npt.ArrayLike, answers: npt.ArrayLike, *, threshold_scale: float, query_scale: float
) -> float:
    """Compute the log-probability, up to a constant, of answers to noisy comparisons.

    The threshold's noise is shared by all queries. It is integrated over 24,001 points, 60 noise
    scales to each side; noise is taken as continuous, which steps of a millionth of the sensitivity
    allow.

    Args:
        distances: queries minus their thresholds.
        answers: for each query whether it is above.
        threshold_scale: the noise scale of the threshold.
        query_scale: the noise scale of each query.
    """
    above = np.asarray(answers, bool)
    # Queries at equal distances from their thresholds with equal answers have equal factors.
    factors = Counter(zip(np.asarray(distances).tolist(), above.tolist(), strict=True))
    return _integrate(tuple(sorted(factors.items())), threshold_scale, query_scale)


@lru_cache(maxsize=4096)
def _integrate(
    factors: tuple[tuple[tuple[float, bool], int], ...], threshold_scale: float, query_scale: float
) -> float:
    x = np.linspace(-60.0, 60.0, 24_001)  # in units of the threshold's noise scale
    total = -np.abs(x)
    for (distance, is_above), times in factors:
        needed = (x * threshold_scale - distance) / query_scale
        total = total + times * _log_tail(needed if is_above else -needed)
    largest = float(total.max())
    return largest + math.log(float(np.exp(total - largest).sum()))


def _log_tail(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Compute ln P[noise >= x] for Laplace noise of scale 1."""
    return np.asarray(np.where(x >= 0, -x - np.log(2.0), np.log1p(-np.exp(-np.abs(x)) / 2)))
