"""OLH, optimised local hashing (Wang et al. 2017): randomized response on a hash of the value.

Each user draws a hash function h from all values to g = round(e + 1) numbers, independently of her
value; e stands for e^epsilon. She reports h and GRR of h(v) over the g numbers. A report supports
all values with h(v) = y: p is that of GRR, and q = 1/g. The variance is that of OUE, in few bits
however large K is. The aggregator pays for it with a hash for each report and value.

h(v) = floor(g (a v^2 + b v + c mod P) / P) with P = 2^31 - 1 and uniform a, b, c. The hashes of any
three values are independent. So p, q and the variances and covariances of all counts are exactly
those of ideal functions. Moments of four or more values are not. `simulate` draws from ideal
functions, and this is the only difference between its law and that of the reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import exp
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .direct import DirectEncoding, part_sizes
from .packing import write_integers
from .randomizer import Codes, Counts, Randomizer, Reports

__all__ = ["LocalHashing"]

PRIME: Final = (1 << 31) - 1
MAX_HASHES: Final = 1 << 16
BATCH_REPORTS: Final = 1 << 14
_U32: TypeAlias = npt.NDArray[np.uint32]


class LocalHashing(Randomizer):
    """A hash function, and randomized response on the hash."""

    name = "olh"

    def __init__(self, cells: int, *, epsilon: float, prime: int = PRIME) -> None:
        """Make the randomizer.

        Args:
            cells: K.
            epsilon: the privacy loss.
            prime: P, at least `cells`; with a small one all functions can be enumerated.
        """
        super().__init__(cells, epsilon=epsilon)
        if not cells <= prime <= PRIME:
            raise ValueError(f"expected at most {prime} cells for {self.name}, found {cells}")
        self.hashes = min(max(2, round(exp(min(epsilon, 20.0)) + 1)), MAX_HASHES, prime)
        self.prime = prime
        self._direct = DirectEncoding(self.hashes, epsilon=epsilon)
        self._check()

    @property
    def p(self) -> Fraction:
        return self._direct.p

    @property
    def q(self) -> Fraction:
        # Hashes of two values are independent. A number y is the hash of x of the P points. So a
        # report supports another value with probability sum_y (x/P) Pr[report y], where
        # Pr[report y] = kept (x/P) + (1 - kept) / g.
        points = Counter(part_sizes(self.hashes, of=self.prime).tolist())
        kept = self._direct.kept
        squares = sum(times * Fraction(size, self.prime) ** 2 for size, times in points.items())
        return kept * squares + (1 - kept) / self.hashes

    @property
    def bits(self) -> int:
        return 3 * self.prime.bit_length() + self._direct.bits

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        numbers = np.empty((len(values), 4), np.uint64)
        drawn = words.take(words=4)[0]
        # The residues of 64 bits modulo P are equally likely up to a factor of 1 + 2^-33. None
        # depends on the value.
        numbers[:, :3] = drawn[:, :3] % np.uint64(self.prime)
        a, b, c = numbers[:, :3].T
        v = values.astype(np.uint64)
        prime = np.uint64(self.prime)
        point = (((a * v + b) % prime) * v + c) % prime
        hashed = (point * np.uint64(self.hashes) // prime).astype(np.int64)
        numbers[:, 3] = self._direct.draw(hashed, words)
        return self._write(numbers)

    def _write(self, numbers: npt.NDArray[np.uint64]) -> Reports:
        """Write a, b, c and y of each report."""
        bits = self.prime.bit_length()
        low = numbers[:, 0] | numbers[:, 1] << np.uint64(bits)
        high = numbers[:, 2] | numbers[:, 3] << np.uint64(bits)
        if 2 * bits % 8 == 0:
            parts = [write_integers(low[:, None], bits=2 * bits)]
            return np.concatenate(
                [*parts, write_integers(high[:, None], bits=self.bits - 2 * bits)], axis=1
            )
        # The lower number ends within a byte, whose other bits belong to the higher number.
        low |= high << np.uint64(2 * bits)
        high >>= np.uint64(64 - 2 * bits)
        return np.stack([low, high], axis=1).astype("<u8").view(np.uint8)[:, : self.size].copy()

    def _read(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Read a, b, c and y of each report."""
        self._check_shape(reports)
        bits = self.prime.bit_length()
        octets = np.zeros((len(reports), 16), np.uint8)
        octets[:, : self.size] = reports
        low, high = octets.view("<u8").T
        mask = np.uint64((1 << bits) - 1)
        high = high << np.uint64(64 - 2 * bits) | low >> np.uint64(2 * bits)
        numbers = np.stack(
            [low & mask, low >> np.uint64(bits) & mask, high & mask, high >> np.uint64(bits)],
            axis=1,
        ).astype(np.int64)
        largest = numbers.max(axis=0, initial=0)
        if (largest[:3] >= self.prime).any() or largest[3] >= self.hashes:
            raise ValueError(
                f"expected coefficients below {self.prime} and hashes below {self.hashes}, "
                "found others"
            )
        return numbers

    def support(self, reports: Reports) -> Counts:
        counts = np.zeros(self.cells, np.int64)
        ends = -((-np.arange(self.hashes + 1) * self.prime) // self.hashes)
        for start in range(0, len(reports), BATCH_REPORTS):
            a, b, c, y = self._read(reports[start : start + BATCH_REPORTS]).astype(np.uint32).T
            first, last = ends[:-1][y].astype(np.uint32), ends[1:][y].astype(np.uint32)
            counts += self._count(a, b, c, first, last - first)
        return counts

    def _count(self, a: _U32, b: _U32, c: _U32, first: _U32, width: _U32) -> Counts:
        """Count the reports that support each value.

        The polynomials are evaluated from value to value, by differences. A point supports a value
        if it is among the `width` points from `first` on. Points are stored minus `first`, modulo
        P, so they never leave 32 bits.
        """
        prime, counts = np.uint32(self.prime), np.empty(self.cells, np.int64)
        point, step, twice = (
            _reduced(c + (prime - first), prime),
            _reduced(a + b, prime),
            _reduced(a + a, prime),
        )
        for value in range(self.cells):
            counts[value] = np.count_nonzero(point < width)
            np.add(point, step, out=point)
            _reduced(point, prime)
            np.add(step, twice, out=step)
            _reduced(step, prime)
        return counts

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        users = int(counts.sum())
        return np.asarray(
            generator.binomial(counts, float(self.p))
            + generator.binomial(users - counts, float(self.q)),
            np.int64,
        )

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        law: dict[bytes, Fraction] = {}
        laws = [self._direct.law(y) for y in range(self.hashes)]
        points = np.arange(self.prime)
        a, b, c = (axis.reshape(-1) for axis in np.meshgrid(points, points, points, indexing="ij"))
        hashed = ((a * value + b) * value + c) % self.prime * self.hashes // self.prime
        for y in range(self.hashes):
            hash_report = write_integers(np.array([[y]], np.uint64), bits=self._direct.bits)
            numbers = np.stack([a, b, c, np.full(len(a), y)], axis=1)
            reports = map(bytes, self._write(numbers.astype(np.uint64)))
            chances = [hash_law[hash_report.tobytes()] / len(a) for hash_law in laws]
            law |= zip(reports, (chances[h] for h in hashed.tolist()), strict=True)
        return law


def _reduced(points: _U32, prime: np.uint32) -> _U32:
    """Subtract P from numbers of P or more, in place.

    A smaller number minus P wraps around, and so is larger than the number.
    """
    reduced: _U32 = np.minimum(points, points - prime, out=points)
    return reduced
