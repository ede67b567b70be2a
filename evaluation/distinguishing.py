"""The distinguishing test: a lower bound on epsilon from the answers of many runs.

Two lists of answers come from two neighbouring datasets. If a mechanism is epsilon-differentially
private, every event has P[event | first] <= e^epsilon P[event | second] + delta, and the same the
other way round. An event that the first answers satisfy much more often than the second therefore
refutes a small epsilon.

The answers are cut in two halves. On one half the event is chosen, among thresholds on many
statistics of the answers. On the other half its two probabilities are bounded by Clopper and
Pearson's intervals. One event is tested, so no correction for many tests is due, and the bound
holds with the stated confidence whatever the statistics are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from .answer_statistics import DERIVED_TABLES, Answer, Numbers, as_table, borders, score_table

__all__ = ["MIN_RUNS", "DistinguishingEvent", "bound_of_counts", "find_event", "lower_bound"]

MAX_SINGLE: Final = 12
"""Number of columns whose own scores are statistics; the most telling ones are taken."""
MIN_RUNS: Final = 8
"""Fewest answers on each side; with fewer no event can be chosen and tested."""
SHUFFLE_SEED: Final = 19
"""Seed of the shuffle before the answers are cut in halves. It is no secret."""


def lower_bound(
    first: Sequence[Answer],
    second: Sequence[Answer],
    *,
    confidence: float = 0.999,
    delta: float = 0.0,
) -> float:
    """Bound from below the epsilon of what gave these answers on two neighbouring datasets.

    The answers must be independent draws: one for each run with randomness of its own. If the
    mechanism has a true epsilon, the result exceeds it with probability at most 1 - confidence.

    Args:
        first: answers on one dataset, each a list of numbers.
        second: answers on the neighbouring dataset.
        confidence: the probability with which the bound holds.
        delta: the delta of the claim that is tested.

    Raises:
        ValueError: there are fewer than 8 answers on a side, or the confidence is no probability.
    """
    _check(first, second, confidence=confidence)
    learning, testing = _halves(first, second)
    event = find_event(*learning, confidence=confidence, delta=delta)
    if event is None:
        return 0.0
    often, seldom = (testing[0], testing[1]) if event.of_first else (testing[1], testing[0])
    return float(
        bound_of_counts(
            np.count_nonzero(event.holds(often)),
            len(often),
            np.count_nonzero(event.holds(seldom)),
            len(seldom),
            confidence=confidence,
            delta=delta,
        )
    )


@dataclass(frozen=True, slots=True)
class DistinguishingEvent:
    """An event that one of the two datasets makes more likely."""

    statistic: Callable[[Numbers], Numbers]
    """A number for each row of a table of answers."""
    threshold: float
    of_first: bool
    """Whether the first dataset makes it more likely."""

    def holds(self, table: Numbers) -> npt.NDArray[np.bool_]:
        """Tell for each answer whether the event holds."""
        scores = self.statistic(table)
        return scores >= self.threshold if self.of_first else scores <= self.threshold


def find_event(
    first: Numbers, second: Numbers, *, confidence: float, delta: float = 0.0
) -> DistinguishingEvent | None:
    """Choose the event with the largest bound on these answers; `None` if none bounds anything."""
    best, event = 0.0, None
    for statistic in _statistics(first, second):
        scores = statistic(first), statistic(second)
        for of_first in (True, False):
            sign = 1.0 if of_first else -1.0
            often, seldom = scores if of_first else scores[::-1]
            bound, threshold = _best_threshold(
                sign * often, sign * seldom, confidence=confidence, delta=delta
            )
            if bound > best:
                best = bound
                event = DistinguishingEvent(statistic, sign * threshold, of_first)
    return event


def bound_of_counts(
    often: npt.ArrayLike,
    often_runs: int,
    seldom: npt.ArrayLike,
    seldom_runs: int,
    *,
    confidence: float,
    delta: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Bound epsilon by the numbers of runs in which an event held; 0 where nothing follows.

    Each of the two one-sided Clopper-Pearson bounds may fail with half of 1 - confidence.
    """
    from scipy.special import betaincinv

    failure = (1 - confidence) / 2
    k, m = np.asarray(often, np.float64), np.asarray(seldom, np.float64)
    least = np.where(k > 0, betaincinv(np.maximum(k, 1), often_runs - k + 1, failure), 0.0)
    most = np.where(
        m < seldom_runs,
        betaincinv(m + 1, np.maximum(seldom_runs - m, 1), 1 - failure),
        1.0,
    )
    return np.asarray(np.log(np.maximum((least - delta) / most, 1.0)))


def _check(first: Sequence[Answer], second: Sequence[Answer], *, confidence: float) -> None:
    if min(len(first), len(second)) < MIN_RUNS:
        raise ValueError(
            f"expected at least {MIN_RUNS} answers on each dataset, "
            f"found {len(first)} and {len(second)}"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"expected a confidence between 0 and 1, found {confidence}")


