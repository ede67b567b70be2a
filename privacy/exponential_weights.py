"""Weights of the exponential mechanism: exp(-rate n) for whole n, of all candidates at once.

A weight is the product of one table entry for each digit of n, since an exponential takes
microseconds and there may be a hundred thousand candidates. Weights are whole numbers of 2^-144,
in six limbs of 24 bits, so that products of limbs and their sums fit into 64 bits.

*The error.* An entry is rounded down by less than one unit of 2^-144. The columns of a product
that are left out sum to less than 6 units, and rounding down costs less than one. No entry is above
1. So a product of at most six entries lacks less than 6 + 5 * 7 = 41 units, which is below 2^-138.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["DIGIT_BITS", "WeightSums", "digits_of_steps", "sum_weights"]

Limbs: TypeAlias = npt.NDArray[np.int64]
"""Whole numbers in limbs of 24 bits, the lowest first: a row for each limb. The last one may be
2^24, as that of a weight of 1 is.
"""

LIMB_BITS: Final = 24
LIMB_MASK: Final = (1 << LIMB_BITS) - 1
LIMBS: Final = 6
DIGIT_BITS: Final = 9
DIGIT_MASK: Final = (1 << DIGIT_BITS) - 1
BLOCK: Final = 1 << 12
"""Candidates whose limbs stay in the L2 cache."""


@dataclass(frozen=True, slots=True)
class WeightSums:
    """Sums of the weights of the first candidates, in units of 2^-120.

    Each weight is rounded down to a unit, and one unit is added. So no candidate is ruled out.
    """

    sums: Limbs
    """Sums of each limb of the weights, which may be larger than a limb."""

    @property
    def total(self) -> int:
        """Sum of all weights."""
        return self.up_to(self.sums.shape[1] - 1)

    def up_to(self, candidate: int) -> int:
        """Sum of the weights of all candidates up to this one, which is included."""
        limbs = self.sums[:, candidate].tolist()
        units = sum(limb << (LIMB_BITS * place) for place, limb in enumerate(limbs))
        return candidate + 1 + int(units)

    def first_above(self, number: int) -> int:
        """Find the first candidate up to which the sum is above a number."""
        return bisect_right(range(self.sums.shape[1]), number, key=self.up_to)


def digits_of_steps(steps: Limbs) -> int:
    """Give the number of digits that tables need, of the largest of these numbers."""
    return max(1, -(-int(steps.max()).bit_length() // DIGIT_BITS))


def sum_weights(steps: Limbs, *, rate: Fraction) -> WeightSums:
    """Sum up exp(-rate n) for each n of `steps`."""
    tables = _tables(rate, digits_of_steps(steps))
    # The lowest limb is below a unit of 2^-120.
    weights = np.empty((LIMBS - 1, len(steps)), np.int64)
    for start in range(0, len(steps), BLOCK):
        block = steps[start : start + BLOCK]
        product = tables[0].take(block & DIGIT_MASK, axis=1)
        for digit, table in enumerate(tables[1:], start=1):
            entries = table.take((block >> (digit * DIGIT_BITS)) & DIGIT_MASK, axis=1)
            product = _product(product, entries)
        weights[:, start : start + BLOCK] = product[1:]
    return WeightSums(np.cumsum(weights, axis=1, out=weights))


def _product(first: Limbs, second: Limbs) -> Limbs:
    """Multiply numbers of at most 1, in units of 2^-144, and round down.

    Columns below the fifth are left out.
    """
    product = np.empty_like(first)
    carry = np.zeros(first.shape[1], np.int64)
    for column in range(LIMBS - 1, 2 * LIMBS - 1):
        total = carry
        for limb in range(column - LIMBS + 1, LIMBS):
            total = total + first[limb] * second[column - limb]
        if column >= LIMBS:
            np.bitwise_and(total, LIMB_MASK, out=product[column - LIMBS])
        carry = total >> LIMB_BITS
    product[LIMBS - 1] = carry
    return product


@lru_cache(maxsize=8)
def _tables(rate: Fraction, digits: int) -> list[Limbs]:
    """Tabulate exp(-rate n) for each value of each digit of n."""
    import gmpy2

    bits = LIMB_BITS * LIMBS
    with gmpy2.context(gmpy2.get_context(), precision=bits + 64):
        per_step = gmpy2.mpfr(rate.numerator) / rate.denominator
        unit = gmpy2.mpfr(1 << bits)
        return [
            _limbs(
                [
                    int(gmpy2.exp(-per_step * (value << (digit * DIGIT_BITS))) * unit)
                    for value in range(1 << DIGIT_BITS)
                ]
            )
            for digit in range(digits)
        ]


def _limbs(numbers: list[int]) -> Limbs:
    """Split numbers of at most 2^144 into limbs."""
    shifts = [LIMB_BITS * place for place in range(LIMBS)]
    lower = [[(number >> shift) & LIMB_MASK for number in numbers] for shift in shifts[:-1]]
    return np.array([*lower, [number >> shifts[-1] for number in numbers]], np.int64)
