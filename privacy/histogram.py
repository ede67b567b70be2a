"""A histogram whose categories are secret: noisy counts above a threshold (stability).

The labels that occur are not public, such as words or places. Every label that occurs is counted,
its count gets noise, and it is released only if the noisy count reaches a threshold T (Korolova,
Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer 2016). So a label that nobody has is
never named, and a label of a single record is named only with a tiny chance.

*Claim.* Let k be 1 where a record is added or removed, and 2 where one is replaced. One record
changes k counts by 1 each, so the L1 sensitivity is k and the squared L2 sensitivity is k. Let p be
the chance that 1 plus noise reaches T. If p <= delta, the answer keeps the epsilon, or the rho, of
its noise except with probability delta.

*Proof.* A label that occurs in one of two neighbouring datasets alone has the count 1 there, and
each dataset has at most one such label. Let E be the event that this label stays below T. In a
dataset without such a label let a coin decide E, with the same probability 1 - p. Given E, the
answer is computed from the noisy counts of the labels that both datasets have. So the two laws
given E are as close as noise makes them, and E has the same probability for both. Outside of E
there is a probability of p <= delta. QED.

T is the smallest integer for which p <= delta. For Laplace noise p is known exactly. For Gaussian
noise it is bounded by the tail of the continuous law: P[X >= t] <= P[N >= t - 1].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from ..crypto import RandomStream
from ..messages import ArgumentError, Private
from .arguments import exact_fraction, one_budget
from .budget import Budget
from .exact_value import ExactValue
from .gaussian import GaussianNumbers
from .laplace import DiscreteLaplace
from .loss import Loss
from .neighbours import Neighbours
from .step_noise import NoisySteps

__all__ = ["SecretHistogram", "secret_histogram", "threshold_for"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts(ExactValue):
    """Counts by label; the change is that of all labels of both together, in L1."""

    labels: tuple[str, ...] = field(repr=False, default=())

    def change(self, other: ExactValue) -> float:
        """Add up the changes of all labels."""
        if not isinstance(other, LabelCounts):
            raise ArgumentError("expected counts by label, found another exact value")
        counts = Counter(dict(zip(self.labels, self.parts[0].tolist(), strict=True)))
        counts.subtract(dict(zip(other.labels, other.parts[0].tolist(), strict=True)))
        return float(sum(map(abs, counts.values())))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LabelCounts)
            and self.labels == other.labels
            and super(LabelCounts, self).__eq__(other)
        )

    __hash__ = None


@dataclass(frozen=True, slots=True)
class SecretHistogram:
    """Counts of secret labels that wait to be released."""

    counts: Mapping[str, int] = field(repr=False)
    spending: Budget
    delta: float
    neighbours: Neighbours

    name = "secret-histogram"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        noise = self._noisy([0]).loss
        return Loss(noise.epsilon, noise.rho, self.delta, noise.laplace_epsilon, noise.gaussian)

    @property
    def sensitivity(self) -> float:
        """Bound on the change of all counts together, in L1."""
        return _changed_labels(self.neighbours)

    @property
    def scale(self) -> float:
        return self._noisy([0]).scale

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is released."""
        return threshold_for(self._noisy([0]), delta=self.delta)

    def draw(self, randomness: RandomStream) -> dict[str, int]:
        """Add the noise, and keep what reaches the threshold. Called by `Accountant.release`."""
        labels = sorted(self.counts)
        if not labels:
            return {}
        noisy = self._noisy([self.counts[label] for label in labels]).draw(randomness)
        threshold = self.threshold
        return {
            label: count
            for label, count in zip(labels, noisy.tolist(), strict=True)
            if count >= threshold
        }

    def exact_value(self) -> ExactValue:
        labels = tuple(sorted(self.counts))
        counts = np.array([self.counts[label] for label in labels], np.float64)
        return LabelCounts((counts,), "L1", labels)

    def log_likelihood(self, answer: Mapping[str, int]) -> float:
        """Compute ln P[answer]: counts of its labels, and others that are below the threshold."""
        if not set(answer) <= set(self.counts):
            return -math.inf
        noise, logs = _law(self._noisy([0]), reach=max(self.threshold, *self.counts.values(), 0))
        below = np.logaddexp.accumulate(logs)
        total = 0.0
        for label, count in self.counts.items():
            if label in answer:
                total += float(logs[answer[label] - count - noise])
            else:
                total += float(below[self.threshold - 1 - count - noise])
        return total

    def _noisy(self, counts: list[int]) -> NoisySteps:
        """Give the counts their noise: both sensitivities follow from k."""
        changed = Fraction(_changed_labels(self.neighbours))
        steps = np.array(counts, np.int64)
        if self.spending.concentrated:
            same_variance = float(changed) * math.sqrt(4 * self.spending.amount / changed)
            return GaussianNumbers(steps, changed, self.spending.amount, same_variance)
        return DiscreteLaplace(steps, changed, self.spending.amount)


