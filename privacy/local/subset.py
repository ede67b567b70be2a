"""Subset selection (Ye, Barg 2018; Wang et al. 2016): a set of omega values, the own one in it with
probability p.

omega = K / (e + 1), at least 1; p = omega e / (omega e + K - omega), and the rest of the set is
uniform among the others. The least variance of all for any K, at the price of long reports: a bit
for each value, or the values one after another, whichever is shorter (`sets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, exp

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .bits import MOST_BITS, digits_of, random_bits
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, coins, threshold
from .sets import Form, bits_of_set, count_sets, shortest, write_sets, write_values

__all__ = ["SubsetSelection"]

LEVELS = 64
"""Of how likely a value is at first, before the number is made right."""
FEW, SPARSE = 64, 32
"""A set of at most so many values, of so many times as many, is drawn value by value."""


class SubsetSelection(Randomizer):
    """A set of values."""

    name = "subset"

    def __init__(self, cells: int, *, epsilon: float, chosen: int | None = None) -> None:
        """`chosen`: omega."""
        super().__init__(cells, epsilon=epsilon)
        if cells > MOST_BITS:
            raise ValueError(f"expected at most 2^22 cells for {self.name}, found {cells:,}")
        self.chosen = (
            max(1, round(cells / (exp(min(epsilon, 700.0)) + 1))) if chosen is None else chosen
        )
        if not 1 <= self.chosen < cells:
            raise ValueError(f"expected sets of 1 to {cells - 1} values, found {self.chosen}")
        self._in = threshold(
            self.chosen * self.ratio / (self.chosen * self.ratio + cells - self.chosen)
        )
        self.form: Form = shortest(cells, self.chosen, ranks=False)
        self._check()

    @property
    def p(self) -> Fraction:
        return Fraction(self._in, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return (self.p * (self.chosen - 1) + (1 - self.p) * self.chosen) / (self.cells - 1)

    @property
    def bits(self) -> int:
        return bits_of_set(self.cells, self.chosen, self.form)

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        """Take the own value or not by a coin, and a uniform set of the others of the size that is
        left.
        """
        own = coins(words.take()[0, :, 0], below=self._in)
        if self.chosen <= FEW and self.chosen * SPARSE < self.cells:
            few = self._few(values, own, words)
            return write_values(few, cells=self.cells, chosen=self.chosen, form=self.form)
        said = self._others(values, self.chosen - own.astype(np.int64), words)
        told = np.flatnonzero(own)
        said[told, values[told] >> 3] |= (1 << (values[told] & 7)).astype(np.uint8)
        return write_sets(said, cells=self.cells, chosen=self.chosen, form=self.form)

    def _few(self, values: Codes, own: npt.NDArray[np.bool_], words: UserWordStream) -> Codes:
        """Draw a few of many values, one after another, all sets alike (Floyd's algorithm, of the
        values but the own one).
        """
        said = np.empty((len(values), self.chosen), np.int64)
        others = self.cells - 1
        for at in range(self.chosen):
            # Among the first `last + 1`: one that is not in the set yet, or `last` itself, which
            # cannot be.
            last = others - self.chosen + at
            drawn = _uniform(words, below=last + 1)
            taken = (said[:, :at] == drawn[:, None]).any(axis=1)
            said[:, at] = np.where(taken, last, drawn)
        said += said >= values[:, None]  # numbered past the own value
        # Who says her own value says one less of the others: any of them, the one that came in at
        # random being no worse.
        gone = _uniform(words, below=self.chosen)
        told = np.flatnonzero(own)
        said[told, gone[told]] = values[told]
        return np.sort(said, axis=1)

    def _others(self, values: Codes, wanted: Codes, words: UserWordStream) -> Reports:
        """Draw a set of so many values but the own one, all such sets alike.

        A bit for each value, nearly as likely as is wanted: of any number of ones, all sets are
        alike. Then values are drawn, each alike, and put in or taken out until there are as many as
        wanted, which keeps it so. Of 32 bits those are not used that would make some values
        likelier.
        """
        level = max(
            (self.chosen - 1) * LEVELS // self.cells - 2, 0
        )  # values are sooner put in than taken out
        said = np.zeros((len(values), -(-self.cells // 8)), np.uint8)
        if level:
            said[:] = random_bits(
                words, columns=self.cells, ones=digits_of(level, digits=LEVELS.bit_length() - 1)
            )
            said[np.arange(len(values)), values >> 3] &= ~(1 << (values & 7)).astype(np.uint8)
        have = np.bitwise_count(said).sum(axis=1, dtype=np.int64)
        left = np.flatnonzero(have != wanted)
        even = (1 << 32) // self.cells * self.cells
        while len(left):
            drawn = words.take(words=8)[0].copy().view("<u4")
            for at in range(drawn.shape[1]):
                told = drawn[left, at].astype(np.int64)
                value = told % self.cells
                octet, bit = value >> 3, (1 << (value & 7)).astype(np.uint8)
                more = have[left] < wanted[left]
                within = (said[left, octet] & bit) != 0
                change = (told < even) & (within != more) & (value != values[left])
                said[left[change], octet[change]] ^= bit[change]
                have[left] += np.where(change, np.where(more, 1, -1), 0)
                left = left[have[left] != wanted[left]]
        return said

    def support(self, reports: Reports) -> Counts:
        self._check_shape(reports)
        return count_sets(reports, cells=self.cells, chosen=self.chosen, form=self.form)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Walk the cells, and decide at each how many users choose it.

        Users stand in two pools: whose own value is in the set, with omega - 1 to choose among the
        others, and whose is not, with omega. Of each pool two histograms by what is left to choose:
        of users whose own cell is still ahead (one cell less to choose from), and of those whose
        own cell has passed. What is left does not depend on the own cell while it is ahead, so
        those whose own cell comes next are any of the pool: hypergeometric.
        """
        included = generator.binomial(counts, float(self.p))
        found = included.astype(np.int64)
        for own, left in ((included, self.chosen - 1), (counts - included, self.chosen)):
            ahead, passed = np.zeros(self.chosen + 1, np.int64), np.zeros(self.chosen + 1, np.int64)
            ahead[left] = own.sum()
            for cell in range(self.cells):
                here = _any_of(ahead, int(own[cell]), generator)
                ahead -= here
                found[cell] += _choose(ahead, self.cells - cell - 1, generator) + _choose(
                    passed, self.cells - cell, generator
                )
                passed += here
        return found

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found = {}
        for chosen in combinations(range(self.cells), self.chosen):
            own = value in chosen
            ways = comb(self.cells - 1, self.chosen - 1 if own else self.chosen)
            said = np.packbits(
                np.isin(np.arange(self.cells), chosen)[None], axis=1, bitorder="little"
            )
            report = write_sets(said, cells=self.cells, chosen=self.chosen, form=self.form)
            found[report.tobytes()] = (self.p if own else 1 - self.p) / ways
        return found


