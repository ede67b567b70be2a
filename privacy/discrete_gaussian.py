"""The discrete Gaussian law N_Z(0, variance): many draws with an error below 2**-100.

    P[x] is proportional to exp(-x^2 / 2 variance) for every integer x

Draws are made by rejection. The integers are cut into blocks of 2^bits values, where 2^bits is
between 1/128 and 1/64 of the standard deviation. A candidate's block is drawn by the alias method
(Walker 1977) with integers: block i has the weight exp(-s^2 / 2 variance), where s is the smallest
absolute value in it. Its place j within the block is uniform. It is accepted with probability
exp(-j (2 s + j) / 2 variance), for about 99 of 100 candidates. Below a standard deviation of 128 a
block is one value, so every candidate is accepted. Everything is a comparison of arrays.

*Error.* Blocks beyond 13.5 standard deviations are left out. By the sub-Gaussian tail they have
less than 2^-127 of the mass. Weights are rounded from 256-bit arithmetic (GMP's MPFR) to multiples
of 2^-128 that add up to 1. There are at most 4096, so together they are off by less than 2^-115.
An acceptance probability is off by 2^-128 at most. So the law of a draw differs from the exact one
by less than 2^-113 in total variation.

*Filter.* Comparisons start with the bits of one word and continue only on a tie. Floating point
decides only where it is sure: it accepts or rejects with a margin hundreds of times its rounding
error. The remaining candidates, fewer than one in a million, take 256 bits. The amount of
randomness that is used depends on integers alone, so a seeded run is the same on every machine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import gmpy2
import numpy as np
import numpy.typing as npt
from gmpy2 import mpfr

from ..crypto import RandomStream
from ..messages import WorkKind, count_work
from .made_once import made_once
from .negative_binomial import uniform_words

__all__ = ["DiscreteGaussian", "discrete_gaussian"]

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

PRECISION: Final = 256
BITS: Final = 128
WORD_BITS: Final = 64
REACH: Final = 13.5
"""Standard deviations beyond which values are never drawn: 2 exp(-13.5^2 / 2) is 2^-130."""
BLOCKS_IN_DEVIATION: Final = 64
"""Smallest number of blocks in a standard deviation, if a block has several values."""
MAX_VARIANCE: Final = 1 << 92
"""Largest variance; values stay below 2**50, which double precision still expresses exactly."""
MARGIN: Final = 2.0**-42
"""Margin of the filter; an exponential and three products are off by less than 2^-50."""
CHUNK: Final = 1 << 14
"""Number of candidates that are drawn together, so that their arrays stay in the cache."""


@made_once
def discrete_gaussian(*, variance: Fraction) -> DiscreteGaussian:
    """Give the law N_Z(0, variance); its tables are made once in a process."""
    return DiscreteGaussian(variance=variance)


class DiscreteGaussian:
    """The law N_Z(0, variance). The variance is an exact fraction."""

    def __init__(self, *, variance: Fraction) -> None:
        if not 0 < variance <= MAX_VARIANCE:
            raise ValueError(
                f"expected a variance above 0 and at most 2**{MAX_VARIANCE.bit_length() - 1}, "
                f"found {float(variance):g}"
            )
        self.variance = variance
        with gmpy2.context(precision=PRECISION):
            self._make_tables()

    def draw(self, count: int, *, randomness: RandomStream) -> Counts:
        """Draw `count` values."""
        values = np.empty(count, np.int64)
        done = 0
        count_work(WorkKind.LAW, len(self._starts), once=self.variance)
        count_work(WorkKind.NOISE, count)
        while done < count:
            missing = count - done
            # About one candidate in a hundred is rejected.
            spare = missing // 64 + 1 if self._bits else 0
            accepted = self._candidates(min(missing + spare, CHUNK), randomness)[:missing]
            values[done : done + len(accepted)] = accepted
            done += len(accepted)
        return values

    # ---- the tables

    def _make_tables(self) -> None:
        """Compute with 256 bits; only integers and the filter's floats are kept."""
        deviation = math.sqrt(self.variance)
        self._bits = max(0, int(deviation / BLOCKS_IN_DEVIATION).bit_length() - 1)
        width = 1 << self._bits
        # Block 0 starts at 0 and goes up; block -1 starts at -1 and goes down.
        side = int(REACH * deviation) // width + 1
        starts = [i * width for i in range(side)] + [-1 - i * width for i in range(side)]
        twice = 2 * mpfr(self.variance.numerator) / self.variance.denominator
        masses = [gmpy2.exp(-mpfr(start * start) / twice) for start in starts]
        total = sum(masses, start=mpfr(0))
        weights = [int(gmpy2.floor(mass / total * (1 << BITS))) for mass in masses]
        weights[0] += (1 << BITS) - sum(weights)
        self._index_bits = max(1, (len(starts) - 1).bit_length())
        thresholds, aliases = _alias_tables(weights, index_bits=self._index_bits)
        self._high = np.array([t >> WORD_BITS for t in thresholds], np.uint64)
        self._low = [t & ((1 << WORD_BITS) - 1) for t in thresholds]
        padded = starts + [0] * ((1 << self._index_bits) - len(starts))
        self._starts = np.array(padded, np.int64)
        self._other_starts = self._starts[aliases]
        self._factor = float(1 / (2 * self.variance)) if self._bits else 0.0

    # ---- drawing

    def _candidates(self, count: int, randomness: RandomStream) -> Counts:
        """Draw `count` candidates, and keep those that are accepted."""
        start = self._start(count, randomness)
        if not self._bits:
            return start
        words = uniform_words(count, randomness)
        place = (words >> np.uint64(WORD_BITS - self._bits)).astype(np.int64)
        accepted = self._accepted(
            np.abs(start), place, words & np.uint64((1 << (WORD_BITS - self._bits)) - 1), randomness
        )
        return np.where(start < 0, start - place, start + place)[accepted]

    def _start(self, count: int, randomness: RandomStream) -> Counts:
        """Draw the start of a block for each candidate, by the masses of the blocks."""
        words = uniform_words(count, randomness)
        rest_bits = WORD_BITS - self._index_bits
        index = (words >> np.uint64(rest_bits)).astype(np.intp)
        rest = words & np.uint64((1 << rest_bits) - 1)
        high = self._high[index]
        start = np.where(rest < high, self._starts[index], self._other_starts[index])
        for tie in np.flatnonzero(rest == high):
            if randomness.below(1 << WORD_BITS) < self._low[index[tie]]:
                start[tie] = self._starts[index[tie]]
        return start

    def _accepted(
        self, size: Counts, place: Counts, rest: Words, randomness: RandomStream
    ) -> npt.NDArray[np.bool_]:
        """Accept candidates. `rest` begins a uniform number below 1, with the bits of a word."""
        unit = 2.0 ** (self._bits - WORD_BITS)
        exponent = place * (2 * size + place).astype(np.float64) * self._factor
        uniform = rest.astype(np.float64) * unit
        # exp(-x) is at least 1 - x, which decides nearly always.
        accepted: npt.NDArray[np.bool_] = uniform < 1 - exponent - unit - MARGIN
        near = np.flatnonzero(~accepted)
        likelihood = np.exp(-exponent[near])
        accepted[near] = uniform[near] < likelihood - unit - MARGIN
        close = near[np.abs(uniform[near] - likelihood) <= unit + MARGIN]
        for candidate in close:
            accepted[candidate] = self._accepted_exactly(
                int(size[candidate]), int(place[candidate]), int(rest[candidate]), randomness
            )
        return accepted

    def _accepted_exactly(self, size: int, place: int, rest: int, randomness: RandomStream) -> bool:
        with gmpy2.context(precision=PRECISION):
            exponent = Fraction(place * (2 * size + place)) / (2 * self.variance)
            likelihood = gmpy2.exp(-mpfr(exponent.numerator) / exponent.denominator)
            threshold = int(gmpy2.floor(likelihood * (1 << BITS)))
        more_bits = BITS - WORD_BITS + self._bits
        if rest != threshold >> more_bits:
            return rest < threshold >> more_bits
        return (rest << more_bits) + randomness.below(1 << more_bits) < threshold


def _alias_tables(weights: list[int], *, index_bits: int) -> tuple[list[int], list[int]]:
    """Split weights that add up to 2^128 into equal bins of two values each (Vose 1991).

    A number below a bin's threshold gives the bin's own index, any other gives its alias.
    """
    size = 1 << (BITS - index_bits)
    thresholds = weights + [0] * ((1 << index_bits) - len(weights))
    aliases = list(range(len(thresholds)))
    small = [i for i, weight in enumerate(thresholds) if weight < size]
    large = [i for i, weight in enumerate(thresholds) if weight >= size]
    while small:
        bin_, donor = small.pop(), large[-1]
        aliases[bin_] = donor
        thresholds[donor] -= size - thresholds[bin_]
        if thresholds[donor] < size:
            small.append(large.pop())
    return thresholds, aliases
