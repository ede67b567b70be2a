"""What a local randomizer is: what a user does with one value of K, and what the aggregator makes
of all reports.

Each is *pure*: a report supports some of the K values, the user's own with probability p, any other
with q. From C(v), the reports that support v, of n users

    estimate    f(v) = (C(v) / n - q) / (p - q)
    variance    [f p (1 - p) + (1 - f) q (1 - q)] / ((p - q)^2 n), given the users' values

Probabilities are fractions of whole numbers, so the law of a report is exact, and they are rounded
so that no report is more than e^epsilon times as likely from one value as from another. `law`
writes it out for small K; the conformance suite adds up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import ClassVar, TypeAlias

import gmpy2
import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWords, UserWordStream

__all__ = [
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
"""A line a user, of whole bytes, bits lowest first; what is left over of the last byte is 0."""
Words: TypeAlias = npt.NDArray[np.uint64]

COIN_BITS = 32
AT_A_TIME = 4096
MOST_CELLS = 1 << 22
"""Of all users together for whom reports are made at a time: a randomizer may need a word for
each.
"""
"""Users for whom reports are made at a time: what is touched stays in the second cache."""


class Randomizer(ABC):
    """One way to ask for one of K values."""

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
        """How much likelier a report may be from one value than from another: e^epsilon, rounded
        down.
        """
        return below_exp(self.epsilon)

    @property
    def local_epsilon(self) -> float:
        """The epsilon of the whole value; `epsilon` is what is claimed, which may be of a part of
        it.
        """
        return self.epsilon

    def _check(self) -> None:
        """Refuse an epsilon that rounds away. Called at the end of every constructor."""
        if not self.p > self.q:
            raise ValueError(
                f"expected an epsilon that coins of {COIN_BITS} bits can express, found {self.epsilon:g}: too small"
            )

    def __repr__(self) -> str:
        return f"{self.name} of {self.cells} cells at epsilon {self.epsilon:g}"

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """How likely a report supports the user's own value."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """How likely it supports any other."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Of a report."""

    @property
    def size(self) -> int:
        """Bytes of a report in memory."""
        return -(-self.bits // 8)

    @abstractmethod
    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        """Make the reports of users with these values: the user's side. They may stand in a buffer
        of the words'.
        """

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """Count, for each value, the reports that support it: the aggregator's side.

        A report that no user can have made is a `ValueError`.
        """

    def supports(self, reports: Reports, users: Counts) -> list[Counts]:
        """Count the support of several groups of so many users each, whose reports follow one
        another.
        """
        ends = np.cumsum(users)
        return [
            self.support(reports[end - size : end])
            for end, size in zip(ends.tolist(), users.tolist(), strict=True)
        ]

    @abstractmethod
    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Draw the support of users of whom `counts` have each value, directly from its exact law,
        report for report alike.
        """

    @abstractmethod
    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """Write out how likely each report is from a value; for small K."""

    def estimate(self, support: Counts, *, users: int) -> npt.NDArray[np.float64]:
        """Estimate the frequencies, without bias."""
        p, q = float(self.p), float(self.q)
        return np.asarray((support / users - q) / (p - q))

    def variance(self, *, users: int = 1, frequency: float = 0.0) -> float:
        """The variance of an estimate, given the users' values."""
        p, q = float(self.p), float(self.q)
        return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / ((p - q) ** 2 * users)

    @property
    def total_variance(self) -> float:
        """The variances of all K estimates together, of one user, who has one of the values."""
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
    out = np.empty((len(values), randomizer.size), np.uint8)
    step = max(1, min(AT_A_TIME, MOST_CELLS // randomizer.cells))
    for start in range(0, len(values), step):
        part = slice(start, min(start + step, len(values)))
        out[part] = randomizer.randomize(values[part], words.of(users[part]))
    return out


def below_exp(epsilon: float) -> Fraction:
    """Round e^epsilon down to a fraction of which nobody can say that it is more."""
    with gmpy2.context(gmpy2.get_context(), precision=200, round=gmpy2.RoundDown):
        numerator, denominator = gmpy2.exp(gmpy2.mpfr(epsilon, 200)).as_integer_ratio()
        return Fraction(int(numerator), int(denominator))


def threshold(probability: Fraction, *, bits: int = COIN_BITS, up: bool = False) -> int:
    """Round a probability to a whole number of 2^-bits, down or up; a coin is a number of so many
    bits below it.
    """
    scaled = probability * (1 << bits)
    return (
        -((-scaled.numerator) // scaled.denominator)
        if up
        else scaled.numerator // scaled.denominator
    )


def coins(words: Words, *, below: int) -> npt.NDArray[np.bool_]:
    """Toss a coin with the upper half of each word: heads with probability below / 2^32."""
    if below >= 1 << COIN_BITS:
        return np.ones(words.shape, np.bool_)
    return np.asarray(words < np.uint64(below << COIN_BITS))
