"""Hadamard response (Acharya, Sun, Zhang 2019): one of H numbers, H = 2^ceil(log2(K + 1)), in log2 H bits.

Value v supports the half S_v of all y for which (v + 1) and y have an even number of ones in common. With probability
e / (e + 1) the report is uniform in S_v, else in the other half. Any other value is supported by half of either: q = 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .direct import read_integers, write_integers
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, Words, below_exp, threshold

__all__ = ["HadamardResponse", "walsh_hadamard"]


class HadamardResponse(Randomizer):
    """A point of the half that the own value supports, or of the other."""

    name = "hr"

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
    def bits(self) -> int:
        return self.cells.bit_length()

    @property
    def words(self) -> int:
        return 1

    def randomize(self, values: Codes, words: Words) -> Reports:
        coin, drawn = words[:, 0] & np.uint64((1 << 32) - 1), words[:, 0] >> np.uint64(32)
        row = values.astype(np.uint64) + np.uint64(1)
        y = drawn & np.uint64((1 << self.bits) - 1)
        odd = np.bitwise_count(row & y) & 1
        other = (coin >= np.uint64(self._mine)).astype(odd.dtype)
        lowest = row & (~row + np.uint64(1))  # turning this bit of y over moves y to the other half, one to one
        return write_integers(np.where(odd != other, y ^ lowest, y), bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        said = read_integers(reports, bits=self.bits)
        if said.size and int(said.max()) >= 1 << self.bits:
            raise ValueError(f"expected numbers below {1 << self.bits}, found {int(said.max())}")
        return self._support(np.bincount(said, minlength=1 << self.bits).astype(np.int64))

    def _support(self, histogram: Counts) -> Counts:
        return np.asarray((histogram.sum() + walsh_hadamard(histogram)[1 : self.cells + 1]) // 2, np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        y = np.arange(1 << self.bits, dtype=np.uint64)
        histogram = np.zeros(len(y), np.int64)
        for value in np.flatnonzero(counts):
            odd = (np.bitwise_count(np.uint64(value + 1) & y) & 1).astype(np.bool_)
            mine = int(generator.binomial(counts[value], float(self.p)))
            for half, users in ((~odd, mine), (odd, int(counts[value]) - mine)):
                histogram[half] += generator.multinomial(users, np.full(len(y) // 2, 2 / len(y)))
        return self._support(histogram)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        size = 1 << self.bits
        found = {}
        for y in range(size):
            odd = ((value + 1) & y).bit_count() & 1
            own = (1 - self.p if odd else self.p) * Fraction(2, size)
            found[write_integers(np.array([y], np.uint64), bits=self.bits).tobytes()] = own
        return found


def walsh_hadamard(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
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
