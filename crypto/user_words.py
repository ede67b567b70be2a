"""Random words for users by the million: word j of user u stands at one fixed place, whoever asks for it and in what order.

One AES-256-CTR keystream a stage; user u has blocks u b to u b + b - 1 of it. So results do not depend on how many ranks
share the users, and a rank can begin anywhere. Without a seed the key is the operating system's.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["UserWords"]

Words = npt.NDArray[np.uint64]

WORDS_OF_A_BLOCK = 2


class UserWords:
    """So many 64-bit words for each user."""

    def __init__(self, key: bytes | None, *, words: int) -> None:
        if words < 0:
            raise ValueError(f"expected at least 0 words for a user, found {words}")
        self._key = os.urandom(32) if key is None else key
        self._blocks = -(-words // WORDS_OF_A_BLOCK)
        self.words = words

    def of(self, first: int, users: int) -> Words:
        """Draw the words of users `first`, `first` + 1, ...: a line a user."""
        if first < 0 or users < 0:
            raise ValueError(f"expected users from 0 on, found {users} from {first}")
        counter = (first * self._blocks).to_bytes(16, "big")
        stream = Cipher(algorithms.AES256(self._key), modes.CTR(counter)).encryptor()
        drawn = stream.update(bytes(16 * self._blocks * users))
        return np.frombuffer(drawn, "<u8").reshape(users, WORDS_OF_A_BLOCK * self._blocks)[:, : self.words]
