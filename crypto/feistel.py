"""A public permutation of [0, N): it assigns millions of users to groups, each by herself.

It is a Feistel network over pairs (l, r) with l + a r < a b, where a b is just above N. Each round
adds to one half a function of the other, modulo the half's size, so each round is one to one. A
result of N or above is permuted again until it is below N (Black, Rogaway 2002). The key is public:
the permutation must have no pattern, but it need not be secret.
"""

from __future__ import annotations

import hashlib
from math import isqrt
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["Permutation"]

Numbers = npt.NDArray[np.int64]
_U64 = npt.NDArray[np.uint64]

ROUNDS: Final = 8
BATCH: Final = 1 << 13
"""Batch size: the working set fits in the cache."""
MAX_SIZE: Final = 1 << 60
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_MIXER: Final = np.uint64(0xD6E8FEB86659FD93)
_HALF: Final = np.uint64(32)


class Permutation:
    """A permutation of the numbers below `size`."""

    def __init__(self, size: int, *, key: bytes) -> None:
        if not 1 <= size <= MAX_SIZE:
            raise ValueError(f"expected 1 to 2^60 numbers, found {size}")
        self.size = size
        self._left = isqrt(size - 1) + 1
        self._right = -(-size // self._left)
        digest = hashlib.shake_256(b"sottovoce permutation v1" + key).digest(8 * ROUNDS)
        self._keys = [
            np.uint64(int.from_bytes(digest[start : start + 8], "little"))
            for start in range(0, len(digest), 8)
        ]

    def of(self, numbers: Numbers) -> Numbers:
        """Permute these numbers."""
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < self.size):
            raise ValueError(
                f"expected numbers from 0 to {self.size - 1}, "
                f"found {numbers.min()} to {numbers.max()}"
            )
        places = np.empty(len(numbers), np.uint64)
        for start in range(0, len(numbers), BATCH):
            part = self._network(numbers[start : start + BATCH].astype(np.uint64))
            while len(over := np.flatnonzero(part >= np.uint64(self.size))):
                part[over] = self._network(part[over])
            places[start : start + BATCH] = part
        return places.astype(np.int64)

    def _network(self, numbers: _U64) -> _U64:
        sizes = np.uint64(self._left), np.uint64(self._right)
        right, left = np.divmod(numbers, sizes[0])
        halves = [left, right]
        for number, key in enumerate(self._keys):
            target, size = number % 2, sizes[number % 2]
            mixed = (halves[1 - target] + key) * _MULTIPLIER
            mixed ^= mixed >> _HALF
            mixed *= _MIXER
            mixed >>= _HALF
            # The number added is below the size. The product fits: the size is at most 2^30.
            halves[target] += (mixed * size) >> _HALF
            # The modulus: a difference below 0 wraps around, and so is the larger.
            np.minimum(halves[target], halves[target] - size, out=halves[target])
        return np.asarray(halves[0] + halves[1] * sizes[0])
