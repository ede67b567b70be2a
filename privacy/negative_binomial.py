"""The negative binomial law NB(r, alpha) for 0 < r <= 1: many draws with an error below 2**-100.

    P[j] = rho(j) * (1 - alpha)^r * alpha^j
    rho(j) = Gamma(j + r) / (Gamma(r) * j!),   alpha = exp(-rate)

Draws are made by rejection from an envelope whose pieces are exact. rho falls with j. So on a block
[2^i, 2^(i+1)) it is at most rho(2^i) and at least 2^(r-1) of that. A candidate's block is drawn by
the envelope's mass. Its place within the block is a truncated geometric variable, whose binary
digits are *independent*: digit t is 1 with odds alpha^(2^t). It is accepted with probability
rho(j) / rho(2^i), which is more than one half. No table grows with the scale, and everything is a
comparison of arrays.

*Error.* Every probability is a 128-bit integer, rounded from 256-bit arithmetic (GMP's MPFR), so it
is off by at most 2^-127. A draw compares with at most 2 * 60 of them. Blocks that have less than
2^-128 of the mass together are left out. So the law of a draw differs from the exact one by less
than 2^-118 in total variation. Comparisons start with 64 bits and continue only on a tie.
Acceptance uses floating point as a filter alone. Kershaw's bounds (1983)

    (j + r/2)^(1-r) < Gamma(j + 1) / Gamma(j + r) < (j - 1/2 + sqrt(r + 1/4))^(1-r)

decide all but about one candidate in 10^4, with a margin of hundreds of times the rounding error.
The remaining candidates take 256 bits. The amount of randomness that is used depends on integers
alone, so a seeded run is the same on every machine.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import gmpy2
import numpy as np
import numpy.typing as npt
from gmpy2 import mpfr

from ..crypto import RandomStream
from ..messages import WorkKind, count_work
from .arguments import SmallBudgetError
from .made_once import made_once

__all__ = ["NegativeBinomial", "kershaw_bounds", "negative_binomial", "uniform_words"]

Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

PRECISION: Final = 256
BITS: Final = 128
EXACT_BELOW: Final = 1024
"""Values below this have their acceptance probabilities in a table.

