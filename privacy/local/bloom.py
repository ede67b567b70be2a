"""Bloom filters of all attributes, with every bit randomized: RAPPOR's permanent response in LoPub.

Each attribute of c labels has a filter of m = 8 c bits. A label's signature is h different bits of
it, which are public. LoPub takes them from h hash functions; here they are drawn from the survey's
key. The bits of the user's signatures are 1, all others 0. Every bit is replaced by a fair coin
with probability f, so it is flipped with probability f / 2. Two users differ in at most 2 d h bits
of d filters, so

    epsilon = 2 d h ln((2 - f) / f)         f = 2 / (1 + e^(epsilon / 2 d h))

As in unary encoding (`unary`), all bits of a user are drawn at once. f / 2 is a multiple of 2^-k,
rounded up. k is the smallest number of digits with which at most a quarter of a percent of epsilon
is left unused.

Only the bits of a label's signature matter for its likelihood. Compare a label that has a bit with
one that does not. If the bit is 1, the report is (2 - f) / f times as likely from the first label;
if it is 0, it is less likely by the same factor. All signatures have h bits. So each match, a bit
of the signature that is 1, raises the likelihood of the label by ((2 - f) / f)^2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import exp, inf, log, nextafter
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWords, UserWordStream
from ..arguments import SmallBudgetError
from .bits import MAX_BITS, column_sums, digits_of, random_bits
from .per_attribute import Likelihoods, Matches, likelihood
from .randomizer import BATCH_USERS, Codes, Counts, Reports, below_exp, threshold

__all__ = ["BloomFilters", "epsilon_of", "share_of_coins"]

MAX_DIGITS: Final = 32
MAX_UNUSED: Final = 0.0025
"""Share of epsilon that a shorter f / 2 may leave unused."""
MAX_BATCH_BITS: Final = 1 << 24
"""Bits that are drawn, or read, at once."""
ATTEMPTS: Final = 64
"""Attempts to find signatures that all differ."""


def epsilon_of(f: float, *, attributes: int, hashes: int) -> float:
    """Compute a user's privacy loss.

    >>> [round(epsilon_of(f, attributes=15, hashes=5), 4) for f in (0.9, 0.5, 0.1)]
    [30.1006, 164.7918, 441.6658]
    """
    return 2 * attributes * hashes * log((2 - f) / f)


def share_of_coins(epsilon: float, *, attributes: int, hashes: int) -> float:
    """Compute f, the share of bits that are replaced by coins.

    >>> round(share_of_coins(30.1006, attributes=15, hashes=5), 6)
    0.9
    """
    return 2 / (1 + exp(epsilon / (2 * attributes * hashes)))


class BloomFilters:
    """A randomizer that reports all attributes of a user at once."""

    name = "bloom"

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        epsilon: float,
        key: bytes,
        hashes: int = 5,
        bits_per_value: int = 8,
    ) -> None:
        """Make the randomizer.

        Args:
            sizes: the number of labels of each attribute.
            epsilon: the privacy loss.
            key: the public key from which signatures are drawn.
            hashes: h.
            bits_per_value: m / c.
        """
        if not sizes or min(sizes) < 2:
            raise ValueError(f"expected attributes of at least 2 labels, found {list(sizes)}")
        if not 0 < epsilon < inf:
            raise ValueError(f"expected a finite epsilon above 0, found {epsilon}")
        self.sizes = tuple(sizes)
        self.widths = tuple(bits_per_value * size for size in sizes)
        if not 1 <= hashes <= min(self.widths):
            raise ValueError(
                f"expected 1 to {min(self.widths)} hashes, the bits of the smallest filter, "
                f"found {hashes}"
            )
        if sum(self.widths) > MAX_BITS:
            raise ValueError(
                f"expected filters of at most 2^22 bits in all, found {sum(self.widths):,}"
            )
        self.epsilon = epsilon
        self.hashes = hashes
        self.bits_per_value = bits_per_value
        self._number, self.digits = self._choose()
        self._ones = digits_of(self._number, digits=self.digits)
        self._first = np.concatenate([[0], np.cumsum(self.widths)]).tolist()
        self._signatures = [
            _signatures(key, attribute, size, width, hashes)
            for attribute, (size, width) in enumerate(zip(self.sizes, self.widths, strict=True))
        ]

    def _choose(self) -> tuple[int, int]:
        """Choose the probability of a flip: its numerator, and the digits of its denominator."""
        # The quotient may have been rounded up, so the float below it is taken.
        of_bit = nextafter(self.epsilon / (2 * len(self.sizes) * self.hashes), 0)
        least = 1 / (below_exp(of_bit) + 1)
        numbers = [threshold(least, bits=digits, up=True) for digits in range(1, MAX_DIGITS + 1)]
        losses = [
            log(((1 << k) - n) / n) if 2 * n < 1 << k else 0.0
            for k, n in enumerate(numbers, start=1)
        ]
        if not losses[-1] > 0:
            raise SmallBudgetError(
                f"expected an epsilon that {MAX_DIGITS} digits can express, "
                f"found {self.epsilon:g}: choose a larger one"
            )
        enough = (1 - MAX_UNUSED) * losses[-1]
        digits = next(k for k, loss in enumerate(losses, start=1) if loss >= enough)
        return numbers[digits - 1], digits

    @property
    def flips(self) -> Fraction:
        """Probability that a bit is flipped, f / 2."""
        return Fraction(self._number, 1 << self.digits)

    @property
    def spent(self) -> float:
        """Actual privacy loss of a report: epsilon, except for rounding."""
        return epsilon_of(2 * float(self.flips), attributes=len(self.sizes), hashes=self.hashes)

    @property
    def bits(self) -> int:
        """Bits of a report on the wire."""
        return sum(self.widths)

    @property
    def size(self) -> int:
        """Bytes of a report in memory."""
        return -(-self.bits // 8)

    @property
    def ratio(self) -> float:
        """Logarithm of the factor by which a match raises the likelihood."""
        q = float(self.flips)
        return 2 * log((1 - q) / q)

    def signatures(self, attribute: int) -> npt.NDArray[np.float64]:
        """Return the signatures of an attribute as columns of zeros and ones."""
        size = self.sizes[attribute]
        matrix = np.zeros((self.widths[attribute], size))
        matrix[self._signatures[attribute].T, np.arange(size)] = 1
        return matrix

    def report(
        self, values: Sequence[Codes], *, users: npt.NDArray[np.int64], words: UserWords
    ) -> Reports:
        """Make users' reports from their values, an array for each attribute: the users' side."""
        reports = np.empty((len(users), self.size), np.uint8)
        step = max(1, min(BATCH_USERS, MAX_BATCH_BITS // self.bits))
        for start in range(0, len(users), step):
            part = slice(start, start + step)
            codes = [column[part] for column in values]
            reports[part] = self._randomize(codes, words.of(users[part]))
        return reports

    def _randomize(self, values: Sequence[Codes], words: UserWordStream) -> Reports:
        reports = random_bits(words, columns=self.bits, ones=self._ones)
        octets, rows = reports.reshape(-1), np.arange(len(words)) * self.size
        for first, signatures, codes in zip(self._first, self._signatures, values, strict=False):
            # One bit of each user is flipped at a time, because two may be in one byte.
            for places in (first + signatures[codes]).T:
                octets[rows + (places >> 3)] ^= (1 << (places & 7)).astype(np.uint8)
        return reports

    def ones(self, reports: Reports) -> list[Counts]:
        """Count the reports in which each bit is 1, attribute by attribute."""
        return np.split(column_sums(reports, columns=self.bits), self._first[1:-1])

    def frequencies(self, ones: Sequence[Counts], *, users: int) -> list[npt.NDArray[np.float64]]:
        """Estimate the number of users whose filters have each bit, without bias."""
        q = float(self.flips)
        return [np.asarray((counts - users * q) / (1 - 2 * q), np.float64) for counts in ones]

    def matches(self, reports: Reports) -> list[Matches]:
        """Count the matches of each label and user, attribute by attribute."""
        matches = [np.zeros((size, len(reports)), np.uint8) for size in self.sizes]
        step = max(1, MAX_BATCH_BITS // self.bits)
        for start in range(0, len(reports), step):
            part = slice(start, start + step)
            bits = np.unpackbits(reports[part], axis=1, count=self.bits, bitorder="little").T.copy()
            for first, signatures, table in zip(
                self._first, self._signatures, matches, strict=False
            ):
                for places in signatures.T:
                    table[:, part] += bits[first + places]
        return matches

    def likelihood(self, matches: Matches, *, kind: type[np.floating] = np.float32) -> Likelihoods:
        """Compute the likelihood of reports from each label of an attribute, by its matches."""
        return likelihood(matches, ratio=self.ratio, kind=kind)

    def law(self, values: Sequence[int]) -> Mapping[bytes, Fraction]:
        """List all reports of these values with their probabilities; for few bits."""
        truth = np.zeros(self.bits, np.uint8)
        for first, signatures, code in zip(self._first, self._signatures, values, strict=False):
            truth[first + signatures[code]] = 1
        law = {}
        for bits in product((0, 1), repeat=self.bits):
            flipped = int((np.array(bits) != truth).sum())
            report = np.packbits(np.array(bits, np.uint8), bitorder="little")
            probability = self.flips**flipped * (1 - self.flips) ** (self.bits - flipped)
            law[report.tobytes()] = probability
        return law


def _signatures(
    key: bytes, attribute: int, size: int, width: int, hashes: int
) -> npt.NDArray[np.int64]:
    """Draw the signatures of an attribute's labels, a row for each label.

    They all differ, if an attempt finds such signatures.
    """
    digest = hashlib.sha256(
        b"sottovoce bloom v1"
        + len(key).to_bytes(8, "little")
        + key
        + attribute.to_bytes(8, "little")
    )
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(list(digest.digest()))))
    for _ in range(ATTEMPTS):
        signatures = np.array(
            [np.sort(generator.choice(width, hashes, replace=False)) for _ in range(size)]
        )
        if len(np.unique(signatures, axis=0)) == size:
            break
    return signatures
