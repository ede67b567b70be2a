"""Hadamard response, and one bit of it.

The Hadamard matrix has entries (-1)^(ones that i and j have in common), H = 2^ceil(log2(K + 1))
rows; value v has row v + 1, as row 0 says nothing.

HR (Acharya, Sun, Zhang 2019): a report is one of H numbers; value v supports the half S_v where its
row is +1. With probability e / (e + 1) the report is uniform in S_v, else in the other half. log2 H
bits.

One bit (HRR; Bassily and Smith 2015, Cormode et al. 2019): a user draws a column without looking at
its value, and says the entry there in its own row, turned over with probability 1 / (e + 1): log2 H
+ 1 bits, of which one tells of the value.

Any other value is supported by half of all: q = 1/2. Both have the same variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .packing import read_integers, write_integers
from .randomizer import (
    COIN_BITS,
    Codes,
    Counts,
    Randomizer,
    Reports,
    Words,
    below_exp,
    coins,
    threshold,
)

__all__ = ["HadamardBit", "HadamardResponse", "walsh_hadamard"]

ONE = np.uint64(1)
N = TypeVar("N", np.int64, np.float64)


class _Hadamard(Randomizer):
    """What both have in common."""

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        if cells >= 1 << 24:
            raise ValueError(f"expected fewer than 2^24 cells for {self.name}, found {cells}")
        e = below_exp(epsilon)
        self._mine = threshold(e / (e + 1))
        self._check()

    @property
    def p(self) -> Fraction:
        return Fraction(self._mine, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def rows(self) -> int:
        """H."""
        return 1 << self.cells.bit_length()

    def _draw(self, values: Codes, words: UserWordStream) -> tuple[Words, Words, Words]:
        """Draw a column, 1 where its entry in the own row is -1, and 1 where the other half is to
        be told.
        """
        drawn = words.take()[0, :, 0]
        column = drawn & np.uint64(self.rows - 1)
        odd = np.bitwise_count((values.astype(np.uint64) + ONE) & column).astype(np.uint64) & ONE
        return column, odd, (~coins(drawn, below=self._mine)).astype(np.uint64)

    def _support(self, signs: Counts) -> Counts:
        """`signs`: for each column, how many said +1 less how many said -1; C(v) is (n + sum of row
        v) / 2.
        """
        users, rows = signs[0], walsh_hadamard(signs[1:])
        return np.asarray((users + rows[1 : self.cells + 1]) // 2, np.int64)


class HadamardResponse(_Hadamard):
    """A point of the half that the own value supports, or of the other."""

    name = "hr"

    @property
    def bits(self) -> int:
        return self.cells.bit_length()

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        column, odd, other = self._draw(values, words)
        row = values.astype(np.uint64) + ONE
        lowest = row & (
            ~row + ONE
        )  # turning this bit of the column over moves it to the other half, one to one
        said = np.where(odd != other, column ^ lowest, column)
        return write_integers(said[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        said = read_integers(reports, bits=self.bits)[:, 0]
        found = np.bincount(said, minlength=self.rows).astype(np.int64)
        return self._support(np.concatenate([[len(said)], found]))

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        column = np.arange(self.rows, dtype=np.uint64)
        found = np.zeros(self.rows + 1, np.int64)
        found[0] = counts.sum()
        for value in np.flatnonzero(counts):
            odd = (np.bitwise_count(np.uint64(value + 1) & column) & 1).astype(np.bool_)
            mine = int(generator.binomial(counts[value], float(self.p)))
            for half, users in ((~odd, mine), (odd, int(counts[value]) - mine)):
                found[1:][half] += generator.multinomial(
                    users, np.full(self.rows // 2, 2 / self.rows)
                )
        return self._support(found)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found = {}
        for column in range(self.rows):
            odd = ((value + 1) & column).bit_count() & 1
            own = (1 - self.p if odd else self.p) * Fraction(2, self.rows)
            found[write_integers(np.array([[column]], np.uint64), bits=self.bits).tobytes()] = own
        return found


class HadamardBit(_Hadamard):
    """A column, drawn without looking, and the own row's entry there, turned over or not."""

    name = "hadamard-bit"

    @property
    def bits(self) -> int:
        return self.cells.bit_length() + 1

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        column, odd, other = self._draw(values, words)
        return write_integers((column << ONE | (odd ^ other))[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        said = read_integers(reports, bits=self.bits)[:, 0]
        heard = np.bincount(said, minlength=2 * self.rows).astype(np.int64).reshape(self.rows, 2)
        return self._support(np.concatenate([[len(said)], heard[:, 0] - heard[:, 1]]))

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        column = np.arange(self.rows, dtype=np.uint64)
        found = np.zeros(self.rows + 1, np.int64)
        found[0] = counts.sum()
        for value in np.flatnonzero(counts):
            drawn = generator.multinomial(int(counts[value]), np.full(self.rows, 1 / self.rows))
            sign = 1 - 2 * (np.bitwise_count(np.uint64(value + 1) & column) & 1).astype(np.int64)
            found[1:] += sign * (2 * generator.binomial(drawn, float(self.p)) - drawn)
        return self._support(found)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found = {}
        for column in range(self.rows):
            odd = ((value + 1) & column).bit_count() & 1
            for bit in (0, 1):
                own = (self.p if bit == odd else 1 - self.p) / self.rows
                found[
                    write_integers(
                        np.array([[column << 1 | bit]], np.uint64), bits=self.bits
                    ).tobytes()
                ] = own
        return found


def walsh_hadamard(values: npt.NDArray[N]) -> npt.NDArray[N]:
    """Transform by the Hadamard matrix of entries (-1)^(ones that i and j have in common).

    >>> walsh_hadamard(np.array([1, 2, 3, 4])).tolist()
    [10, -2, -4, 0]
    """
    found = values.copy()
    step = 1
    while step < len(found):
        pairs = found.reshape(-1, 2, step)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return found