Above it Kershaw's bounds are tight.
"""
MARGIN: Final = 1e-12
"""Relative margin; a power and two products in double precision are off by less than 1e-14."""
MAX_BLOCKS: Final = 60
"""Number of blocks; values stay below 2**60, so that sums of a few fit into 64 bits."""


@made_once
def negative_binomial(*, shape: Fraction, rate: Fraction) -> NegativeBinomial:
    """Give the law NB(shape, exp(-rate)); its tables are made once in a process."""
    return NegativeBinomial(shape=shape, rate=rate)


class NegativeBinomial:
    """The law NB(shape, exp(-rate)). The parameters are exact fractions."""

    def __init__(self, *, shape: Fraction, rate: Fraction) -> None:
        if not 0 < shape <= 1:
            raise ValueError(f"expected a shape above 0 and at most 1, found {shape}")
        if rate <= 0:
            raise ValueError(f"expected a rate above 0, found {rate}")
        self.shape = shape
        self.rate = rate
        with gmpy2.context(precision=PRECISION):
            self._make_tables()

    def draw(self, count: int, *, randomness: RandomStream) -> Counts:
        """Draw `count` values."""
        parts: list[Counts] = []
        missing = count
        count_work(WorkKind.LAW, len(self._accept[0]), once=(self.shape, self.rate))
        count_work(WorkKind.NOISE, count)
        while missing > 0:
            accepted = self._candidates(missing + missing // 3 + 16, randomness)
            parts.append(accepted[:missing])
            missing -= len(parts[-1])
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    # ---- the tables

    def _make_tables(self) -> None:
        """Compute with 256 bits; only integers and the filter's floats are kept."""
        shape = mpfr(self.shape.numerator) / self.shape.denominator
        rate = mpfr(self.rate.numerator) / self.rate.denominator
        unit = mpfr(1)
        gap = -gmpy2.expm1(-rate)  # This is 1 - alpha, without cancellation.
        # Block 0 is {0}, block i is [2^(i-1), 2^i).
        masses, heights = [unit], [unit]
        for block in range(1, MAX_BLOCKS + 2):
            start = 1 << (block - 1)
            left = gmpy2.exp(-rate * start)
            if left / gap < unit / (1 << BITS):
                break
            heights.append(self._rho(start, shape))
            masses.append(heights[-1] * left * -gmpy2.expm1(-rate * start) / gap)
        else:
            raise SmallBudgetError(
                f"expected noise below 2**{MAX_BLOCKS}, found a rate of {float(self.rate):g}: "
                "choose a larger epsilon"
            )
        total = sum(masses, start=mpfr(0))
        below, borders = mpfr(0), []
        for mass in masses[:-1]:
            below += mass
            borders.append(_threshold(below / total))
        self._borders = _words(borders)
        odds = [gmpy2.exp(-rate * (1 << digit)) for digit in range(max(0, len(masses) - 2))]
        self._digits = [_threshold(odd / (1 + odd)) for odd in odds]
        # Small values have their acceptance probabilities in a table. For large ones there is the
        # factor that makes Kershaw's bounds a ratio to the block's height.
        accept = []
        rho = unit
        for j in range(min(EXACT_BELOW, 1 << (len(masses) - 1))):
            if j:
                rho = rho * (j - 1 + shape) / j
            accept.append(_threshold(rho / heights[j.bit_length()]))
        self._accept = _words(accept)
        gamma = gmpy2.gamma(shape)
        self._factors = np.array([float(1 / (gamma * height)) for height in heights])
        self._heights = heights

    def _rho(self, j: int, shape: mpfr) -> mpfr:
        if self.shape == 1:
            return mpfr(1)
        return gmpy2.exp(
            gmpy2.lngamma(j + shape) - gmpy2.lngamma(mpfr(j + 1)) - gmpy2.lngamma(shape)
        )

    # ---- drawing

    def _candidates(self, count: int, randomness: RandomStream) -> Counts:
        """Draw `count` candidates, and keep those that are accepted."""
        block = self._block(count, randomness)
        values = np.where(block > 0, np.int64(1) << np.maximum(block - 1, 0), 0)
        for digit, (high, low) in enumerate(self._digits):
            inside = np.flatnonzero(block > digit + 1)
            if not len(inside):
                break
            values[inside[_bernoulli(high, low, len(inside), randomness)]] += 1 << digit
        if self.shape == 1:
            return values
        return values[self._accepted(values, block, randomness)]

    def _block(self, count: int, randomness: RandomStream) -> Counts:
        high, low = self._borders
        words = uniform_words(count, randomness)
        block = np.searchsorted(high, words, side="right").astype(np.int64)
        for tie in np.flatnonzero(np.isin(words, high)):
            exact = (int(words[tie]) << 64) + randomness.below(1 << 64)
            block[tie] = sum(
                exact >= (int(h) << 64) + int(w) for h, w in zip(high, low, strict=True)
            )
        return block

    def _accepted(
        self, values: Counts, block: Counts, randomness: RandomStream
    ) -> npt.NDArray[np.bool_]:
        accepted: npt.NDArray[np.bool_]
        first, second = (
            uniform_words(len(values), randomness),
            uniform_words(len(values), randomness),
        )
        small = values < EXACT_BELOW
        high, low = (words[np.where(small, values, 0)] for words in self._accept)
        accepted = (first < high) | ((first == high) & (second < low))
        # The start of a block has probability 1, which 128 bits cannot express.
        accepted |= values == np.where(block > 0, np.int64(1) << np.maximum(block - 1, 0), 0)
        large = np.flatnonzero(~small)
        shape = float(self.shape)
        j, u = values[large].astype(np.float64), first[large].astype(np.float64) / 2.0**64
        lower, upper = (self._factors[block[large]] * bound for bound in kershaw_bounds(j, shape))
        accepted[large] = u < lower - 2.0**-50
        for close in large[(u >= lower - 2.0**-50) & (u <= upper + 2.0**-50)]:
            accepted[close] = self._accepted_exactly(
                int(values[close]),
                int(block[close]),
                (int(first[close]) << 64) + int(second[close]),
            )
        return accepted

    def _accepted_exactly(self, value: int, block: int, word: int) -> bool:
        with gmpy2.context(precision=PRECISION):
            shape = mpfr(self.shape.numerator) / self.shape.denominator
            return bool(mpfr(word) < self._rho(value, shape) / self._heights[block] * (1 << BITS))


def kershaw_bounds(j: Reals, shape: float) -> tuple[Reals, Reals]:
    """Bound Gamma(j + shape) / Gamma(j + 1) for a shape below 1 (Kershaw 1983), and rounding."""
    lower = (j - 0.5 + (shape + 0.25) ** 0.5) ** (shape - 1) * (1 - MARGIN)
    return lower, (j + shape / 2) ** (shape - 1) * (1 + MARGIN)


def uniform_words(count: int, randomness: RandomStream) -> Words:
    """Draw words of 64 uniform bits."""
    return np.frombuffer(randomness.draw(8 * count), "<u8").astype(np.uint64)


def _bernoulli(high: int, low: int, count: int, randomness: RandomStream) -> npt.NDArray[np.bool_]:
    words = uniform_words(count, randomness)
    heads = words < np.uint64(high)
    for tie in np.flatnonzero(words == np.uint64(high)):
        heads[tie] = randomness.below(1 << 64) < low
    return heads


def _threshold(probability: mpfr) -> tuple[int, int]:
    """Round a probability down to 128 bits, in two words.

    A probability of (nearly) 1 becomes the largest number of 128 bits.
    """
    scaled = min(int(gmpy2.floor(probability * (1 << BITS))), (1 << BITS) - 1)
    return scaled >> 64, scaled & ((1 << 64) - 1)


def _words(thresholds: list[tuple[int, int]]) -> tuple[Words, Words]:
    return (
        np.array([high for high, _ in thresholds], np.uint64),
        np.array([low for _, low in thresholds], np.uint64),
    )