def _halves(
    first: Sequence[Answer], second: Sequence[Answer]
) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """Cut both lists in halves, at random: answers may come in an order that is not random."""
    shuffle = np.random.default_rng(SHUFFLE_SEED)
    width = max(np.size(answer) for answers in (first, second) for answer in answers)
    learning, testing = [], []
    for answers in (first, second):
        table = as_table(answers, width=width)[shuffle.permutation(len(answers))]
        learning.append(table[: len(table) // 2])
        testing.append(table[len(table) // 2 :])
    return (learning[0], learning[1]), (testing[0], testing[1])


def _best_threshold(
    often: Numbers, seldom: Numbers, *, confidence: float, delta: float
) -> tuple[float, float]:
    """Find the threshold whose event, scores from it on, has the largest bound."""
    thresholds = np.unique(often)
    runs = np.sort(often), np.sort(seldom)
    counts = [len(scores) - np.searchsorted(scores, thresholds) for scores in runs]
    bounds = bound_of_counts(
        counts[0], len(often), counts[1], len(seldom), confidence=confidence, delta=delta
    )
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])


def _statistics(first: Numbers, second: Numbers) -> Iterator[Callable[[Numbers], Numbers]]:
    """List the statistics: columns and their sum as they are, and scores learned from this half."""
    yield _row_sum
    learned = [_LearnedScores.of(derive, first, second) for derive in DERIVED_TABLES]
    columns = learned[0].most_telling(MAX_SINGLE)
    for column in columns:
        yield partial(_column, column=column)
    yield _linear_score(first, second)
    for scores in learned:
        yield scores
        for column in scores.most_telling(MAX_SINGLE):
            yield scores.only(column)
    yield lambda table: np.asarray(np.sum([scores(table) for scores in learned], axis=0))


def _column(table: Numbers, *, column: int) -> Numbers:
    return np.asarray(table[:, column])


def _row_sum(table: Numbers) -> Numbers:
    """Add up the numbers of each answer."""
    numbers = table[:, :-1]
    return np.asarray(np.where(np.isfinite(numbers), numbers, 0.0).sum(axis=1))


def _linear_score(first: Numbers, second: Numbers) -> Callable[[Numbers], Numbers]:
    """Learn a linear score by logistic regression with a ridge, in a few Newton steps."""
    table = np.concatenate([first, second])
    finite = np.where(np.isfinite(table), table, 0.0)
    centre = np.median(finite, axis=0)
    spread = np.maximum(np.median(np.abs(finite - centre), axis=0), 1e-9)
    varies = np.ptp(finite, axis=0) > 0
    kept = np.flatnonzero(varies)[:200]

    def scaled(answers: Numbers) -> Numbers:
        numbers = np.where(np.isfinite(answers), answers, 0.0)[:, kept]
        return np.asarray(np.clip((numbers - centre[kept]) / spread[kept], -20, 20))

    inputs = np.column_stack([scaled(table), np.ones(len(table))])
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    weights = np.zeros(inputs.shape[1])
    for _ in range(8):
        chances = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (labels - chances) - weights
        curvature = (inputs.T * (chances * (1 - chances))) @ inputs + np.eye(len(weights))
        weights += np.linalg.solve(curvature, slope)
    return lambda answers: np.asarray(scaled(answers) @ weights[:-1])


class _LearnedScores:
    """Log-ratios of the two laws, column by column and bin by bin, and their sum for a row."""

    def __init__(
        self, derive: Callable[[Numbers], Numbers], cuts: list[Numbers], ratios: list[Numbers]
    ) -> None:
        self._derive = derive
        self._cuts = cuts
        self._ratios = ratios

    @classmethod
    def of(
        cls, derive: Callable[[Numbers], Numbers], first: Numbers, second: Numbers
    ) -> _LearnedScores:
        """Learn from answers of both datasets."""
        pairs = list(zip(derive(first).T, derive(second).T, strict=True))
        cuts = [borders(np.concatenate(pair)) for pair in pairs]
        ratios = [score_table(*pair, cut) for pair, cut in zip(pairs, cuts, strict=True)]
        return cls(derive, cuts, ratios)

    def most_telling(self, count: int) -> list[int]:
        """List the columns with the largest log-ratios; none that tells nothing."""
        sizes = np.array([np.abs(ratio).max(initial=0.0) for ratio in self._ratios])
        return [int(column) for column in np.argsort(-sizes)[:count] if sizes[column] > 0]

    def only(self, column: int) -> Callable[[Numbers], Numbers]:
        """Give the score of one column alone."""
        return lambda table: self._score(self._derive(table)[:, column], column)

    def __call__(self, table: Numbers) -> Numbers:
        derived = self._derive(table)
        total = np.zeros(len(table))
        for column, ratio in enumerate(self._ratios):
            if ratio.any():
                total += self._score(derived[:, column], column)
        return total

    def _score(self, values: Numbers, column: int) -> Numbers:
        return np.asarray(
            self._ratios[column][np.searchsorted(self._cuts[column], values, side="right")]
        )
