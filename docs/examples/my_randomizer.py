"""Randomized response in its oldest form, as an example of a local randomizer.

A user reports her own value, or one of the others.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from sottovoce.crypto.user_words import UserWordStream
from sottovoce.privacy.local.packing import read_integers, write_integers
from sottovoce.privacy.local.randomizer import (
    Codes,
    Counts,
    Randomizer,
    Reports,
    below_exp,
    coins,
    threshold,
)

ONE = 1 << 32


class Otherwise(Randomizer):
    """The user's own value with probability p, each other one with (1 - p) / (K - 1)."""

    name = "otherwise"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        # Another value is drawn as a 32-bit number times K - 1 over 2^32, so the shares of the
        # other values differ slightly. This is the smallest of them.
        least = Fraction(ONE // (cells - 1), ONE)
        odds = below_exp(epsilon) * least
        self._threshold = threshold(odds / (1 + odds))  # out of 2^32, rounded down: the safe side

    @property
    def p(self) -> Fraction:
        return Fraction(self._threshold, ONE)

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.cells - 1)

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        # One word for each user: its upper half is the coin, its lower half the other value.
        word = words.take()[0, :, 0]
        lower = word & np.uint64(ONE - 1)
        step = 1 + (lower * np.uint64(self.cells - 1) >> np.uint64(32)).astype(np.int64)
        others = (values + step) % self.cells
        reported = np.where(coins(word, below=self._threshold), values, others)
        return write_integers(reported.astype(np.uint64)[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        reported = read_integers(reports, bits=self.bits)[:, 0]
        if len(reported) and int(reported.max()) >= self.cells:
            raise ValueError(f"expected values below {self.cells}, found {reported.max()}")
        return np.bincount(reported, minlength=self.cells).astype(np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        truthful = generator.binomial(counts, float(self.p)).astype(np.int64)
        support = truthful.copy()
        shares = np.full(self.cells - 1, 1 / (self.cells - 1))
        for value, changed in enumerate(counts - truthful):
            support += np.insert(generator.multinomial(changed, shares), value, 0)
        return support

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        # Of 2^32 numbers, those from starts[i] up to starts[i + 1] lead to the i-th other value.
        starts = [-(-step * ONE // (self.cells - 1)) for step in range(self.cells)]
        shares = [Fraction(starts[step + 1] - starts[step], ONE) for step in range(self.cells - 1)]
        probabilities = [self.p, *((1 - self.p) * share for share in shares)]
        return {
            write_integers(
                np.array([[(value + step) % self.cells]], np.uint64), bits=self.bits
            ).tobytes(): probability
            for step, probability in enumerate(probabilities)
        }
