"""Randomness: one tree of streams, by role, phase and purpose.

Without a seed every stream reads the operating system's generator. With a seed a stream is the
AES-256-CTR keystream under the key SHA-256(seed, role, phase, purpose). Each part has its length
before it, so that two paths never give the same input. A seeded run is the same to the byte on any
transport and any number of hosts. It is not private: anyone who knows the seed can subtract the
noise.

A path has one stream, which continues where it stopped. So asking twice never repeats noise.

*Forks.* A stream without a seed keeps nothing, so a forked process never draws its parent's bytes.
A stream with a key is closed in the child. Otherwise both would draw the same keystream, and two
results with the same noise differ by an exact figure. A run with a seed need not be private, but
its errors would be correlated. With a secret key it would not be private. So a role with a seed
draws before it forks.

*Wiping.* A keystream's buffer is overwritten when its stream is dropped; OpenSSL does so with the
key. Bytes that were drawn are the caller's.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..messages import MisuseError

__all__ = ["RandomStream", "RandomTree", "forget_after_fork", "stretched_key", "wipe"]

HolderT = TypeVar("HolderT")

BUFFER_BYTES: Final = 4096
STRETCHING_COST: Final = 2**14
"""The cost factor of scrypt: a key takes some 40 ms and 16 MB."""
ALL_USERS: Final = -1
"""Role of all simulated users together; no rank has this number."""
FORKED: Final = (
    "expected to draw from a keystream in the process that began it, found a forked one: "
    "both would draw the same, so draw before you fork"
)


_AFTER_FORK: Final[WeakKeyDictionary[Any, Callable[[Any], None]]] = WeakKeyDictionary()
"""Objects with secrets that a forked process must not use, and how each forgets them."""


def forget_after_fork(holder: HolderT, forget: Callable[[HolderT], None]) -> None:
    """Have an object forget its secrets in every process that is forked from this one."""
    _AFTER_FORK[holder] = forget


def _forget_all() -> None:
    for holder, forget in list(_AFTER_FORK.items()):
        forget(holder)


os.register_at_fork(after_in_child=_forget_all)


def stretched_key(seed: bytes, *, salt: bytes) -> bytes:
    """Derive a key of 32 bytes by scrypt, so that it is expensive to try many seeds."""
    return Scrypt(salt=salt, length=32, n=STRETCHING_COST, r=8, p=1).derive(seed)


def wipe(buffer: bytearray) -> None:
    """Overwrite a buffer with zeros; its length stays."""
    buffer[:] = bytes(len(buffer))


class RandomStream:
    """Uniform bytes, and unbiased integers made of them.

    Without a key they are the operating system's. With a key they are its keystream, which a forked
    process cannot draw.
    """

    def __init__(self, key: bytes | None) -> None:
        self._buffer = bytearray()
        self._position = 0
        self._keyed = key is not None
        self._cipher: CipherContext | None = None
        if key is not None:
            self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
            forget_after_fork(self, RandomStream._close)

    def __del__(self) -> None:
        wipe(self._buffer)

    def _close(self) -> None:
        wipe(self._buffer)
        self._buffer = bytearray()
        self._position = 0
        self._cipher = None

    def draw(self, length: int) -> bytes:
        """Draw bytes.

        Raises:
            MisuseError: the stream has a key, and the process was forked since.
        """
        if not self._keyed:
            return os.urandom(length)
        if length > BUFFER_BYTES:
            return self._keystream().update(bytes(length))
        if self._position + length > len(self._buffer):
            self._refill()
        start, self._position = self._position, self._position + length
        return bytes(self._buffer[start : self._position])

    def _refill(self) -> None:
        """Replace what was drawn from the buffer by the next part of the keystream."""
        kept = len(self._buffer) - self._position
        buffer = bytearray(kept + BUFFER_BYTES)
        self._keystream().update_into(bytes(BUFFER_BYTES), memoryview(buffer)[kept:])
        buffer[:kept] = memoryview(self._buffer)[self._position :]
        wipe(self._buffer)
        self._buffer = buffer
        self._position = 0

    def _keystream(self) -> CipherContext:
        if self._cipher is None:
            raise MisuseError(FORKED)
        return self._cipher

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


class RandomTree:
    """All streams of one role."""

    def __init__(self, seed: int | None, *, role: int) -> None:
        self._seed = seed
        self._role = role
        self._streams: dict[tuple[str, str], RandomStream] = {}
        self._closed = False
        if seed is not None:
            forget_after_fork(self, RandomTree._close)

    def _close(self) -> None:
        self._closed = True

    @property
    def seeded(self) -> bool:
        """Whether the streams follow from a seed."""
        return self._seed is not None

    def stream(self, *, phase: str, purpose: str) -> RandomStream:
        """Return the stream of a path.

        Raises:
            MisuseError: the streams follow from a seed, and the process was forked since.
        """
        if (phase, purpose) not in self._streams:
            if self._closed:
                raise MisuseError(FORKED)
            key = None if self._seed is None else stream_key(self._seed, self._role, phase, purpose)
            self._streams[phase, purpose] = RandomStream(key)
        return self._streams[phase, purpose]

    def key_of_users(self, *, phase: str, purpose: str) -> bytes | None:
        """Derive the key of the words that users draw (`user_words`).

        It is the same on every rank and in forked processes, since each user is in one of them.
        Without a seed there is none, and every rank takes its own from the operating system.
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
