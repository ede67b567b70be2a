"""Local randomizers: a user's side and the aggregator's side, for one value of K.

All randomizers here are *pure*: a report supports the user's own value with probability p, and any
other value with probability q. If C(v) of n reports support v, then

    estimate    f(v) = (C(v) / n - q) / (p - q)
    variance    [f p (1 - p) + (1 - f) q (1 - q)] / ((p - q)^2 n), given the users' values

Probabilities are fractions of integers, so the law of a report is exact. They are rounded so that
no report is more than e^epsilon times as likely from one value as from another. `law` lists all
reports for small K, and the conformance suite checks them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import ClassVar, Final, TypeAlias

import gmpy2
import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWords, UserWordStream
from ..arguments import SmallBudgetError

__all__ = [
    "BATCH_USERS",
    "COIN_BITS",
    "MAX_CELLS",
    "Codes",
    "Counts",
    "Randomizer",
    "Reports",
    "Words",
    "below_exp",
    "coins",
    "report",
    "threshold",
]

Codes: TypeAlias = npt.NDArray[np.int64]
Counts: TypeAlias = npt.NDArray[np.int64]
Reports: TypeAlias = npt.NDArray[np.uint8]
"""A row of whole bytes for each user, with the lowest bit first; unused bits are 0."""
Words: TypeAlias = npt.NDArray[np.uint64]

COIN_BITS: Final = 32
MAX_CELLS: Final = 1 << 24
"""Largest number of cells of a randomizer that draws an index from 32 bits."""
BATCH_USERS: Final = 4096
"""Users for whom reports are made at once: the working set fits in the L2 cache."""
MAX_BATCH_CELLS: Final = 1 << 22
"""Bound on cells times users of a batch, since a randomizer may need a word for each."""


class Randomizer(ABC):
    """One way to report one of K values."""

    name: ClassVar[str]

    def __init__(self, cells: int, *, epsilon: float) -> None:
        if cells < 2:
            raise ValueError(f"expected at least 2 cells, found {cells}")
        if not 0 < epsilon < inf:
            raise ValueError(f"expected a finite epsilon above 0, found {epsilon}")
        self.cells = cells
        self.epsilon = epsilon

    @property
    def ratio(self) -> Fraction:
        """Bound on the ratio of a report's likelihoods from two values: e^epsilon, rounded down."""
        return below_exp(self.epsilon)

    @property
    def local_epsilon(self) -> float:
        """Epsilon of the whole value; `epsilon` is the claim, which may be of a part of it."""
        return self.epsilon

    def _check(self) -> None:
        """Refuse an epsilon that rounds away. Called at the end of every constructor."""
        if not self.p > self.q:
            raise SmallBudgetError(
                f"expected an epsilon that coins of {COIN_BITS} bits can express, "
                f"found {self.epsilon:g}: choose a larger one"
            )

    def __repr__(self) -> str:
        return f"{self.name} of {self.cells} cells at epsilon {self.epsilon:g}"

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report supports the user's own value."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a report supports any other value."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits of a report on the wire."""

    @property
    def size(self) -> int:
        """Bytes of a report in memory."""
        return -(-self.bits // 8)

    @abstractmethod
    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        """Make the reports of users with these values: the user's side.

        The reports may share a buffer with the words.
        """

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """Count the reports that support each value: the aggregator's side.

        Raises:
            ValueError: a report is impossible.
        """

    def supports(self, reports: Reports, users: Counts) -> list[Counts]:
        """Count the support in several groups, whose reports follow one another.

        Args:
            reports: the reports of all groups.
            users: the number of users in each group.
        """
        ends = np.cumsum(users)
        return [
            self.support(reports[end - size : end])
            for end, size in zip(ends.tolist(), users.tolist(), strict=True)
        ]

    @abstractmethod
    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Draw the support directly from its exact law, without making reports.

        Args:
            counts: how many users have each value.
            generator: the source of randomness.
        """

    def simulate_groups(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Draw the support in several groups of users, each with a row of `counts`.

        A randomizer that draws for all groups at once has the same law, not the same numbers.
        """
        return np.stack([self.simulate(group, generator) for group in counts])

    @abstractmethod
    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """List all reports of a value with their probabilities; for small K."""

    @cached_property
    def _rates(self) -> tuple[float, float]:
        """`p` and `q` as floats, which a randomizer of many questions needs for each of them."""
        return float(self.p), float(self.q)

    def estimate(self, support: Counts, *, users: int) -> npt.NDArray[np.float64]:
        """Estimate the values' frequencies, without bias."""
        p, q = self._rates
        return np.asarray((support / users - q) / (p - q))

    def variance(self, *, users: int = 1, frequency: float = 0.0) -> float:
        """Compute the variance of an estimate, given the users' values."""
        p, q = self._rates
        return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / ((p - q) ** 2 * users)

    @property
    def total_variance(self) -> float:
        """Sum of the variances of all K estimates from one user's report."""
        return self.variance(frequency=1.0) + (self.cells - 1) * self.variance()

    def _check_shape(self, reports: Reports) -> None:
        if reports.ndim != 2 or reports.shape[1] != self.size:
            raise ValueError(
                f"expected reports of {self.size} bytes, found the shape {reports.shape}"
            )


def report(
    randomizer: Randomizer, values: Codes, *, users: npt.NDArray[np.int64], words: UserWords
) -> Reports:
    """Make the reports of these users."""
    reports = np.empty((len(values), randomizer.size), np.uint8)
    step = max(1, min(BATCH_USERS, MAX_BATCH_CELLS // randomizer.cells))
    for start in range(0, len(values), step):
        part = slice(start, min(start + step, len(values)))
        reports[part] = randomizer.randomize(values[part], words.of(users[part]))
    return reports


def below_exp(epsilon: float) -> Fraction:
    """Round e^epsilon down to a fraction."""
    with gmpy2.context(gmpy2.get_context(), precision=200, round=gmpy2.RoundDown):
        numerator, denominator = gmpy2.exp(gmpy2.mpfr(epsilon, 200)).as_integer_ratio()
        return Fraction(int(numerator), int(denominator))


def threshold(probability: Fraction, *, bits: int = COIN_BITS, up: bool = False) -> int:
    """Round a probability, down or up, to a multiple of 2^-bits, and return the factor.

    A coin of `bits` bits that is below the factor falls with this probability.
    """
    scaled = probability * (1 << bits)
    return (
        -((-scaled.numerator) // scaled.denominator)
        if up
        else scaled.numerator // scaled.denominator
    )


def coins(words: Words, *, below: int) -> npt.NDArray[np.bool_]:
    """Toss a coin with the upper half of each word: heads with probability `below` / 2^32."""
    if below >= 1 << COIN_BITS:
        return np.ones(words.shape, np.bool_)
    return np.asarray(words < np.uint64(below << COIN_BITS))
