"""Local randomizers as an author may write them: one right, and some with a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sottovoce.crypto.user_words import UserWordStream
from sottovoce.privacy.local import Randomizer
from sottovoce.privacy.local.packing import read_integers, write_integers
from sottovoce.privacy.local.randomizer import (
    Codes,
    Counts,
    Reports,
    Words,
    below_exp,
    coins,
    threshold,
)

ONE = 1 << 32


class Right(Randomizer):
    """The user's own value with probability p, and otherwise any of the others."""

    name: ClassVar[str] = "right"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        ratio = below_exp(epsilon)
        # The others are not all equally likely: the least likely one has a share below theirs.
        least = Fraction(ONE // (cells - 1), ONE)
        self.kept = threshold(self.chance(ratio, least))

    def chance(self, ratio: Fraction, least: Fraction) -> Fraction:
        return ratio * least / (1 + ratio * least)

    @property
    def p(self) -> Fraction:
        return Fraction(self.kept, ONE)

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.cells - 1)

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    def word(self, values: Codes, words: UserWordStream) -> Words:
        return words.take()[0, :, 0]

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        word = self.word(values, words)
        low = word & np.uint64(ONE - 1)
        step = 1 + (low * np.uint64(self.cells - 1) >> np.uint64(32)).astype(np.int64)
        other = (values + step) % self.cells
        reported = np.where(coins(word, below=self.kept), values, other)
        return write_integers(reported.astype(np.uint64)[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        values = read_integers(reports, bits=self.bits)[:, 0]
        return np.bincount(values, minlength=self.cells).astype(np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        others = np.full(self.cells - 1, 1 / (self.cells - 1))
        support = generator.binomial(counts, float(self.p)).astype(np.int64)
        for value, changed in enumerate(counts - support.copy()):
            support += np.insert(generator.multinomial(changed, others), value, 0)
        return support

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        ends = [-(-step * ONE // (self.cells - 1)) for step in range(self.cells)]
        shares = [Fraction(after - first, ONE) for first, after in pairwise(ends)]
        chances = [self.p, *((1 - self.p) * share for share in shares)]
        return {
            write_integers(
                np.array([[(value + step) % self.cells]], np.uint64), bits=self.bits
            ).tobytes(): chance
            for step, chance in enumerate(chances)
        }


class OfTwoCells(Right):
    """Its p is that of two cells, whatever the number of cells is."""

    name = "of-two-cells"

    def chance(self, ratio: Fraction, least: Fraction) -> Fraction:
        return ratio / (1 + ratio)


class SlightlyTooOften(Right):
    """By a hundredth of its chance: too little to be seen in reports, and its law shows it."""

    name = "slightly-too-often"

    def chance(self, ratio: Fraction, least: Fraction) -> Fraction:
        return super().chance(ratio, least) * Fraction(101, 100)


class CoinOfTheValue(Right):
    """The same value has the same report always."""

    name = "coin-of-the-value"

    def word(self, values: Codes, words: UserWordStream) -> Words:
        words.take()
        return (values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


class CoinOfTheUser(Right):
    """The coin follows from the user's place, which everybody knows."""

    name = "coin-of-the-user"

    def word(self, values: Codes, words: UserWordStream) -> Words:
        words.take()
        places = np.arange(1, len(values) + 1, dtype=np.uint64)
        mixed = (places ^ places >> np.uint64(7)) * np.uint64(0x9E3779B97F4A7C15)
        return mixed ^ mixed >> np.uint64(29)


class Fails(Right):
    """Its user's side ends in an error."""

    name = "fails"

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        raise ZeroDivisionError("of 12 records")
