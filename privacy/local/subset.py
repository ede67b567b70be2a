"""Subset selection (Ye, Barg 2018; Wang et al. 2016): a set of omega of K values.

omega = K / (e + 1), at least 1, where e stands for e^epsilon. The user's value is in the set with
probability p = omega e / (omega e + K - omega), and the rest of the set is uniform among the other
values. This has the least variance of all randomizers for any K. Reports are long: a bit for each
value, or the values one after another, whichever is shorter (`sets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, exp
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .bits import MAX_BITS, digits_of, random_bits
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, coins, threshold
from .sets import Form, bits_of_set, count_sets, shortest, write_sets, write_values

__all__ = ["SubsetSelection"]

LEVELS: Final = 64
"""Number of levels of the probability with which a value is in the set at first."""
MAX_FEW: Final = 64
MIN_SPARSITY: Final = 32
"""A set of at most `MAX_FEW` of `MIN_SPARSITY` times as many values is drawn value by value."""


class SubsetSelection(Randomizer):
    """A set of `chosen` values."""

    name = "subset"

    def __init__(self, cells: int, *, epsilon: float, chosen: int | None = None) -> None:
        """Make the randomizer; `chosen` is omega, by default the best."""
        super().__init__(cells, epsilon=epsilon)
        if cells > MAX_BITS:
            raise ValueError(f"expected at most 2^22 cells for {self.name}, found {cells:,}")
        self.chosen = (
            max(1, round(cells / (exp(min(epsilon, 700.0)) + 1))) if chosen is None else chosen
        )
        if not 1 <= self.chosen < cells:
            raise ValueError(f"expected sets of 1 to {cells - 1} values, found {self.chosen}")
        self._keep = threshold(
            self.chosen * self.ratio / (self.chosen * self.ratio + cells - self.chosen)
        )
        self.form: Form = shortest(cells, self.chosen, ranks=False)
        self._check()

    @property
    def p(self) -> Fraction:
        return Fraction(self._keep, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return (self.p * (self.chosen - 1) + (1 - self.p) * self.chosen) / (self.cells - 1)

    @property
    def bits(self) -> int:
        return bits_of_set(self.cells, self.chosen, self.form)

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        """Include the user's value by a coin, and complete the set with uniform other values."""
        kept = coins(words.take()[0, :, 0], below=self._keep)
        if self.chosen <= MAX_FEW and self.chosen * MIN_SPARSITY < self.cells:
            few = self._few(values, kept, words)
            return write_values(few, cells=self.cells, chosen=self.chosen, form=self.form)
        sets = self._others(values, self.chosen - kept.astype(np.int64), words)
        users = np.flatnonzero(kept)
        sets[users, values[users] >> 3] |= (1 << (values[users] & 7)).astype(np.uint8)
        return write_sets(sets, cells=self.cells, chosen=self.chosen, form=self.form)

    def _few(self, values: Codes, kept: npt.NDArray[np.bool_], words: UserWordStream) -> Codes:
        """Draw a few of many values, one after another.

        All sets of other values are equally likely (Floyd's algorithm). Where the user's value is
        kept, it replaces any of them.
        """
        sets = np.empty((len(values), self.chosen), np.int64)
        others = self.cells - 1
        for position in range(self.chosen):
            # A number up to `last` is taken if it is not in the set yet. Else `last` is, which
            # cannot be in the set.
            last = others - self.chosen + position
            candidate = _uniform(words, below=last + 1)
            is_in = (sets[:, :position] == candidate[:, None]).any(axis=1)
            sets[:, position] = np.where(is_in, last, candidate)
        sets += sets >= values[:, None]  # The numbering of others skips the user's value.
        replaced = _uniform(words, below=self.chosen)
        users = np.flatnonzero(kept)
        sets[users, replaced[users]] = values[users]
        return np.sort(sets, axis=1)

    def _others(self, values: Codes, wanted: Codes, words: UserWordStream) -> Reports:
        """Draw a set of `wanted` other values for each user; all such sets are equally likely.

        First each value is in the set with nearly the right probability, so all sets of one size
        are equally likely. Then uniform values are added or removed until the size is right, which
        keeps this property. Numbers of 32 bits that would make some values likelier are not used.
        """
        # The level is a little too low, because adding values is faster than removing them.
        level = max((self.chosen - 1) * LEVELS // self.cells - 2, 0)
        sets = np.zeros((len(values), -(-self.cells // 8)), np.uint8)
        if level:
            sets[:] = random_bits(
                words, columns=self.cells, ones=digits_of(level, digits=LEVELS.bit_length() - 1)
            )
            sets[np.arange(len(values)), values >> 3] &= ~(1 << (values & 7)).astype(np.uint8)
        sizes = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
        left = np.flatnonzero(sizes != wanted)
        limit = (1 << 32) // self.cells * self.cells
        while len(left):
            numbers = words.take(words=8)[0].copy().view("<u4")
            for column in range(numbers.shape[1]):
                number = numbers[left, column].astype(np.int64)
                value = number % self.cells
                octet, bit = value >> 3, (1 << (value & 7)).astype(np.uint8)
                grows = sizes[left] < wanted[left]
                is_in = (sets[left, octet] & bit) != 0
                change = (number < limit) & (is_in != grows) & (value != values[left])
                sets[left[change], octet[change]] ^= bit[change]
                sizes[left] += np.where(change, np.where(grows, 1, -1), 0)
                left = left[sizes[left] != wanted[left]]
        return sets

    def support(self, reports: Reports) -> Counts:
        self._check_shape(reports)
        return count_sets(reports, cells=self.cells, chosen=self.chosen, form=self.form)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Go through the cells, and draw how many users choose each.

        Users form two pools. Users whose own value is in the set choose omega - 1 other values, and
        the rest choose omega. Each pool has two histograms by the number of values that are left to
        choose. One is of users whose own cell is still ahead, who have one cell less to choose
        from. The other is of users whose own cell has passed. The number left does not depend on
        the own cell while it is ahead. So users whose own cell comes next are a uniform sample of
        the first histogram (hypergeometric).
        """
        included = generator.binomial(counts, float(self.p))
        support = included.astype(np.int64)
        for users, left in ((included, self.chosen - 1), (counts - included, self.chosen)):
            ahead, passed = np.zeros(self.chosen + 1, np.int64), np.zeros(self.chosen + 1, np.int64)
            ahead[left] = users.sum()
            for cell in range(self.cells):
                here = _sample(ahead, int(users[cell]), generator)
                ahead -= here
                support[cell] += _choose(ahead, self.cells - cell - 1, generator) + _choose(
                    passed, self.cells - cell, generator
                )
                passed += here
        return support

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        law = {}
        for chosen in combinations(range(self.cells), self.chosen):
            is_in = value in chosen
            ways = comb(self.cells - 1, self.chosen - 1 if is_in else self.chosen)
            bitmap = np.packbits(
                np.isin(np.arange(self.cells), chosen)[None], axis=1, bitorder="little"
            )
            report = write_sets(bitmap, cells=self.cells, chosen=self.chosen, form=self.form)
            law[report.tobytes()] = (self.p if is_in else 1 - self.p) / ways
        return law


def _uniform(words: UserWordStream, *, below: int) -> Codes:
    """Draw a uniform number for each user.

    Numbers of 32 bits that would make some results likelier are not used. Each user draws four
    numbers at once. So a user must draw again with probability 2^-40 only (for 2^22 values), which
    would shift the next draws of others.
    """
    limit = (1 << 32) // below * below
    result = np.zeros(len(words), np.int64)
    left = np.arange(len(words))
    while len(left):
        numbers = words.take(words=2)[0].copy().view("<u4")[left].astype(np.int64)
        usable = numbers < limit
        result[left] = numbers[np.arange(len(left)), usable.argmax(axis=1)] % below
        left = left[~usable.any(axis=1)]
    return result


def _choose(pool: Counts, cells: int, generator: np.random.Generator) -> int:
    """Let the users of a histogram choose the next of `cells` cells or not, and count who do."""
    if not cells or not pool.any():
        return 0
    chances = np.minimum(np.arange(len(pool)) / cells, 1.0)  # No user has more left than cells.
    picks = generator.binomial(pool, chances)
    pool -= picks
    pool[:-1] += picks[1:]
    return int(picks.sum())


def _sample(pool: Counts, users: int, generator: np.random.Generator) -> Counts:
    """Draw a uniform sample of users from a histogram."""
    sample, rest = np.zeros_like(pool), int(pool.sum())
    for left in np.flatnonzero(pool):
        if not users:
            break
        rest -= int(pool[left])
        sample[left] = generator.hypergeometric(int(pool[left]), rest, users) if rest else users
        users -= int(sample[left])
    return sample