def secret_histogram(
    values: npt.ArrayLike | Sequence[object],
    *,
    neighbours: Neighbours,
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
) -> SecretHistogram:
    """Prepare the counts of labels that are secret. Say one of `epsilon`, `rho` and `budget`.

    The answer maps each label whose noisy count reaches the threshold to that count. Where all
    labels are public, count them and use `laplace` or `gaussian`, which need no delta.

    Args:
        values: The label of each record; labels are compared as text.
        neighbours: The relation between neighbouring datasets: `replace-one` or
            `add-or-remove-one`, as the protocol declares it.
        delta: The chance that a label of a single record is named. It is a part of the delta of
            the run.
        epsilon: The privacy loss of the counts.
        rho: The privacy loss of the counts, in zero-concentrated differential privacy.
        budget: A part of the budget.

    >>> from sottovoce.crypto import RandomStream
    >>> words = ["apple"] * 400 + ["pear"] * 300 + ["a rare word"]
    >>> mechanism = secret_histogram(
    ...     words, neighbours="add-or-remove-one", epsilon=1.0, delta=1e-10
    ... )
    >>> mechanism.threshold
    24
    >>> sorted(mechanism.draw(RandomStream(b"h" * 32)))
    ['apple', 'pear']
    """
    spending = one_budget(epsilon, rho, budget, mechanism="secret_histogram")
    if not 0 < exact_fraction(delta, name="a delta") < 1:
        raise ArgumentError("expected a delta below 1, found ", Private(f"{delta:g}"))
    _changed_labels(neighbours)
    column = np.asarray(values, object)
    if column.ndim != 1:
        # Several labels of a record would each change a count.
        raise ArgumentError(
            "expected a label for each record in secret_histogram, found "
            + ("no list" if column.ndim == 0 else f"an array of {column.ndim} dimensions")
            + ": join several labels of a record into one text"
        )
    labels = [str(value) for value in column.tolist()]
    return SecretHistogram(Counter(labels), spending, float(delta), neighbours)


def threshold_for(noisy: NoisySteps, *, delta: float) -> int:
    """Find the smallest T with P[1 + noise >= T] <= delta.

    For Laplace noise P[noise >= t] = q^t / (1 + q) for t >= 1, where q = exp(-rate).
    """
    if isinstance(noisy, DiscreteLaplace):
        rate = float(noisy.rate)
        needed = -(math.log(delta) + math.log1p(math.exp(-rate))) / rate
        # A relative margin covers the rounding of these floats.
        return 1 + max(1, math.ceil(needed * (1 + 1e-12)))
    deviation = noisy.scale
    high = 1
    while log_ndtr(-(high - 1) / deviation) > math.log(delta) * (1 + 1e-12):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if log_ndtr(-(middle - 1) / deviation) > math.log(delta) * (1 + 1e-12):
            low = middle
        else:
            high = middle
    return 1 + high


def _law(noisy: NoisySteps, *, reach: int) -> tuple[int, npt.NDArray[np.float64]]:
    """Tabulate the logarithms of the noise's probabilities; return the first noise, too."""
    largest = math.ceil(50 * noisy.scale) + 2 * reach
    places = np.arange(-largest, largest + 1)
    if isinstance(noisy, DiscreteLaplace):
        logs = -float(noisy.rate) * np.abs(places)
    else:
        logs = -(places.astype(np.float64) ** 2) / (2 * float(noisy.variance))
    return -largest, logs - np.logaddexp.reduce(logs)


def _changed_labels(neighbours: Neighbours) -> int:
    """Count the labels whose counts one record changes."""
    if neighbours == "add-or-remove-one":
        return 1
    if neighbours == "replace-one":
        return 2
    raise ArgumentError(
        "expected neighbours replace-one or add-or-remove-one in secret_histogram, found "
        f"{neighbours}"
    )
