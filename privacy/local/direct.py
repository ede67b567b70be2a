"""GRR, generalised randomized response: the value itself, or any of the K.

With probability lambda a user says its value, else one of all K alike: p = lambda + (1 - lambda) /
K, q = (1 - lambda) / K, and p / q = e^epsilon for lambda = (e - 1) / (e + K - 1). Best for small K.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .packing import read_integers, write_integers
from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, below_exp, coins, threshold

__all__ = ["DirectEncoding", "shares"]

EVEN_BITS = 32


class DirectEncoding(Randomizer):
    """Generalised randomized response."""

    name = "grr"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        if cells > 1 << 24:
            raise ValueError(f"expected at most 2^24 cells for {self.name}, found {cells}")
        # "Any of the K" is a 32-bit number times K over 2^32, so some are a little likelier; the
        # least likely decides.
        least = Fraction((1 << EVEN_BITS) // cells, 1 << EVEN_BITS)
        excess = (below_exp(epsilon) - 1) * least
        self._keep = threshold(excess / (1 + excess))
        self._check()

    @property
    def kept(self) -> Fraction:
        """Lambda: how likely a user says its own value without looking at the others."""
        return Fraction(self._keep, 1 << COIN_BITS)

    @property
    def p(self) -> Fraction:
        return self.kept + self.q

    @property
    def q(self) -> Fraction:
        return (
            1 - self.kept
        ) / self.cells  # on average over values, which differ by less than 2^-32

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    def said(self, values: Codes, words: UserWordStream) -> Codes:
        """Draw what users say, before it is written down."""
        drawn = words.take()[0, :, 0]
        other = ((drawn & np.uint64((1 << EVEN_BITS) - 1)) * np.uint64(self.cells)) >> np.uint64(
            EVEN_BITS
        )
        return np.where(coins(drawn, below=self._keep), values, other.astype(np.int64))

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        return write_integers(self.said(values, words).astype(np.uint64)[:, None], bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        return self.supports(reports, np.array([len(reports)]))[0]

    def supports(self, reports: Reports, users: Counts) -> list[Counts]:
        said = read_integers(reports, bits=self.bits)[:, 0]
        if said.size and int(said.max()) >= self.cells:
            raise ValueError(f"expected values below {self.cells}, found {int(said.max())}")
        at = np.repeat(np.arange(len(users)) * self.cells, users) + said
        return [
            *np.bincount(at, minlength=len(users) * self.cells)
            .astype(np.int64)
            .reshape(-1, self.cells)
        ]

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(counts, float(self.kept))
        even = shares(self.cells, of=1 << EVEN_BITS) / 2.0**EVEN_BITS
        return np.asarray(
            kept + generator.multinomial(int(counts.sum() - kept.sum()), even), np.int64
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        even = [
            (1 - self.kept) * Fraction(int(share), 1 << EVEN_BITS)
            for share in shares(self.cells, of=1 << EVEN_BITS)
        ]
        even[value] += self.kept
        return {
            write_integers(np.array([[v]], np.uint64), bits=self.bits).tobytes(): own
            for v, own in enumerate(even)
        }


def shares(parts: int, *, of: int) -> npt.NDArray[np.int64]:
    """Count, for each of so many parts y, the numbers x below `of` with floor(x parts / of) = y.

    >>> shares(3, of=8).tolist()
    [3, 3, 2]
    """
    return np.diff(-((-np.arange(parts + 1) * of) // parts))
