"""Bloom filters of all attributes, each bit turned over by itself: RAPPOR's permanent response as
LoPub has it.

For each attribute of c labels a filter of m = 8 c bits. A label's signature is h bits of it,
different ones, and public: what LoPub's h hash functions say, drawn from the survey's key instead.
The user's signatures are 1, all else 0, and every bit is replaced with probability f by a fair
coin: it is turned over with probability f / 2. Two users differ in at most 2 d h bits of d filters,
so

    epsilon = 2 d h ln((2 - f) / f)         f = 2 / (1 + e^(epsilon / 2 d h))

As for unary encoding (`unary`), all bits of a user are drawn at once, and f / 2 is a whole number
of 2^-k, rounded up, with the fewest digits k at which no more than a quarter of a percent of
epsilon is given away.

Of a report only the bits of signatures matter: one that is 1 makes it (2 - f) / f times as likely
from the label as from one that does not have it, one that is 0 so many times less. All have h, so
with the number of them that are 1, the matches, the likelihood of a label rises by ((2 - f) / f)^2
each.
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
from .bits import MOST_BITS, column_sums, digits_of, random_bits
from .randomizer import AT_A_TIME, Codes, Counts, Reports, below_exp, threshold
from .per_attribute import Matches, likelihood

__all__ = ["BloomFilters", "epsilon_of", "share_of_coins"]

MOST_DIGITS: Final = 32
LOSS: Final = 0.0025
"""Share of epsilon that a shorter f / 2 may give away."""
AT_ONCE: Final = 1 << 24
"""Bits that are made, or read, at a time."""
ATTEMPTS: Final = 64
"""To find signatures that all differ."""


def epsilon_of(f: float, *, attributes: int, hashes: int) -> float:
    """Compute what a user spends.

    >>> [round(epsilon_of(f, attributes=15, hashes=5), 4) for f in (0.9, 0.5, 0.1)]
    [30.1006, 164.7918, 441.6658]
    """
    return 2 * attributes * hashes * log((2 - f) / f)


def share_of_coins(epsilon: float, *, attributes: int, hashes: int) -> float:
    """Compute f, the share of bits that are coins, for an epsilon.

    >>> round(share_of_coins(30.1006, attributes=15, hashes=5), 6)
    0.9
    """
    return 2 / (1 + exp(epsilon / (2 * attributes * hashes)))


class BloomFilters:
    """All attributes of a user, in one report."""

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
        """`sizes`: the labels of each attribute; `key`: what the signatures are drawn from,
        public.
        """
        if not sizes or min(sizes) < 2:
            raise ValueError(f"expected attributes of at least 2 labels, found {list(sizes)}")
        if not 0 < epsilon < inf:
            raise ValueError(f"expected a finite epsilon above 0, found {epsilon}")
        self.sizes = tuple(sizes)
        self.widths = tuple(bits_per_value * size for size in sizes)
        if not 1 <= hashes <= min(self.widths):
            raise ValueError(
                f"expected 1 to {min(self.widths)} hashes, as the smallest filter has so many bits, found {hashes}"
            )
        if sum(self.widths) > MOST_BITS:
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
            _signatures(key, at, size, width, hashes)
            for at, (size, width) in enumerate(self._each())
        ]

    def _each(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes, self.widths, strict=True))

    def _choose(self) -> tuple[int, int]:
        """Choose how likely a bit is turned over: so many of 2^digits."""
        # Of the quotient, which may have been rounded up.
        least = 1 / (
            below_exp(nextafter(self.epsilon / (2 * len(self.sizes) * self.hashes), 0)) + 1
        )
        numbers = [threshold(least, bits=digits, up=True) for digits in range(1, MOST_DIGITS + 1)]
        each = [
            log(((1 << k) - n) / n) if 2 * n < 1 << k else 0.0
            for k, n in enumerate(numbers, start=1)
        ]
        if not each[-1] > 0:
            raise ValueError(
                f"expected an epsilon that {MOST_DIGITS} digits can express, found {self.epsilon:g}: too small"
            )
        digits = next(k for k, own in enumerate(each, start=1) if own >= (1 - LOSS) * each[-1])
        return numbers[digits - 1], digits

    @property
    def flips(self) -> Fraction:
        """How likely a bit is turned over: f / 2."""
        return Fraction(self._number, 1 << self.digits)

    @property
    def spent(self) -> float:
        """What a report spends in truth: epsilon, but for rounding."""
        return epsilon_of(2 * float(self.flips), attributes=len(self.sizes), hashes=self.hashes)

    @property
    def bits(self) -> int:
        """Of a report."""
        return sum(self.widths)

    @property
    def size(self) -> int:
        """Bytes of a report in memory."""
        return -(-self.bits // 8)

    @property
    def ratio(self) -> float:
        """The logarithm of how many times as likely a report is for each match."""
        q = float(self.flips)
        return 2 * log((1 - q) / q)

    def signatures(self, at: int) -> npt.NDArray[np.float64]:
        """Write the signatures of an attribute as columns of zeros and ones."""
        found = np.zeros((self.widths[at], self.sizes[at]))
        found[self._signatures[at].T, np.arange(self.sizes[at])] = 1
        return found

    def report(
        self, values: Sequence[Codes], *, users: npt.NDArray[np.int64], words: UserWords
    ) -> Reports:
        """Make the reports of users with these values, an array an attribute: the users' side."""
        out = np.empty((len(users), self.size), np.uint8)
        step = max(1, min(AT_A_TIME, AT_ONCE // self.bits))
        for start in range(0, len(users), step):
            part = slice(start, start + step)
            out[part] = self._randomize([own[part] for own in values], words.of(users[part]))
        return out

    def _randomize(self, values: Sequence[Codes], words: UserWordStream) -> Reports:
        said = random_bits(words, columns=self.bits, ones=self._ones)
        octets, lines = said.reshape(-1), np.arange(len(words)) * self.size
        for first, signatures, codes in zip(self._first, self._signatures, values, strict=False):
            for places in (
                first + signatures[codes]
            ).T:  # one of each user at a time: two may be in one byte
                octets[lines + (places >> 3)] ^= (1 << (places & 7)).astype(np.uint8)
        return said

    def ones(self, reports: Reports) -> list[Counts]:
        """Count the ones of each bit, attribute by attribute."""
        return np.split(column_sums(reports, columns=self.bits), self._first[1:-1])

    def frequencies(self, ones: Sequence[Counts], *, users: int) -> list[npt.NDArray[np.float64]]:
        """Estimate from the ones how many users' filters have each bit, without bias."""
        q = float(self.flips)
        return [np.asarray((own - users * q) / (1 - 2 * q), np.float64) for own in ones]

    def matches(self, reports: Reports) -> list[Matches]:
        """Count for each label and user the bits of its signature that are 1, attribute by
        attribute.
        """
        found = [np.zeros((size, len(reports)), np.uint8) for size in self.sizes]
        step = max(1, AT_ONCE // self.bits)
        for start in range(0, len(reports), step):
            part = slice(start, start + step)
            bits = np.unpackbits(reports[part], axis=1, count=self.bits, bitorder="little").T.copy()
            for first, signatures, own in zip(self._first, self._signatures, found, strict=False):
                for places in signatures.T:
                    own[:, part] += bits[first + places]
        return found

    def likelihood(
        self, matches: Matches, *, kind: type[np.floating] = np.float32
    ) -> npt.NDArray[np.floating]:
        """Say how likely reports are from each label of an attribute, by its matches."""
        return likelihood(matches, ratio=self.ratio, kind=kind)

    def law(self, values: Sequence[int]) -> Mapping[bytes, Fraction]:
        """Write out how likely each report is from values; for few bits."""
        truth = np.zeros(self.bits, np.uint8)
        for first, signatures, code in zip(self._first, self._signatures, values, strict=False):
            truth[first + signatures[code]] = 1
        found = {}
        for said in product((0, 1), repeat=self.bits):
            turned = int((np.array(said) != truth).sum())
            likely = self.flips**turned * (1 - self.flips) ** (self.bits - turned)
            found[np.packbits(np.array(said, np.uint8), bitorder="little").tobytes()] = likely
        return found


def _signatures(
    key: bytes, attribute: int, size: int, width: int, hashes: int
) -> npt.NDArray[np.int64]:
    """Draw the signatures of an attribute's labels: a line a label. All different, if that can be
    had by chance.
    """
    digest = hashlib.sha256(
        b"sottovoce bloom v1"
        + len(key).to_bytes(8, "little")
        + key
        + attribute.to_bytes(8, "little")
    )
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(list(digest.digest()))))
    for _ in range(ATTEMPTS):
        found = np.array(
            [np.sort(generator.choice(width, hashes, replace=False)) for _ in range(size)]
        )
        if len(np.unique(found, axis=0)) == size:
            break
    return found
