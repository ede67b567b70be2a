"""GRR, generalised randomized response: the value itself, or any of the K.

With probability lambda a user says its value, else one of all K alike: p = lambda + (1 - lambda) / K, q = (1 - lambda) / K, and
p / q = e^epsilon for lambda = (e - 1) / (e + K - 1). Best for small K.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import numpy as np

from .randomizer import COIN_BITS, Codes, Counts, Randomizer, Reports, Words, below_exp, threshold

__all__ = ["DirectEncoding"]

EVEN_BITS = 32


class DirectEncoding(Randomizer):
    """Generalised randomized response."""

    name = "grr"

    def __init__(self, cells: int, *, epsilon: float) -> None:
        super().__init__(cells, epsilon=epsilon)
        if cells > 1 << 24:
            raise ValueError(f"expected at most 2^24 cells for {self.name}, found {cells}")
        # "Any of the K" is a 32-bit number times K over 2^32, so some are a little likelier; the least likely decides.
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
        return (1 - self.kept) / self.cells  # on average over values, which differ by less than 2^-32

    @property
    def bits(self) -> int:
        return (self.cells - 1).bit_length()

    @property
    def words(self) -> int:
        return 1

    def randomize(self, values: Codes, words: Words) -> Reports:
        coin, even = words[:, 0] & np.uint64((1 << 32) - 1), words[:, 0] >> np.uint64(32)
        other = (even * np.uint64(self.cells)) >> np.uint64(EVEN_BITS)
        said = np.where(coin < np.uint64(self._keep), values.astype(np.uint64), other)
        return write_integers(said, bits=self.bits)

    def support(self, reports: Reports) -> Counts:
        said = read_integers(reports, bits=self.bits)
        if said.size and int(said.max()) >= self.cells:
            raise ValueError(f"expected values below {self.cells}, found {int(said.max())}")
        return np.bincount(said, minlength=self.cells).astype(np.int64)

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(counts, float(self.kept))
        return np.asarray(kept + generator.multinomial(int(counts.sum() - kept.sum()), self._even()), np.int64)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        even = [(1 - self.kept) * share for share in self._shares()]
        even[value] += self.kept
        return {write_integers(np.array([v], np.uint64), bits=self.bits).tobytes(): own for v, own in enumerate(even)}

    def _shares(self) -> list[Fraction]:
        ends = [-((-v << EVEN_BITS) // self.cells) for v in range(self.cells + 1)]
        return [Fraction(end - start, 1 << EVEN_BITS) for start, end in pairwise(ends)]

    def _even(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        ends = np.array([-((-v << EVEN_BITS) // self.cells) for v in range(self.cells + 1)], np.float64)
        return np.diff(ends) / 2.0**EVEN_BITS


def write_integers(values: Words, *, bits: int) -> Reports:
    """Write a number a line, in as many bits, the lowest first, filled up to whole bytes.

    >>> write_integers(np.array([5, 6], np.uint64), bits=3).tolist()
    [[5], [6]]
    """
    size = -(-bits // 8)
    return np.ascontiguousarray(values).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size].copy()


def read_integers(reports: Reports, *, bits: int) -> Codes:
    """Read what `write_integers` wrote."""
    size = -(-bits // 8)
    if reports.ndim != 2 or reports.shape[1] != size:
        raise ValueError(f"expected reports of {size} bytes, found the shape {reports.shape}")
    whole = np.zeros((len(reports), 8), np.uint8)
    whole[:, :size] = reports
    return whole.view("<u8").reshape(-1).astype(np.int64)
