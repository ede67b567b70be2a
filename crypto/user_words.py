"""Random words for millions of users: each word of each user has one fixed place.

Block i of user u is AES-128 of (u, i) under the stage's key. So the words of any users can be drawn
without those of others, and results do not depend on how many ranks share the users. Without a seed
the key comes from the operating system, and a forked process takes another one.
"""

from __future__ import annotations

import os
from typing import Final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from .randomness import forget_after_fork

__all__ = ["UserWordStream", "UserWords"]

Words = npt.NDArray[np.uint64]
Users = npt.NDArray[np.int64]

BLOCK_BYTES: Final = 16
MAX_KEPT_BYTES: Final = 1 << 22
"""Largest buffer that is kept."""
MAX_KEPT_BUFFERS: Final = 8


class UserWords:
    """All words of all users in one stage.

    Threads must not share one: it keeps its buffers.
    """

    def __init__(self, key: bytes | None) -> None:
        self._buffers: dict[tuple[int, int, int], tuple[Words, npt.NDArray[np.uint8]]] = {}
        self._set_key(os.urandom(BLOCK_BYTES) if key is None else key[:BLOCK_BYTES])
        if key is None:
            forget_after_fork(self, UserWords._renew)

    def _renew(self) -> None:
        """Take another key from the operating system."""
        self._set_key(os.urandom(BLOCK_BYTES))

    def _set_key(self, aes_key: bytes) -> None:
        if len(aes_key) != BLOCK_BYTES:
            raise ValueError(
                f"expected a key of at least {BLOCK_BYTES} bytes, found {len(aes_key)}"
            )
        # The blocks are counters, each used once, so ECB repeats nothing.
        self._cipher = Cipher(algorithms.AES128(aes_key), modes.ECB()).encryptor()  # noqa: S305

    def of(self, users: Users) -> UserWordStream:
        """Begin to draw for these users.

        The next draw may overwrite words that were drawn for other users before.
        """
        return UserWordStream(self, users)

    def take(self, users: Users, *, first: int, lines: int, words: int) -> Words:
        """Draw `lines` lines of `words` words for each user, from block `first` on."""
        blocks = -(-words // 2)
        place = first, lines, blocks
        counters, out = self._buffers.get(place, (None, None))
        if counters is None or out is None or counters.shape[1] != len(users):
            counters = np.empty((lines, len(users), blocks, 2), np.uint64)
            counters[..., 1] = np.arange(first, first + lines * blocks, dtype=np.uint64).reshape(
                lines, 1, blocks
            )
            out = np.empty(counters.nbytes + BLOCK_BYTES - 1, np.uint8)
            if counters.nbytes <= MAX_KEPT_BYTES:
                if len(self._buffers) >= MAX_KEPT_BUFFERS:
                    self._buffers.clear()
                self._buffers[place] = counters, out
        numbers = users.astype(np.uint64)
        # These are loops because numpy would take the shortest axis as its innermost.
        for line in counters:
            for block in range(blocks):
                line[:, block, 0] = numbers
        self._cipher.update_into(counters.view(np.uint8).reshape(-1).data, out.data)
        drawn = out[: counters.nbytes].view("<u8")
        return drawn.reshape(lines, len(users), 2 * blocks)[:, :, :words]


class UserWordStream:
    """The words of some users, one draw after another."""

    def __init__(self, words: UserWords, users: Users) -> None:
        self._words = words
        self._users = users
        self._next_block = 0

    def __len__(self) -> int:
        return len(self._users)

    def take(self, *, lines: int = 1, words: int = 1) -> Words:
        """Draw the next lines of words for each user: an array by line, user and word."""
        first = self._next_block
        self._next_block += lines * -(-words // 2)
        return self._words.take(self._users, first=first, lines=lines, words=words)
