"""Unary encoding: a bit for every value, each turned over by itself. OUE (Wang et al. 2017) and SUE (basic one-time RAPPOR).

OUE says yes to the own value with probability 1/2 and to any other with q = 1 / (e + 1): the least variance at f = 0. SUE
treats both alike, p = 1 - q = s / (s + 1) with s = e^(epsilon / 2): less where frequencies are high, as at large epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import numpy as np

from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, Words, below_exp, threshold

__all__ = ["OptimisedUnary", "SymmetricUnary", "Unary"]

ONE = 1 << COIN_BITS


class Unary(Randomizer):
    """A bit for every value."""

    _yes: int
    """Of 2^32: how likely the own value's bit is 1."""
    _no: int
    """How likely another's is."""

    @property
    def p(self) -> Fraction:
        return Fraction(self._yes, ONE)

    @property
    def q(self) -> Fraction:
        return Fraction(self._no, ONE)

    @property
    def bits(self) -> int:
        return self.cells

    @property
    def words(self) -> int:
        return -(-self.cells // 2)

    def randomize(self, values: Codes, words: Words) -> Reports:
        coins = np.ascontiguousarray(words).view(np.uint32)[:, : self.cells]
        said = coins < self._no
        users = np.arange(len(values))
        said[users, values] = coins[users, values] < self._yes
        return np.packbits(said, axis=1, bitorder="little")

    def support(self, reports: Reports) -> Counts:
        if reports.ndim != 2 or reports.shape[1] != -(-self.cells // 8):
            raise ValueError(f"expected reports of {-(-self.cells // 8)} bytes, found the shape {reports.shape}")
        said = np.unpackbits(reports, axis=1, count=self.cells, bitorder="little")
        return np.asarray(said.sum(axis=0), np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        # Given the values all bits of all users are independent, and columns have none in common.
        users = int(counts.sum())
        return np.asarray(
            generator.binomial(counts, float(self.p)) + generator.binomial(users - counts, float(self.q)), np.int64
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found = {}
        for said in product((0, 1), repeat=self.cells):
            likely = Fraction(1)
            for at, bit in enumerate(said):
                one = self.p if at == value else self.q
                likely *= one if bit else 1 - one
            found[np.packbits(np.array(said, np.uint8), bitorder="little").tobytes()] = likely
        return found


class OptimisedUnary(Unary):
    """OUE."""

    name = "oue"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        self._yes = ONE // 2
        self._no = threshold(1 / (below_exp(epsilon) + 1), up=True)
        self._check()


class SymmetricUnary(Unary):
    """SUE."""

    name = "sue"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        root = below_exp(epsilon / 2)
        self._yes = threshold(root / (root + 1))
        self._no = ONE - self._yes
        self._check()
