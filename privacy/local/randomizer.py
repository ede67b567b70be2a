"""What a local randomizer is: what a user does with one value of K, and what the aggregator makes of all reports.

Each is *pure*: a report supports some of the K values, the user's own with probability p, any other with q. From C(v), the
reports that support v, of n users

    estimate    f(v) = (C(v) / n - q) / (p - q)
    variance    [f p (1 - p) + (1 - f) q (1 - q)] / ((p - q)^2 n), given the users' values

Probabilities are fractions of whole numbers, so the law of a report is exact, and they are rounded so that no report is more
than e^epsilon times as likely from one value as from another. `law` writes it out for small K; the conformance suite adds up.
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

__all__ = ["Codes", "Counts", "Randomizer", "Reports", "Words", "below_exp", "threshold"]

Codes: TypeAlias = npt.NDArray[np.int64]
Counts: TypeAlias = npt.NDArray[np.int64]
Reports: TypeAlias = npt.NDArray[np.uint8]
"""Reports as they travel: a line a user, of whole bytes."""
Words: TypeAlias = npt.NDArray[np.uint64]

COIN_BITS = 32


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

    def _check(self) -> None:
        """Refuse an epsilon that rounds away. Called at the end of every constructor."""
        if not self.p > self.q:
            raise ValueError(
                f"expected an epsilon that coins of {COIN_BITS} bits can express, found {self.epsilon:g}: too small"
            )

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
    @abstractmethod
    def words(self) -> int:
        """Random words of 64 bits that a user needs."""

    @abstractmethod
    def randomize(self, values: Codes, words: Words) -> Reports:
        """Make the reports of users with these values: the user's side."""

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """Count, for each value, the reports that support it: the aggregator's side."""

    @abstractmethod
    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Draw the support of users of whom `counts` have each value, directly from its exact law, report for report alike."""

    @abstractmethod
    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """Write out how likely each report is from a value; for small K."""

    def estimate(self, support: Counts, *, users: int) -> npt.NDArray[np.float64]:
        """Estimate the frequencies, without bias."""
        p, q = float(self.p), float(self.q)
        return (support / users - q) / (p - q)

    def variance(self, *, users: int, frequency: float = 0.0) -> float:
        """The variance of an estimate, given the users' values."""
        p, q = float(self.p), float(self.q)
        return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / ((p - q) ** 2 * users)


def below_exp(epsilon: float) -> Fraction:
    """Round e^epsilon down to a fraction of which nobody can say that it is more."""
    with gmpy2.context(gmpy2.get_context(), precision=200, round=gmpy2.RoundDown):
        numerator, denominator = gmpy2.exp(gmpy2.mpfr(epsilon, 200)).as_integer_ratio()
        return Fraction(int(numerator), int(denominator))


def threshold(probability: Fraction, *, up: bool = False) -> int:
    """Round a probability to a whole number of 2^-32, down or up; a coin is a 32-bit number below it."""
    scaled = probability * (1 << COIN_BITS)
    return -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