def _uniform(words: UserWordStream, *, below: int) -> Codes:
    """Draw a number below a limit for each user, all alike: of 32 bits those are not used that
    would make some likelier.

    Each user has four, so that hardly ever, 2^-40 for 2^22 values, one has to draw again and what
    others draw next is another.
    """
    even = (1 << 32) // below * below
    found = np.zeros(len(words), np.int64)
    left = np.arange(len(words))
    while len(left):
        drawn = words.take(words=2)[0].copy().view("<u4")[left].astype(np.int64)
        good = drawn < even
        found[left] = drawn[np.arange(len(left)), good.argmax(axis=1)] % below
        left = left[~good.any(axis=1)]
    return found


def _choose(pool: Counts, cells: int, generator: np.random.Generator) -> int:
    """Let a pool's users choose the next of so many cells or not, each with what it has left to
    choose.
    """
    if not cells or not pool.any():
        return 0
    likely = np.minimum(np.arange(len(pool)) / cells, 1.0)  # above 1 where nobody is
    picks = generator.binomial(pool, likely)
    pool -= picks
    pool[:-1] += picks[1:]
    return int(picks.sum())


def _any_of(pool: Counts, users: int, generator: np.random.Generator) -> Counts:
    """Take so many users from a histogram, any of them alike."""
    taken, rest = np.zeros_like(pool), int(pool.sum())
    for at in np.flatnonzero(pool):
        if not users:
            break
        rest -= int(pool[at])
        taken[at] = generator.hypergeometric(int(pool[at]), rest, users) if rest else users
        users -= int(taken[at])
    return taken
