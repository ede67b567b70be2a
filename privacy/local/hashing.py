"""OLH, optimised local hashing (Wang et al. 2017): randomized response on a hash of the value,
under a function of one's own.

A user draws a function h from all values to g = round(e + 1) numbers, without looking at its value,
and says h and GRR of h(v) over the g. A report supports all values with h(v) = y: p as of GRR, q =
1/g. OUE's variance, in few bits however large K is; the aggregator pays for it, with a hash for
each report and value.

h(v) = floor(g (a v^2 + b v + c mod P) / P), P = 2^31 - 1, and a, b, c uniform: any three values'
hashes are independent, so p, q and the variances and covariances of all counts are exactly those of
ideal functions. What depends on four or more values is not: `simulate` draws from ideal functions,
and that is the one place where its law is not the reports' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import exp
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .direct import DirectEncoding, shares
from .packing import write_integers
from .randomizer import Codes, Counts, Randomizer, Reports

__all__ = ["LocalHashing"]

PRIME: Final = (1 << 31) - 1
MOST_HASHES: Final = 1 << 16
AT_A_TIME: Final = 1 << 14
_U32: TypeAlias = npt.NDArray[np.uint32]


class LocalHashing(Randomizer):
    """A hash function, and randomized response on the hash."""

    name = "olh"

    def __init__(self, cells: int, *, epsilon: float, prime: int = PRIME) -> None:
        """`prime`: at least `cells`; a small one lets all functions be written out."""
        super().__init__(cells, epsilon=epsilon)
        if not cells <= prime <= PRIME:
            raise ValueError(f"expected at most {prime} cells for {self.name}, found {cells}")
        self.hashes = min(max(2, round(exp(min(epsilon, 20.0)) + 1)), MOST_HASHES, prime)
        self.prime = prime
        self._direct = DirectEncoding(self.hashes, epsilon=epsilon)
        self._check()

    @property
    def p(self) -> Fraction:
        return self._direct.p

    @property
    def q(self) -> Fraction:
        # Two values' hashes are independent; those of a number y are x of P points, so a report
        # supports another value by chance sum_y (x/P) Pr[report y], and Pr[report y] = kept (x/P) +
        # (1 - kept) / g.
        sizes = [Fraction(int(own), self.prime) for own in set(shares(self.hashes, of=self.prime))]
        times = [
            int((shares(self.hashes, of=self.prime) == int(own * self.prime)).sum())
            for own in sizes
        ]
        kept = self._direct.kept
        return (
            kept * sum(n * own**2 for n, own in zip(times, sizes, strict=True))
            + (1 - kept) / self.hashes
        )

    @property
    def bits(self) -> int:
        return 3 * self.prime.bit_length() + self._direct.bits

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        said = np.empty((len(values), 4), np.uint64)
        drawn = words.take(words=4)[0]
        # 64 bits modulo P: no residue is likelier than another by more than 2^-33 of itself, and none tells of the value.
        said[:, :3] = drawn[:, :3] % np.uint64(self.prime)
        a, b, c = said[:, :3].T
        v = values.astype(np.uint64)
        prime = np.uint64(self.prime)
        point = (((a * v + b) % prime) * v + c) % prime
        hashed = (point * np.uint64(self.hashes) // prime).astype(np.int64)
        said[:, 3] = self._direct.said(hashed, words)
        return self._write(said)

    def _write(self, said: npt.NDArray[np.uint64]) -> Reports:
        bits = self.prime.bit_length()
        low = said[:, 0] | said[:, 1] << np.uint64(bits)
        high = said[:, 2] | said[:, 3] << np.uint64(bits)
        if 2 * bits % 8 == 0:
            parts = [write_integers(low[:, None], bits=2 * bits)]
            return np.concatenate(
                [*parts, write_integers(high[:, None], bits=self.bits - 2 * bits)], axis=1
            )
        # Across a byte's border: the lower number's last byte is shared.
        low |= high << np.uint64(2 * bits)
        high >>= np.uint64(64 - 2 * bits)
        return np.stack([low, high], axis=1).astype("<u8").view(np.uint8)[:, : self.size].copy()

    def _read(self, reports: Reports) -> npt.NDArray[np.int64]:
        self._check_shape(reports)
        bits = self.prime.bit_length()
        whole = np.zeros((len(reports), 16), np.uint8)
        whole[:, : self.size] = reports
        low, high = whole.view("<u8").T
        mask = np.uint64((1 << bits) - 1)
        high = high << np.uint64(64 - 2 * bits) | low >> np.uint64(2 * bits)
        read = np.stack(
            [low & mask, low >> np.uint64(bits) & mask, high & mask, high >> np.uint64(bits)],
            axis=1,
        ).astype(np.int64)
        most = read.max(axis=0, initial=0)
        if (most[:3] >= self.prime).any() or most[3] >= self.hashes:
            raise ValueError(
                f"expected coefficients below {self.prime} and hashes below {self.hashes}, found others"
            )
        return read

    def support(self, reports: Reports) -> Counts:
        found = np.zeros(self.cells, np.int64)
        ends = -((-np.arange(self.hashes + 1) * self.prime) // self.hashes)
        for start in range(0, len(reports), AT_A_TIME):
            a, b, c, y = self._read(reports[start : start + AT_A_TIME]).astype(np.uint32).T
            first, last = ends[:-1][y].astype(np.uint32), ends[1:][y].astype(np.uint32)
            found += self._count(a, b, c, first, last - first)
        return found

    def _count(self, a: _U32, b: _U32, c: _U32, first: _U32, width: _U32) -> Counts:
        """Walk the polynomials from value to value by differences, and count the points within the
        reported hash.
        """
        prime, found = np.uint32(self.prime), np.empty(self.cells, np.int64)
        # The point less the first that counts: within when below the width; modulo P it never
        # leaves 32 bits.
        point, step, twice = (
            _reduced(c + (prime - first), prime),
            _reduced(a + b, prime),
            _reduced(a + a, prime),
        )
        for value in range(self.cells):
            found[value] = np.count_nonzero(point < width)
            np.add(point, step, out=point)
            _reduced(point, prime)
            np.add(step, twice, out=step)
            _reduced(step, prime)
        return found

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        users = int(counts.sum())
        return np.asarray(
            generator.binomial(counts, float(self.p))
            + generator.binomial(users - counts, float(self.q)),
            np.int64,
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        found: dict[bytes, Fraction] = {}
        laws = [self._direct.law(y) for y in range(self.hashes)]
        points = np.arange(self.prime)
        a, b, c = (axis.reshape(-1) for axis in np.meshgrid(points, points, points, indexing="ij"))
        hashed = ((a * value + b) * value + c) % self.prime * self.hashes // self.prime
        for y in range(self.hashes):
            told = write_integers(np.array([[y]], np.uint64), bits=self._direct.bits).tobytes()
            lines = self._write(np.stack([a, b, c, np.full(len(a), y)], axis=1).astype(np.uint64))
            likely = [law[told] / len(a) for law in laws]
            found |= zip(map(bytes, lines), (likely[h] for h in hashed.tolist()), strict=True)
        return found


def _reduced(points: _U32, prime: np.uint32) -> _U32:
    """Subtract P where there is more, in place: below P, a difference wraps around and is the
    larger.
    """
    reduced: _U32 = np.minimum(points, points - prime, out=points)
    return reduced
