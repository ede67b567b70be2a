"""Local randomizers as an author may write them, with a mistake each.

They are made of the documentation's example, which is right: `docs/examples` has to be on the path.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from my_randomizer import Otherwise

from sottovoce.crypto.user_words import UserWordStream
from sottovoce.privacy.local.packing import write_integers
from sottovoce.privacy.local.randomizer import Codes, Reports, Words, below_exp, coins, threshold

MIXING: Final = np.uint64(0x9E3779B97F4A7C15)


class Right(Otherwise):
    """The example, under a name of its own."""

    name = "right"


class OfTwoCells(Otherwise):
    """Its p is that of two cells, whatever the number of cells is."""

    name = "of-two-cells"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        ratio = below_exp(epsilon)
        self._threshold = threshold(ratio / (1 + ratio))


class SlightlyTooOften(Otherwise):
    """Its p is larger by a hundredth: too little to be seen in reports, and its law shows it."""

    name = "slightly-too-often"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        self._threshold = threshold(self.p * Fraction(101, 100))


class CoinOfTheValue(Otherwise):
    """The same value has the same report always."""

    name = "coin-of-the-value"

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        words.take()
        return self.reports(values, (values.astype(np.uint64) + np.uint64(1)) * MIXING)

    def reports(self, values: Codes, word: Words) -> Reports:
        others = (values + 1) % self.cells
        reported = np.where(coins(word, below=self._threshold), values, others)
        return write_integers(reported.astype(np.uint64)[:, None], bits=self.bits)


class CoinOfTheUser(CoinOfTheValue):
    """The coin follows from the user's place, which everybody knows."""

    name = "coin-of-the-user"

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        words.take()
        places = np.arange(1, len(values) + 1, dtype=np.uint64)
        mixed = (places ^ places >> np.uint64(7)) * MIXING
        return self.reports(values, mixed ^ mixed >> np.uint64(29))


class Fails(Otherwise):
    """Its user's side ends in an error."""

    name = "fails"

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        raise ZeroDivisionError("of 12 records")
