"""A public permutation of [0, N): who of millions of users belongs to which group, computed for any
of them alone.

A Feistel network over pairs (l, r) with l + a r below a b, a b just above N: each round adds to one
half a function of the other, modulo its size, so each is one to one; what lands at N or above walks
on until it does not (Black, Rogaway 2002). The key is public: the permutation has to be without
pattern, not secret.
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
AT_A_TIME: Final = 1 << 13
MOST: Final = 1 << 60
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_MIXER: Final = np.uint64(0xD6E8FEB86659FD93)
_HALF: Final = np.uint64(32)


class Permutation:
    """Of so many numbers."""

    def __init__(self, size: int, *, key: bytes) -> None:
        if not 1 <= size <= MOST:
            raise ValueError(f"expected 1 to 2^60 numbers, found {size}")
        self.size = size
        self._left = isqrt(size - 1) + 1
        self._right = -(-size // self._left)
        digest = hashlib.shake_256(b"sottovoce permutation v1" + key).digest(8 * ROUNDS)
        self._keys = [
            np.uint64(int.from_bytes(digest[at : at + 8], "little"))
            for at in range(0, len(digest), 8)
        ]

    def of(self, numbers: Numbers) -> Numbers:
        """Say where these numbers go."""
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < self.size):
            raise ValueError(
                f"expected numbers from 0 to {self.size - 1}, found {numbers.min()} to {numbers.max()}"
            )
        found = np.empty(len(numbers), np.uint64)
        for start in range(0, len(numbers), AT_A_TIME):
            part = self._once(numbers[start : start + AT_A_TIME].astype(np.uint64))
            while len(over := np.flatnonzero(part >= np.uint64(self.size))):
                part[over] = self._once(part[over])
            found[start : start + AT_A_TIME] = part
        return found.astype(np.int64)

    def _once(self, numbers: _U64) -> _U64:
        sizes = np.uint64(self._left), np.uint64(self._right)
        right, left = np.divmod(numbers, sizes[0])
        halves = [left, right]
        for number, key in enumerate(self._keys):
            mine, size = number % 2, sizes[number % 2]
            mixed = (halves[1 - mine] + key) * _MULTIPLIER
            mixed ^= mixed >> _HALF
            mixed *= _MIXER
            mixed >>= _HALF
            halves[mine] += (mixed * size) >> _HALF  # a number below the size, as it is below 2^30
            np.minimum(
                halves[mine], halves[mine] - size, out=halves[mine]
            )  # what is below the size wraps around
        return np.asarray(halves[0] + halves[1] * sizes[0])
