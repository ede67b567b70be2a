"""Hadamard response, and one bit of it.

The Hadamard matrix has H = 2^ceil(log2(K + 1)) rows. Entry (i, j) is -1 to the number of ones that
i and j have in common. Value v has row v + 1, because row 0 is the same for all.

*HR* (Acharya, Sun, Zhang 2019): a report is one of H numbers, in log2 H bits. Value v has the half
S_v in which its row is +1. With probability e / (e + 1) the report is uniform in S_v, else in the
other half; e stands for e^epsilon.

*One bit* (HRR; Bassily and Smith 2015, Cormode et al. 2019): a user draws a column independently of
her value. She reports it and the entry of her row there, which she flips with probability
1 / (e + 1). Of the log2 H + 1 bits one depends on the value.

A report supports any other value with q = 1/2. Both have the same variance.
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
    MAX_CELLS,
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
    """The common part of both randomizers."""

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        if cells >= MAX_CELLS:
            raise ValueError(
                f"expected fewer than {MAX_CELLS:,} cells for {self.name}, found {cells:,}"
            )
        e = below_exp(epsilon)
        self._keep = threshold(e / (e + 1))
        self._check()

    @property
    def p(self) -> Fraction:
        return Fraction(self._keep, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def rows(self) -> int:
        """H, the number of rows and columns."""
        return 1 << self.cells.bit_length()

    def _draw(self, values: Codes, words: UserWordStream) -> tuple[Words, Words, Words]:
        """Draw for each user a column, its sign, and a coin.

        The sign is 1 where the entry of the user's row is -1. The coin is 1 where the other half is
        to be reported.
        """
        word = words.take()[0, :, 0]
        column = word & np.uint64(self.rows - 1)
        odd = np.bitwise_count((values.astype(np.uint64) + ONE) & column).astype(np.uint64) & ONE
        return column, odd, (~coins(word, below=self._keep)).astype(np.uint64)

    def _support(self, signs: Counts) -> Counts:
        """Compute C(v) = (n + sum of row v) / 2.

        Args:
            signs: first the number of users, then for each column the reports of +1 minus those of
                -1.
        """
        users, sums = signs[0], walsh_hadamard(signs[1:])
        return np.asarray((users + sums[1 : self.cells + 1]) // 2, np.int64)


class HadamardResponse(_Hadamard):
    """A number of the half that belongs to the user's value, or of the other half."""

    name = "hr"

    @property
    def bits(self) -> int:
        return self.cells.bit_length()

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        column, odd, other = self._draw(values, words)
        row = values.astype(np.uint64) + ONE
        # Flipping this bit maps the columns of one half to those of the other, one to one.
        lowest = row & (~row + ONE)
        reported = np.where(odd != other, column ^ lowest, column)
        return write_integers(reported[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        reported = read_integers(reports, bits=self.bits)[:, 0]
        columns = np.bincount(reported, minlength=self.rows).astype(np.int64)
        return self._support(np.concatenate([[len(reported)], columns]))

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        column = np.arange(self.rows, dtype=np.uint64)
        signs = np.zeros(self.rows + 1, np.int64)
        signs[0] = counts.sum()
        for value in np.flatnonzero(counts):
            odd = (np.bitwise_count(np.uint64(value + 1) & column) & 1).astype(np.bool_)
            kept = int(generator.binomial(counts[value], float(self.p)))
            for half, users in ((~odd, kept), (odd, int(counts[value]) - kept)):
                signs[1:][half] += generator.multinomial(
                    users, np.full(self.rows // 2, 2 / self.rows)
                )
        return self._support(signs)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        law = {}
        for column in range(self.rows):
            odd = ((value + 1) & column).bit_count() & 1
            report = write_integers(np.array([[column]], np.uint64), bits=self.bits).tobytes()
            law[report] = (1 - self.p if odd else self.p) * Fraction(2, self.rows)
        return law


class HadamardBit(_Hadamard):
    """A column that does not depend on the value, and the row's entry there, flipped or not."""

    name = "hadamard-bit"

    @property
    def bits(self) -> int:
        return self.cells.bit_length() + 1

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        column, odd, other = self._draw(values, words)
        return write_integers((column << ONE | (odd ^ other))[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        reported = read_integers(reports, bits=self.bits)[:, 0]
        columns = np.bincount(reported, minlength=2 * self.rows).astype(np.int64).reshape(-1, 2)
        return self._support(np.concatenate([[len(reported)], columns[:, 0] - columns[:, 1]]))

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        column = np.arange(self.rows, dtype=np.uint64)
        signs = np.zeros(self.rows + 1, np.int64)
        signs[0] = counts.sum()
        for value in np.flatnonzero(counts):
            drawn = generator.multinomial(int(counts[value]), np.full(self.rows, 1 / self.rows))
            sign = 1 - 2 * (np.bitwise_count(np.uint64(value + 1) & column) & 1).astype(np.int64)
            signs[1:] += sign * (2 * generator.binomial(drawn, float(self.p)) - drawn)
        return self._support(signs)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        law = {}
        for column in range(self.rows):
            odd = ((value + 1) & column).bit_count() & 1
            for bit in (0, 1):
                numbers = np.array([[column << 1 | bit]], np.uint64)
                report = write_integers(numbers, bits=self.bits).tobytes()
                law[report] = (self.p if bit == odd else 1 - self.p) / self.rows
        return law


def walsh_hadamard(values: npt.NDArray[N]) -> npt.NDArray[N]:
    """Multiply by the Hadamard matrix.

    >>> walsh_hadamard(np.array([1, 2, 3, 4])).tolist()
    [10, -2, -4, 0]
    """
    result = values.copy()
    step = 1
    while step < len(result):
        pairs = result.reshape(-1, 2, step)
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        result = np.stack([sums, differences], axis=1).reshape(-1)
        step *= 2
    return result
