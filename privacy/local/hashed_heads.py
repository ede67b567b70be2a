"""Local hashing under CLLDP: one head of a smaller table, whose values are hashed (section 4.4).

Xue et al. (CLLDP) say how local hashing becomes CLLDP: hash the values to fewer numbers, and report
the number by kHR. A user's cell is (label, value). She draws a hash function h from V values to g
numbers, independently of her cell, and reports h and one cell of the table (label, h(value)):

    h(v) = floor(g (a v + b mod P) / P),  a = 1 .. P - 1 and b = 0 .. P - 1 uniform

P is the least prime that is not below V and g. So the points a v + b of the values of a label are
different, and no number has more than c = ceil(P / g) values of a label, whatever h is. A report
names c values of a label at most: omega is omega(c) of the values, and not omega(1), which would
reveal more (spec C12). The label itself is not hashed. Otherwise all values of a label might have
one number, and omega would be 1.

A report supports the cells of its label whose values have its number. With p and q of kHR for m' =
(labels g) cells it supports, if t is the probability that two values have the same number,

    p                     the user's own cell
    s = q + (p - q) t     another value of her label
    q                     a cell of another label

From the supports C(l, v) of n reports the share of a label and of a cell follow without bias:

    F(l)    = (sum of C(l, v) over v / n - V q) / (p + (V - 1) s - V q)
    f(l, v) = (C(l, v) / n - q - (s - q) F(l)) / (p - s)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, inf
from typing import Final, TypeAlias

import gmpy2
import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .direct import part_sizes
from .heads import HeadsResponse
from .packing import write_integers
from .randomizer import Codes, Counts, Randomizer, Reports

__all__ = ["MAX_VALUES", "HashedHeads", "choose_hashes", "field_size", "named_values"]

BATCH_REPORTS: Final = 1 << 13
MAX_VALUES: Final = 1 << 14
"""Products of a and a value stay within 64 bits, and a batch within memory."""
Points: TypeAlias = npt.NDArray[np.int64]


def field_size(values: int, hashes: int) -> int:
    """Find P, the least prime that is not below V and g.

    >>> field_size(16, 4), field_size(2, 2)
    (17, 2)
    """
    return int(gmpy2.next_prime(max(values, hashes) - 1))


def named_values(values: int, hashes: int) -> int:
    """Bound the values of one label that a report names: c, at most all.

    >>> named_values(16, 4), named_values(16, 17)
    (5, 1)
    """
    return min(values, -(-field_size(values, hashes) // hashes))


class HashedHeads(Randomizer):
    """A hash function, and one cell of the table of labels and hashes."""

    name = "clldp-hashing"

    def __init__(
        self,
        cells: int,
        *,
        epsilon: float,
        labels: int,
        belief: float = 1.0,
        hashes: int | None = None,
    ) -> None:
        """Make the randomizer.

        Args:
            cells: the number of labels times that of values.
            epsilon: the privacy loss of the label.
            labels: the number of labels.
            belief: omega(c): the largest share that c values have of a label's people.
            hashes: g; by default the best one if omega is `belief` for all g.
        """
        super().__init__(cells, epsilon=epsilon)
        if labels < 1 or cells % labels or cells // labels > MAX_VALUES:
            raise ValueError(
                f"expected at most {MAX_VALUES} values of each of {labels} labels, found {cells} "
                "cells"
            )
        self.labels, self.values = labels, cells // labels
        if hashes is None:
            curve = [belief] * self.values
            hashes = choose_hashes(labels, self.values, epsilon=epsilon, beliefs=curve)
        self.hashes, self.prime = hashes, field_size(self.values, hashes)
        if not 2 <= hashes <= field_size(self.values, 2):
            raise ValueError(f"expected 2 to {field_size(self.values, 2)} hashes, found {hashes}")
        self.inner = HeadsResponse(labels * hashes, epsilon=epsilon, belief=belief, chosen=1)
        self.belief = self.inner.belief
        self._check()

    @property
    def ratio(self) -> Fraction:
        return self.inner.ratio

    @property
    def local_epsilon(self) -> float:
        return self.inner.local_epsilon

    @property
    def p(self) -> Fraction:
        return self.inner.p

    @property
    def q(self) -> Fraction:
        """Probability that a report supports a cell of another label."""
        return self.inner.q

    @property
    def q_same(self) -> Fraction:
        """Probability that a report supports another value of the user's label."""
        return self.q + (self.p - self.q) * _collision(self.prime, self.hashes)

    @property
    def bits(self) -> int:
        return 2 * self.prime.bit_length() + self.inner.bits

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        # The residues of 64 bits are equally likely up to a factor of 1 + 2^-49. None depends on
        # the value.
        drawn = words.take(words=2)[0]
        a = 1 + (drawn[:, 0] % np.uint64(self.prime - 1)).astype(np.int64)
        b = (drawn[:, 1] % np.uint64(self.prime)).astype(np.int64)
        label, value = np.divmod(values, self.values)
        hashed = label * self.hashes + self._hash(a, b, value)
        return self._write(a, b, self.inner.randomize(hashed, words))

    def _hash(self, a: Points, b: Points, value: Points) -> Points:
        return (a * value + b) % self.prime * self.hashes // self.prime

    def _write(self, a: Points, b: Points, inner: Reports) -> Reports:
        """Write a, b and the report of the cell without gaps."""
        bits = self.prime.bit_length()
        head = write_integers(np.stack([a, b], axis=1).astype(np.uint64), bits=bits)
        parts = [
            np.unpackbits(part, axis=1, count=count, bitorder="little")
            for part, count in ((head, 2 * bits), (inner, self.inner.bits))
        ]
        return np.packbits(np.concatenate(parts, axis=1), axis=1, bitorder="little")

    def _read(self, reports: Reports) -> tuple[Points, Points, Points]:
        """Read a, b and the cell of each report."""
        self._check_shape(reports)
        bits = self.prime.bit_length()
        digits = np.unpackbits(reports, axis=1, bitorder="little").astype(np.int64)
        if digits[:, self.bits :].any():
            raise ValueError("expected zeros after a report, found other bits")
        numbers = [
            digits[:, start:end] @ (1 << np.arange(end - start))
            for start, end in ((0, bits), (bits, 2 * bits), (2 * bits, self.bits))
        ]
        a, b, cell = numbers
        if (
            a.min(initial=1) < 1
            or max(a.max(initial=1), b.max(initial=0)) >= self.prime
            or cell.max(initial=0) >= self.inner.cells
        ):
            raise ValueError(
                f"expected coefficients below {self.prime} and cells below {self.inner.cells}, "
                "found others"
            )
        return a, b, cell

    def support(self, reports: Reports) -> Counts:
        counts = np.zeros((self.labels, self.values), np.int64)
        for start in range(0, len(reports), BATCH_REPORTS):
            counts += self._count(*self._read(reports[start : start + BATCH_REPORTS]))
        return counts.reshape(-1)

    def _count(self, a: Points, b: Points, cell: Points) -> Counts:
        """Count the reports that support each cell, with a row for each label."""
        label, number = np.divmod(cell, self.hashes)
        hashed = self._hash(a[:, None], b[:, None], np.arange(self.values))
        named = hashed == number[:, None]
        return np.stack(
            [np.count_nonzero(named[label == code], axis=0) for code in range(self.labels)]
        )

    def simulate(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Draw hash functions and cells user by user: supports of one label go together."""
        total = np.zeros((self.labels, self.values), np.int64)
        users, p = np.repeat(np.arange(self.cells), counts), float(self.p)
        for start in range(0, len(users), BATCH_REPORTS):
            label, value = np.divmod(users[start : start + BATCH_REPORTS], self.values)
            a = generator.integers(1, self.prime, len(label))
            b = generator.integers(0, self.prime, len(label))
            true_cell = label * self.hashes + self._hash(a, b, value)
            other_cell = generator.integers(0, self.inner.cells - 1, len(label))
            other_cell += other_cell >= true_cell
            is_true = generator.random(len(label)) < p
            total += self._count(a, b, np.where(is_true, true_cell, other_cell))
        return total.reshape(-1)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        inner = [self.inner.law(cell) for cell in range(self.inner.cells)]
        label, label_value = divmod(value, self.values)
        functions = [(a, b) for a in range(1, self.prime) for b in range(self.prime)]
        law: dict[bytes, Fraction] = {}
        for a, b in functions:
            hashed = (a * label_value + b) % self.prime * self.hashes // self.prime
            for data, chance in inner[label * self.hashes + hashed].items():
                cell = np.frombuffer(data, np.uint8)[None, :]
                report = self._write(np.array([a]), np.array([b]), cell)
                law[report.tobytes()] = chance / len(functions)
        return law

    def estimate(self, support: Counts, *, users: int) -> npt.NDArray[np.float64]:
        p, s, q = float(self.p), float(self.q_same), float(self.q)
        shares = support.reshape(self.labels, self.values) / users
        label_shares = (shares.sum(axis=1) - self.values * q) / self._label_gain
        return np.asarray((shares - q - (s - q) * label_shares[:, None]) / (p - s)).reshape(-1)

    @property
    def _label_gain(self) -> float:
        """How much more a label is supported by its own users than by others, over all values."""
        p, s, q = float(self.p), float(self.q_same), float(self.q)
        return p + (self.values - 1) * s - self.values * q

    def variance(self, *, users: int = 1, frequency: float = 0.0) -> float:
        """Compute the variance of a cell's estimate.

        Users of other labels count exactly, as in `variance_of_set`. Users with the cell are
        taken to add what they add without hashing, which is somewhat more than they do. Other users
        of the label are taken for users of other labels.
        """
        p, s, q = float(self.p), float(self.q_same), float(self.q)
        slope = (p * (1 - p) - q * (1 - q)) / (p - s) ** 2
        return max(self.variance_of_set(1) + frequency * slope, 0.0) / users

    def variance_of_set(self, size: int) -> float:
        """Compute the variance of the sum of so many cells of one label, for a user of another.

        With C the number of the cells and S that of all V values that a report supports, the sum is
        (C - size (s - q) S / gain) / (p - s) plus a constant.
        """
        p, s, q = float(self.p), float(self.q_same), float(self.q)
        t = float(_collision(self.prime, self.hashes))
        size = min(size, self.values)
        of_all = q * (1 + (self.values - 1) * t)  # E[S 1(v is supported)]
        squares = size * q * (1 + (size - 1) * t) - (size * q) ** 2
        products = size * of_all - size * self.values * q * q
        sums = self.values * of_all - (self.values * q) ** 2
        weight = size * (s - q) / self._label_gain
        return (squares - 2 * weight * products + weight**2 * sums) / (p - s) ** 2


def choose_hashes(labels: int, values: int, *, epsilon: float, beliefs: Sequence[float]) -> int:
    """Choose g by the variance of a cell that nobody has.

    The more hashes, the fewer values a report names, and the smaller omega is; but the table is
    larger.

    Args:
        labels: the number of labels.
        values: V.
        epsilon: the privacy loss of the label.
        beliefs: omega(1), omega(2), ... of the values.
    """

    def variance(hashes: int) -> float:
        belief = float(beliefs[named_values(values, hashes) - 1])
        excess = exp(min(epsilon, 700.0)) - 1
        cells = labels * hashes
        p = (excess + belief) / (excess + cells * belief)
        q = (1 - p) / (cells - 1)
        t = float(_collision(field_size(values, hashes), hashes))
        s = q + (p - q) * t
        return q * (1 - q) / (p - s) ** 2 if p > s else inf

    return min(range(2, field_size(values, 2) + 1), key=variance)


def _collision(prime: int, hashes: int) -> Fraction:
    """Compute t, the probability that two different values have the same number."""
    pairs = sum(int(size) * (int(size) - 1) for size in part_sizes(hashes, of=prime))
    return Fraction(pairs, prime * (prime - 1))
