"""GRR, generalised randomized response: a user reports her value, or any of the K values.

With probability lambda a user reports her value, else one of all K values with equal probability.
So p = lambda + (1 - lambda) / K and q = (1 - lambda) / K, and p / q = e^epsilon for
lambda = (e - 1) / (e + K - 1), where e stands for e^epsilon. It is best for small K.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .packing import read_integers, write_integers
from .randomizer import (
    COIN_BITS,
    MAX_CELLS,
    Codes,
    Counts,
    Randomizer,
    Reports,
    below_exp,
    coins,
    threshold,
)

__all__ = ["DirectEncoding", "GroupedDirectEncoding", "part_sizes"]

UNIFORM_BITS: Final = 32


class DirectEncoding(Randomizer):
    """Generalised randomized response."""

    name = "grr"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        if cells > MAX_CELLS:
            raise ValueError(
                f"expected at most {MAX_CELLS:,} cells for {self.name}, found {cells:,}"
            )
        # "Any of the K" is a 32-bit number times K over 2^32, so some values are slightly likelier
        # than others. The least likely value determines lambda.
        least = Fraction((1 << UNIFORM_BITS) // cells, 1 << UNIFORM_BITS)
        excess = (below_exp(epsilon) - 1) * least
        self._keep = threshold(excess / (1 + excess))
        self._check()

    @property
    def kept(self) -> Fraction:
        """Lambda, the probability that the coin keeps the user's value."""
        return Fraction(self._keep, 1 << COIN_BITS)

    @property
    def p(self) -> Fraction:
        return self.kept + self.q

    @property
    def q(self) -> Fraction:
        # This is the average over all values, which differ by less than 2^-32.
        return (1 - self.kept) / self.cells

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    def draw(self, values: Codes, words: UserWordStream) -> Codes:
        """Draw the values that users report."""
        word = words.take()[0, :, 0]
        lower = word & np.uint64((1 << UNIFORM_BITS) - 1)
        uniform = (lower * np.uint64(self.cells)) >> np.uint64(UNIFORM_BITS)
        return np.where(coins(word, below=self._keep), values, uniform.astype(np.int64))

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        return write_integers(self.draw(values, words).astype(np.uint64)[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        return self.supports(reports, np.array([len(reports)]))[0]

    def supports(self, reports: Reports, users: Counts) -> list[Counts]:
        reported = read_integers(reports, bits=self.bits)[:, 0]
        if reported.size and int(reported.max()) >= self.cells:
            raise ValueError(f"expected values below {self.cells}, found {int(reported.max())}")
        group_cells = np.repeat(np.arange(len(users)) * self.cells, users) + reported
        return [
            *np.bincount(group_cells, minlength=len(users) * self.cells)
            .astype(np.int64)
            .reshape(-1, self.cells)
        ]

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(counts, float(self.kept))
        uniform = part_sizes(self.cells, of=1 << UNIFORM_BITS) / 2.0**UNIFORM_BITS
        return np.asarray(
            kept + generator.multinomial(int(counts.sum() - kept.sum()), uniform), np.int64
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        probabilities = [
            (1 - self.kept) * Fraction(int(size), 1 << UNIFORM_BITS)
            for size in part_sizes(self.cells, of=1 << UNIFORM_BITS)
        ]
        probabilities[value] += self.kept
        return {
            write_integers(np.array([[v]], np.uint64), bits=self.bits).tobytes(): probability
            for v, probability in enumerate(probabilities)
        }


class GroupedDirectEncoding(DirectEncoding):
    """Generalised randomized response for hundreds of thousands of groups, all drawn at once.

    Reports are the same. Sums have the same law, and other numbers for a seed.
    """

    def simulate_groups(self, counts: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(counts, float(self.kept))
        uniform = part_sizes(self.cells, of=1 << UNIFORM_BITS) / 2.0**UNIFORM_BITS
        others = generator.multinomial((counts - kept).sum(axis=1), uniform)
        return np.asarray(kept + others, np.int64)

    def estimate_groups(self, support: Counts, *, users: Counts) -> npt.NDArray[np.float64]:
        """Estimate the values' frequencies in several groups, each with a row of the support."""
        p, q = float(self.p), float(self.q)
        return np.asarray((support / users[:, np.newaxis] - q) / (p - q))


def part_sizes(parts: int, *, of: int) -> npt.NDArray[np.int64]:
    """Count the numbers x below `of` with floor(x parts / of) = y, for each y below `parts`.

    >>> part_sizes(3, of=8).tolist()
    [3, 3, 2]
    """
    return np.diff(-((-np.arange(parts + 1) * of) // parts))
