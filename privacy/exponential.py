"""The exponential mechanism (McSherry and Talwar 2007): a candidate is chosen in proportion to
exp(epsilon s / 2S).

Scores are made whole numbers of a grid first, with the sensitivity rounded up to it, so that the
exponents are exact fractions and what floating point does to a score near the edge of two cells is
paid for. The weights are taken to 2^-120 of the largest, rounded up, and one uniform integer of so
many bits decides: the law differs from the exact one by less than candidates * 2^-117 in total
variation, and no candidate is ever ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final

import gmpy2
import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream

__all__ = ["ExponentialChoice", "choose", "on_grid"]

GRID: Final = 1 << 20
"""Steps of the grid to one sensitivity: rounding costs two millionths of epsilon."""
STEPS: Final = GRID + 2
"""Of the grid, that a score may change: two neighbouring ones are each rounded by half a step, and
by what floats add.
"""
WEIGHT_BITS: Final = 120
FINE_BITS: Final = 192
FARTHEST: Final = 2.0**50
"""Steps behind the best: weights are long at their least, and steps still fit into 64 bits."""
DIGIT: Final = 9
MASK: Final = (1 << DIGIT) - 1


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """A choice that waits to be released."""

    steps: npt.NDArray[np.int64] = field(repr=False)
    """The scores, in steps of the grid."""
    step: float
    epsilon: float

    name = "exponential"
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = MappingProxyType({})

    @property
    def sensitivity(self) -> float:
        """How much one record changes a score at most, the roundings of both scores included."""
        return STEPS * self.step

    @property
    def scale(self) -> float:
        """The score that is worth a factor of e."""
        return 2 * self.sensitivity / self.epsilon

    def draw(self, randomness: RandomStream) -> int:
        """Choose a candidate. Called by `Accountant.release` alone."""
        rate = Fraction(self.epsilon) / (2 * STEPS)
        behind = self.steps.max() - self.steps
        digits = _digits(rate, max(1, -(-int(behind.max()).bit_length() // DIGIT)))
        borders: list[int] = []
        total = 0
        for own in behind.tolist():
            weight = digits[0][own & MASK]
            for at, table in enumerate(digits[1:], start=1):
                weight = (weight * table[(own >> (at * DIGIT)) & MASK]) >> FINE_BITS
            total += (weight >> (FINE_BITS - WEIGHT_BITS)) + 1
            borders.append(total)
        drawn = randomness.below(total)
        low, high = 0, len(borders) - 1
        while low < high:  # the first candidate whose border is above
            middle = (low + high) // 2
            low, high = (low, middle) if borders[middle] > drawn else (middle + 1, high)
        return low


@lru_cache(maxsize=8)
def _digits(rate: Fraction, digits: int) -> list[list[int]]:
    """Tabulate exp(-rate n) for every digit of n, in 2^-192: a weight is the product of as many of
    these as n has digits.

    An exponential takes microseconds, a product a tenth of one, and there may be a hundred thousand
    candidates.
    """
    with gmpy2.context(gmpy2.get_context(), precision=FINE_BITS + 64):
        per_step, one = gmpy2.mpfr(rate.numerator) / rate.denominator, gmpy2.mpfr(1 << FINE_BITS)
        return [
            [
                int(gmpy2.exp(-per_step * (digit << (at * DIGIT))) * one)
                for digit in range(1 << DIGIT)
            ]
            for at in range(digits)
        ]


def choose(scores: npt.ArrayLike, *, sensitivity: float, epsilon: float) -> ExponentialChoice:
    """Prepare the choice of a candidate by its score; one record changes any score by at most
    `sensitivity`.
    """
    values = np.asarray(scores, dtype=np.float64)
    most = values.max() if values.size and np.isfinite(values).all() else 0.0
    steps, step = on_grid(values - most, sensitivity=sensitivity, epsilon=epsilon)
    return ExponentialChoice(np.maximum(steps, -int(FARTHEST)), step, epsilon)


def on_grid(
    scores: npt.ArrayLike, *, sensitivity: float, epsilon: float
) -> tuple[npt.NDArray[np.int64], float]:
    """Make scores whole numbers of a grid with so many steps to one sensitivity; and a step."""
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or not np.isfinite(values).all():
        raise ValueError(f"expected at least one score, all finite, found {values.size}")
    if not sensitivity > 0 or not 0 < epsilon < math.inf:
        raise ValueError(
            f"expected sensitivity and finite epsilon above 0, found {sensitivity:g} and {epsilon:g}"
        )
    step = sensitivity / GRID
    most = step * 2.0**60  # steps still fit into 64 bits
    return np.rint(np.clip(values, -most, most) / step).astype(np.int64), step
