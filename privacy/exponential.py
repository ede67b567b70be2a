"""The exponential mechanism (McSherry and Talwar 2007): a candidate is chosen in proportion to exp(epsilon s / 2S).

Scores are made whole numbers of a grid first, with the sensitivity rounded up to it, so that the exponents are exact fractions
and what floating point does to a score near the edge of two cells is paid for. The weights are taken to 2^-120 of the largest,
rounded up, in 192-bit arithmetic, and one uniform integer of so many bits decides: the law differs from the exact one by less
than candidates * 2^-118 in total variation, and no candidate that the exact law allows is ever ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final

import gmpy2
import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream

__all__ = ["ExponentialChoice", "choose"]

GRID: Final = 1 << 20
"""Steps of the grid to one sensitivity: rounding costs two millionths of epsilon."""
STEPS: Final = GRID + 2
"""Of the grid, that a score may change: two neighbouring ones are each rounded by half a step, and by what floats add."""
WEIGHT_BITS: Final = 120


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """A choice that waits to be released."""

    steps: npt.NDArray[np.int64] = field(repr=False)
    """The scores, in steps of the grid."""
    step: float
    epsilon: float

    name = "exponential"
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
        borders: list[int] = []
        total = 0
        with gmpy2.context(gmpy2.get_context(), precision=192):
            per_step = gmpy2.mpfr(rate.numerator) / rate.denominator
            one = gmpy2.mpfr(1 << WEIGHT_BITS)
            for behind in (self.steps.max() - self.steps).tolist():
                total += int(gmpy2.ceil(gmpy2.exp(-per_step * behind) * one))
                borders.append(total)
        drawn = randomness.below(total)
        low, high = 0, len(borders) - 1
        while low < high:  # the first candidate whose border is above
            middle = (low + high) // 2
            low, high = (low, middle) if borders[middle] > drawn else (middle + 1, high)
        return low


def choose(scores: npt.ArrayLike, *, sensitivity: float, epsilon: float) -> ExponentialChoice:
    """Prepare the choice of a candidate by its score; one record changes any score by at most `sensitivity`."""
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or not np.isfinite(values).all():
        raise ValueError(f"expected at least one score, all finite, found {values.size}")
    if not sensitivity > 0 or not 0 < epsilon < math.inf:
        raise ValueError(f"expected sensitivity and finite epsilon above 0, found {sensitivity:g} and {epsilon:g}")
    step = sensitivity / GRID
    return ExponentialChoice(np.rint(values / step).astype(np.int64), step, epsilon)
