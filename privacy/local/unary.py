"""Unary encoding: a bit for every value, each randomized independently.

*OUE* (Wang et al. 2017) sets the bit of another value with q = 1 / (e + 1), and that of the user's
value with p = 1/2; e stands for e^epsilon. It has the least variance at f = 0. *SUE* (basic
one-time RAPPOR) treats both alike: p = 1 - q = s / (s + 1) with s = e^(epsilon / 2). It has less
variance where frequencies are high.

*How q is drawn.* All bits of a user are drawn at once, 64 in a word. They begin as 0. Each binary
digit of q, from the lowest on, combines them with a random word: by OR where it is 1, and by AND
where it is 0. After k digits each bit is 1 with probability q, a multiple of 2^-k. So k words give
64 bits, and fewer digits are faster. Then a coin raises the bit of the user's value, such that
p (1 - q) / ((1 - p) q) is e^epsilon and all of epsilon is used.

*How k is chosen.* Near its optimum the variance of a rare cell is flat. With the chosen k it is at
most a quarter of a percent above the optimum. That of a frequent cell may differ by a tenth;
`variance` has the actual value. At epsilon 1 the choice is k = 2, with q = 1/4 and p = 0.4754. The
variance is 3.6917 instead of 3.6827.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from ...crypto.user_words import UserWordStream
from .bits import MAX_BITS, column_sums, digits_of, random_bits
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, below_exp, coins, threshold

__all__ = ["OptimisedUnary", "SymmetricUnary", "Unary"]

MAX_DIGITS: Final = 32
MAX_VARIANCE_LOSS: Final = 0.0025
"""Relative loss of variance of a rare cell, for the choice of q."""


class Unary(Randomizer):
    """A bit for every value."""

    def __init__(self, cells: int, *, epsilon: float, digits: int | None = None) -> None:
        """Make the randomizer; `digits` is the number of binary digits of q, by default chosen."""
        super().__init__(cells, epsilon=epsilon)
        if cells > MAX_BITS:
            raise ValueError(f"expected at most 2^22 cells for {self.name}, found {cells:,}")
        if digits is not None and not 1 <= digits <= MAX_DIGITS:
            raise ValueError(f"expected 1 to {MAX_DIGITS} digits, found {digits}")
        choose = type(self)._choose  # noqa: SLF001 - a rule of the class, which is the cache's key
        self.digits = _enough_digits(choose, self.epsilon) if digits is None else digits
        self._q, self._raised = choose(self.epsilon, self.digits)
        self._ones = digits_of(int(self._q * (1 << self.digits)), digits=self.digits)
        self._check()

    @staticmethod
    @abstractmethod
    def _choose(epsilon: float, digits: int) -> tuple[Fraction, int]:
        """Choose q with `digits` digits, and the chance of 2^32 to raise the bit of the value."""

    @property
    def p(self) -> Fraction:
        return self.q + (1 - self.q) * Fraction(self._raised, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return self._q

    @property
    def bits(self) -> int:
        return self.cells

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        reports = random_bits(words, columns=self.cells, ones=self._ones)
        users = np.flatnonzero(coins(words.take()[0, :, 0], below=self._raised))
        raised = values[users]
        octets = users * self.size + (raised >> 3)
        reports.reshape(-1)[octets] |= (1 << (raised & 7)).astype(np.uint8)
        return reports

    def support(self, reports: Reports) -> Counts:
        self._check_shape(reports)
        if self.cells % 8 and len(reports) and int(reports[:, -1].max()) >> self.cells % 8:
            raise ValueError(f"expected reports of {self.cells} bits, found more")
        return column_sums(reports, columns=self.cells)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        # Given the values, all bits of all users are independent.
        users = int(counts.sum())
        return np.asarray(
            generator.binomial(counts, float(self.p))
            + generator.binomial(users - counts, float(self.q)),
            np.int64,
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        law = {}
        for bits in product((0, 1), repeat=self.cells):
            probability = Fraction(1)
            for cell, bit in enumerate(bits):
                is_set = self.p if cell == value else self.q
                probability *= is_set if bit else 1 - is_set
            report = np.packbits(np.array(bits, np.uint8), bitorder="little")
            law[report.tobytes()] = probability
        return law


@lru_cache(maxsize=256)
def _enough_digits(choose: Callable[[float, int], tuple[Fraction, int]], epsilon: float) -> int:
    """Find the smallest number of digits with nearly the least variance of a rare cell.

    It depends on no number of cells, so that the hundreds of tables of a survey share it.
    """
    best = _variance(*choose(epsilon, MAX_DIGITS)) * (1 + MAX_VARIANCE_LOSS)
    enough = (k for k in range(1, MAX_DIGITS + 1) if _variance(*choose(epsilon, k)) <= best)
    return next(enough, MAX_DIGITS)


def _variance(q_exact: Fraction, raised: int) -> float:
    """Compute the variance of a rare cell, from one user's report."""
    q = float(q_exact)
    p = q + (1 - q) * raised / (1 << COIN_BITS)
    return q * (1 - q) / (p - q) ** 2 if p > q else np.inf


class OptimisedUnary(Unary):
    """OUE, optimised unary encoding."""

    name = "oue"

    @staticmethod
    @lru_cache(maxsize=256)
    def _choose(epsilon: float, digits: int) -> tuple[Fraction, int]:
        e, unit = below_exp(epsilon), 1 << digits
        q = Fraction(min(max(round(unit / (e + 1)), 1), unit - 1), unit)
        return q, threshold((e * q / (1 - q + e * q) - q) / (1 - q))


class SymmetricUnary(Unary):
    """SUE, symmetric unary encoding."""

    name = "sue"

    @staticmethod
    @lru_cache(maxsize=256)
    def _choose(epsilon: float, digits: int) -> tuple[Fraction, int]:
        least = 1 / (below_exp(epsilon / 2) + 1)
        q = Fraction(threshold(least, bits=digits, up=True), 1 << digits)
        return q, threshold(max(1 - 2 * q, Fraction(0)) / (1 - q)) if q < 1 else 0
