"""The discrete Laplace mechanism, exact: without any floating point.

For a counting query of sensitivity s the noise X has P[X = x] = (1 - q) / (1 + q) * q**|x| with
q = exp(-epsilon / s). So the answer is epsilon-differentially private. The noise is sampled with
integers alone, after Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy"
(2020), algorithms 1 and 2. Epsilon is taken as the exact fraction that its float is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from ..crypto import RandomStream
from .exact_value import ExactValue

__all__ = ["DiscreteLaplace", "bernoulli_exp", "laplace", "two_sided_geometric"]


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """A count that waits to be released with noise. The count is not printed."""

    value: int = field(repr=False)
    sensitivity: int
    epsilon: float

    name = "discrete-laplace"
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def scale(self) -> float:
        return self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> int:
        """Add the noise. Called by `Accountant.release` alone, after the loss was recorded."""
        return self.value + two_sided_geometric(
            Fraction(self.epsilon) / self.sensitivity, randomness
        )

    def exact_value(self) -> ExactValue:
        return ExactValue.of([self.value], norm="L1")


def laplace(value: int, *, sensitivity: int, epsilon: float) -> DiscreteLaplace:
    """Prepare a count for release with discrete Laplace noise of scale sensitivity / epsilon."""
    if sensitivity < 1:
        raise ValueError(f"expected a sensitivity of at least 1, found {sensitivity}")
    if not 0 < epsilon < math.inf:
        raise ValueError(f"expected a finite epsilon above 0, found {epsilon}")
    return DiscreteLaplace(int(value), sensitivity, epsilon)


def two_sided_geometric(rate: Fraction, randomness: RandomStream) -> int:
    """Draw X with P[X = x] proportional to exp(-rate * |x|)."""
    numerator, denominator = rate.numerator, rate.denominator
    while True:
        # |X| * numerator + u, with u uniform, is geometric with rate 1 / denominator: algorithm 2.
        residue = randomness.below(denominator)
        if not bernoulli_exp(Fraction(residue, denominator), randomness):
            continue
        wholes = 0
        while bernoulli_exp(Fraction(1), randomness):
            wholes += 1
        size = (residue + denominator * wholes) // numerator
        negative = randomness.below(2)
        if not (negative and size == 0):  # Otherwise zero would be twice as likely.
            return -size if negative else size


def bernoulli_exp(rate: Fraction, randomness: RandomStream) -> bool:
    """Return True with probability exp(-rate).

    This is algorithm 1: coin flips sum up an alternating series for rates up to 1.
    """
    while rate > 1:
        if not bernoulli_exp(Fraction(1), randomness):
            return False
        rate -= 1
    k = 1
    while randomness.below(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1
