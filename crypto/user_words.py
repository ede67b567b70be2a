"""Random words for users by the million: each word of each user stands at one fixed place, whoever
asks and in what order.

Block i of user u is AES-128 of (u, i) under the stage's key: any users' words can be drawn without
those between them, so results do not depend on how many ranks share the users. Without a seed the
key is the operating system's.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["UserWords", "UserWordStream"]

Words = npt.NDArray[np.uint64]
Users = npt.NDArray[np.int64]

BLOCK = 16
KEPT = 1 << 22
"""Bytes of a buffer that is kept."""
MOST_KEPT = 8


class UserWords:
    """All words of all users in one stage. Not to be shared between threads: it keeps its
    buffers.
    """

    def __init__(self, key: bytes | None) -> None:
        own = os.urandom(BLOCK) if key is None else key[:BLOCK]
        if len(own) != BLOCK:
            raise ValueError(f"expected a key of at least {BLOCK} bytes, found {len(own)}")
        self._cipher = Cipher(algorithms.AES128(own), modes.ECB()).encryptor()  # noqa: S305 - of counters, each used once
        self._buffers: dict[tuple[int, int, int], tuple[Words, npt.NDArray[np.uint8]]] = {}

    def of(self, users: Users) -> UserWordStream:
        """Draw for these users, each once; what was drawn for the users before may be
        overwritten.
        """
        return UserWordStream(self, users)

    def take(self, users: Users, *, first: int, lines: int, words: int) -> Words:
        """Encrypt `lines` lines of `words` words for each user, from block `first` on."""
        blocks = -(-words // 2)
        place = first, lines, blocks
        counters, out = self._buffers.get(place, (None, None))
        if counters is None or out is None or counters.shape[1] != len(users):
            counters = np.empty((lines, len(users), blocks, 2), np.uint64)
            counters[..., 1] = np.arange(first, first + lines * blocks, dtype=np.uint64).reshape(
                lines, 1, blocks
            )
            out = np.empty(counters.nbytes + BLOCK - 1, np.uint8)
            if counters.nbytes <= KEPT:
                if len(self._buffers) >= MOST_KEPT:
                    self._buffers.clear()
                self._buffers[place] = counters, out
        numbers = users.astype(np.uint64)
        for line in counters:  # numpy would take the shortest axis as its innermost
            for block in range(blocks):
                line[:, block, 0] = numbers
        self._cipher.update_into(counters.view(np.uint8).reshape(-1).data, out.data)
        return (
            out[: counters.nbytes].view("<u8").reshape(lines, len(users), 2 * blocks)[:, :, :words]
        )


class UserWordStream:
    """Words of some users, one take after another."""

    def __init__(self, words: UserWords, users: Users) -> None:
        self._words = words
        self._users = users
        self._next = 0

    def __len__(self) -> int:
        return len(self._users)

    def take(self, *, lines: int = 1, words: int = 1) -> Words:
        """Draw the next so many lines of words for each user: an array by line, user, word."""
        first, self._next = self._next, self._next + lines * -(-words // 2)
        return self._words.take(self._users, first=first, lines=lines, words=words)
