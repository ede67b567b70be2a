"""Randomized response in its oldest form: the value, or one of the others. A randomizer of one's
own on a page.
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
    """The own value with probability p, each other one with (1 - p) / (K - 1)."""

    name = "otherwise"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        # "One of the others" is a 32-bit number times K - 1 over 2^32: the least likely of them has
        # this share.
        least = Fraction(ONE // (cells - 1), ONE)
        most = below_exp(epsilon) * least
        self._true = threshold(most / (1 + most))  # of 2^32, rounded down: the safe side

    @property
    def p(self) -> Fraction:
        return Fraction(self._true, ONE)

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.cells - 1)

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        drawn = words.take()[
            0, :, 0
        ]  # a word for each user: its upper half is the coin, its lower half the other value
        step = 1 + (
            (drawn & np.uint64(ONE - 1)) * np.uint64(self.cells - 1) >> np.uint64(32)
        ).astype(np.int64)
        said = np.where(coins(drawn, below=self._true), values, (values + step) % self.cells)
        return write_integers(said.astype(np.uint64)[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        said = read_integers(reports, bits=self.bits)[:, 0]
        if len(said) and int(said.max()) >= self.cells:
            raise ValueError(f"expected values below {self.cells}, found {said.max()}")
        return np.bincount(said, minlength=self.cells).astype(np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        true = generator.binomial(counts, float(self.p))
        found = true.astype(np.int64)
        for value, lied in enumerate(counts - true):
            even = np.full(self.cells - 1, 1 / (self.cells - 1))
            found += np.insert(generator.multinomial(lied, even), value, 0)
        return found

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        ends = [
            -(-step * ONE // (self.cells - 1)) for step in range(self.cells)
        ]  # where the next other value begins
        shares = [Fraction(ends[step + 1] - ends[step], ONE) for step in range(self.cells - 1)]
        likely = [self.p, *((1 - self.p) * share for share in shares)]
        return {
            write_integers(
                np.array([[(value + step) % self.cells]], np.uint64), bits=self.bits
            ).tobytes(): own
            for step, own in enumerate(likely)
        }
