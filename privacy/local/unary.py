"""Unary encoding: a bit for every value, each turned over by itself. OUE (Wang et al. 2017) and SUE
(basic one-time RAPPOR).

OUE says yes to any value that is not the user's with q = 1 / (e + 1), and to the user's own with p
= 1/2: the least variance at f = 0. SUE treats both alike, p = 1 - q = s / (s + 1) with s =
e^(epsilon / 2): less where frequencies are high.

How q is drawn. All bits of a user are drawn at once, 64 in a word: begin with 0, and for each
binary digit of q from the lowest take OR with a random word where it is 1, AND where it is 0. After
k digits each bit is 1 with probability q, a whole number of 2^-k. So k words buy 64 bits of any
users, and the fewer digits the faster. The own bit is then raised with a coin, such that p (1 - q)
/ ((1 - p) q) is e^epsilon and nothing is given away. Near its optimum the variance of a rare cell
is flat: with the k that is chosen it is at most a quarter of a percent above it (that of a frequent
one may be up to a tenth more or less), and `variance` says what it is. At epsilon 1, q = 1/4 and p
= 0.4754 do, k = 2, and the variance is 3.6917 instead of 3.6827.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import numpy as np

from ...crypto.user_words import UserWordStream
from .bits import MOST_BITS, column_sums, digits_of, random_bits
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, below_exp, coins, threshold

__all__ = ["OptimisedUnary", "SymmetricUnary", "Unary"]

MOST_DIGITS = 32
LOSS = 0.0025
"""How far above the least variance of a rare cell a choice of q may be."""


class Unary(Randomizer):
    """A bit for every value."""

    def __init__(self, cells: int, *, epsilon: float, digits: int | None = None) -> None:
        """`digits`: how many binary digits q has; by default the fewest that cost nothing to speak
        of.
        """
        super().__init__(cells, epsilon=epsilon)
        if cells > MOST_BITS:
            raise ValueError(f"expected at most 2^22 cells for {self.name}, found {cells:,}")
        if digits is not None and not 1 <= digits <= MOST_DIGITS:
            raise ValueError(f"expected 1 to {MOST_DIGITS} digits, found {digits}")
        best = self._variance(*self._choose(MOST_DIGITS))
        enough = (
            k
            for k in range(1, MOST_DIGITS + 1)
            if self._variance(*self._choose(k)) <= best * (1 + LOSS)
        )
        self.digits = next(enough, MOST_DIGITS) if digits is None else digits
        self._no, self._raised = self._choose(self.digits)
        self._ones = digits_of(int(self._no * (1 << self.digits)), digits=self.digits)
        self._check()

    @abstractmethod
    def _choose(self, digits: int) -> tuple[Fraction, int]:
        """Choose q of so many digits, and how likely the own bit is raised, of 2^32."""

    def _variance(self, no: Fraction, raised: int) -> float:
        q = float(no)
        p = q + (1 - q) * raised / (1 << COIN_BITS)
        return q * (1 - q) / (p - q) ** 2 if p > q else np.inf

    @property
    def p(self) -> Fraction:
        return self.q + (1 - self.q) * Fraction(self._raised, 1 << COIN_BITS)

    @property
    def q(self) -> Fraction:
        return self._no

    @property
    def bits(self) -> int:
        return self.cells

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        said = random_bits(words, columns=self.cells, ones=self._ones)
        raised = np.flatnonzero(coins(words.take()[0, :, 0], below=self._raised))
        own = values[raised]
        said.reshape(-1)[raised * self.size + (own >> 3)] |= (1 << (own & 7)).astype(np.uint8)
        return said

    def support(self, reports: Reports) -> Counts:
        self._check_shape(reports)
        if self.cells % 8 and len(reports) and int(reports[:, -1].max()) >> self.cells % 8:
            raise ValueError(f"expected reports of {self.cells} bits, found more")
        return column_sums(reports, columns=self.cells)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        # Given the values all bits of all users are independent, and columns have none in common.
        users = int(counts.sum())
        return np.asarray(
            generator.binomial(counts, float(self.p))
            + generator.binomial(users - counts, float(self.q)),
            np.int64,
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

    def _choose(self, digits: int) -> tuple[Fraction, int]:
        e, one = below_exp(self.epsilon), 1 << digits
        no = Fraction(min(max(round(one / (e + 1)), 1), one - 1), one)
        return no, threshold((e * no / (1 - no + e * no) - no) / (1 - no))


class SymmetricUnary(Unary):
    """SUE."""

    name = "sue"

    def _choose(self, digits: int) -> tuple[Fraction, int]:
        no = Fraction(
            threshold(1 / (below_exp(self.epsilon / 2) + 1), bits=digits, up=True), 1 << digits
        )
        return no, threshold(max(1 - 2 * no, Fraction(0)) / (1 - no)) if no < 1 else 0
