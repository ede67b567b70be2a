"""Randomness: one tree of streams, by role, phase and purpose.

Without a seed every stream reads the operating system's generator. With a seed a stream is the
AES-256-CTR keystream under the key SHA-256(seed, role, phase, purpose). Each part has its length
before it, so that two paths never give the same input. A seeded run is the same to the byte on any
transport and any number of hosts. It is not private: anyone who knows the seed can subtract the
noise.

A path has one stream, which continues where it stopped. So asking twice never repeats noise.

A process that is forked inherits its parent's streams. What a stream has read from the operating
system and not yet given out is forgotten in the child, so that parent and child never draw the same
bytes. The child of a seeded run continues the parent's keystream, as any run with this seed does.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["RandomStream", "RandomTree", "forget_after_fork"]

HolderT = TypeVar("HolderT")

BUFFER_BYTES: Final = 4096
ALL_USERS: Final = -1
"""Role of all simulated users together; no rank has this number."""


_AFTER_FORK: Final[WeakKeyDictionary[Any, Callable[[Any], None]]] = WeakKeyDictionary()
"""Objects with randomness from the operating system, and how each forgets it."""


def forget_after_fork(holder: HolderT, forget: Callable[[HolderT], None]) -> None:
    """Have an object forget its randomness in every process that is forked from this one."""
    _AFTER_FORK[holder] = forget


def _forget_all() -> None:
    for holder, forget in list(_AFTER_FORK.items()):
        forget(holder)


os.register_at_fork(after_in_child=_forget_all)


class RandomStream:
    """Uniform bytes, and unbiased integers made of them."""

    def __init__(self, key: bytes | None) -> None:
        self._cipher = (
            None
            if key is None
            else Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        )
        self._forget()
        if key is None:
            forget_after_fork(self, RandomStream._forget)

    def _forget(self) -> None:
        self._buffer = b""
        self._position = 0

    def draw(self, length: int) -> bytes:
        """Draw bytes."""
        if length > BUFFER_BYTES:
            return self._fresh(length)
        if self._position + length > len(self._buffer):
            self._buffer = self._buffer[self._position :] + self._fresh(BUFFER_BYTES)
            self._position = 0
        start, self._position = self._position, self._position + length
        return self._buffer[start : self._position]

    def below(self, bound: int) -> int:
        """Draw an integer from 0 to bound - 1, exactly uniform, by rejection."""
        if bound < 1:
            raise ValueError(f"expected a bound of at least 1, found {bound}")
        bits = (bound - 1).bit_length()
        length = (bits + 7) // 8
        while True:
            number = int.from_bytes(self.draw(length), "little") >> (8 * length - bits)
            if number < bound:
                return number

    def generator(self) -> np.random.Generator:
        """Make a numpy generator, seeded with 256 bits, for choices that need not be secret."""
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(self.draw(32)))))

    def _fresh(self, length: int) -> bytes:
        return os.urandom(length) if self._cipher is None else self._cipher.update(bytes(length))


class RandomTree:
    """All streams of one role."""

    def __init__(self, seed: int | None, *, role: int) -> None:
        self._seed = seed
        self._role = role
        self._streams: dict[tuple[str, str], RandomStream] = {}

    @property
    def seeded(self) -> bool:
        """Whether the streams follow from a seed."""
        return self._seed is not None

    def stream(self, *, phase: str, purpose: str) -> RandomStream:
        """Return the stream of a path."""
        if (phase, purpose) not in self._streams:
            key = None if self._seed is None else stream_key(self._seed, self._role, phase, purpose)
            self._streams[phase, purpose] = RandomStream(key)
        return self._streams[phase, purpose]

    def key_of_users(self, *, phase: str, purpose: str) -> bytes | None:
        """Derive the key of the words that users draw (`user_words`).

        It is the same on every rank, since each user is on one rank only. Without a seed there is
        none, and every rank takes its own from the operating system.
        """
        return None if self._seed is None else stream_key(self._seed, ALL_USERS, phase, purpose)


def stream_key(seed: int, role: int, phase: str, purpose: str) -> bytes:
    """Derive a stream's key; two paths never have the same encoding.

    >>> stream_key(7, 1, "ab", "c") == stream_key(7, 1, "a", "bc")
    False
    """
    digest = hashlib.sha256(b"sottovoce randomness v1")
    for part in (str(seed), str(role), phase, purpose):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
