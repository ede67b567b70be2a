"""Subset selection (Ye, Barg 2018; Wang et al. 2016): a set of omega values, the own one in it with probability p.

omega = K / (e + 1), at least 1; p = omega e / (omega e + K - omega), and the rest of the set is uniform among the others. The
least variance of all for any K, at the price of long reports: a bit for each value, or the values one after another, whichever
is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, exp

import numpy as np

from ...crypto.user_words import WordsOfUsers
from .packing import read_integers, write_integers
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, below_exp, coins, threshold
from .unary import MOST_BITS, column_sums

__all__ = ["SubsetSelection"]


class SubsetSelection(Randomizer):
    """A set of values."""

    name = "subset"

    def __init__(self, cells: int, *, epsilon: float, chosen: int | None = None) -> None:
        """`chosen`: omega."""
        super().__init__(cells, epsilon=epsilon)
        if cells > MOST_BITS:
            raise ValueError(f"expected at most 2^22 cells for {self.name}, found {cells:,}")
        self.chosen = max(1, round(cells / (exp(min(epsilon, 700.0)) + 1))) if chosen is None else chosen
        if not 1 <= self.chosen < cells:
            raise ValueError(f"expected sets of 1 to {cells - 1} values, found {self.chosen}")
        e = below_exp(epsilon)
        self._in = threshold(self.chosen * e / (self.chosen * e + cells - self.chosen))
        self._each = (cells - 1).bit_length()
        self._check()

    @property
    def p(self) -> Fraction:
        return Fraction(self._in, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return (self.p * (self.chosen - 1) + (1 - self.p) * self.chosen) / (self.cells - 1)

    @property
    def listed(self) -> bool:
        """Whether values are listed, which is shorter when they are few."""
        return self.chosen * self._each < self.cells

    @property
    def bits(self) -> int:
        return self.chosen * self._each if self.listed else self.cells

    def randomize(self, values: Codes, words: WordsOfUsers) -> Reports:
        """Take the own value or not by a coin, and the rest by the order of random words; equal ones are as rare as 2^-64."""
        users = np.arange(len(values))
        own = coins(words.take()[0, :, 0], below=self._in)
        keys = words.take(words=self.cells)[0]
        keys[users, values] = np.where(own, np.uint64(0), np.uint64((1 << 64) - 1))
        chosen = np.argpartition(keys, self.chosen - 1, axis=1)[:, : self.chosen]
        if self.listed:
            return write_integers(np.sort(chosen, axis=1).astype(np.uint64), bits=self._each)
        said = np.zeros(keys.shape, np.uint8)
        np.put_along_axis(said, chosen, 1, axis=1)
        return np.packbits(said, axis=1, bitorder="little")

    def support(self, reports: Reports) -> Counts:
        self._check_shape(reports)
        if self.listed:
            said = read_integers(reports, bits=self._each, numbers=self.chosen)
            if (said >= self.cells).any() or (np.diff(said, axis=1) <= 0).any():
                raise ValueError(f"expected {self.chosen} values below {self.cells} in rising order, found others")
            return np.bincount(said.reshape(-1), minlength=self.cells).astype(np.int64)
        found = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        if (found != self.chosen).any() or (self.cells % 8 and (reports[:, -1] >> self.cells % 8).any()):
            raise ValueError(f"expected sets of {self.chosen} of {self.cells} values, found others")
        return column_sums(reports, columns=self.cells)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Walk the cells, and decide at each how many users choose it.

        Users stand in two pools: whose own value is in the set, with omega - 1 to choose among the others, and whose is not,
        with omega. Of each pool two histograms by what is left to choose: of users whose own cell is still ahead (one cell
        less to choose from), and of those whose own cell has passed. What is left does not depend on the own cell while it is
        ahead, so those whose own cell comes next are any of the pool: hypergeometric.
        """
        included = generator.binomial(counts, float(self.p))
        found = included.astype(np.int64)
        for own, left in ((included, self.chosen - 1), (counts - included, self.chosen)):
            ahead, passed = np.zeros(self.chosen + 1, np.int64), np.zeros(self.chosen + 1, np.int64)
            ahead[left] = own.sum()
            for cell in range(self.cells):
                here = _any_of(ahead, int(own[cell]), generator)
                ahead -= here
                found[cell] += _choose(ahead, self.cells - cell - 1, generator) + _choose(passed, self.cells - cell, generator)
                passed += here
        return found

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found = {}
        for chosen in combinations(range(self.cells), self.chosen):
            own = value in chosen
            ways = comb(self.cells - 1, self.chosen - 1 if own else self.chosen)
            if self.listed:
                report = write_integers(np.array([chosen], np.uint64), bits=self._each)
            else:
                report = np.packbits(np.isin(np.arange(self.cells), chosen), bitorder="little")
            found[report.tobytes()] = (self.p if own else 1 - self.p) / ways
        return found


def _choose(pool: Counts, cells: int, generator: np.random.Generator) -> int:
    """Let a pool's users choose the next of so many cells or not, each with what it has left to choose."""
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
