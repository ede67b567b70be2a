"""Buffers: collect bytes without copying large parts, and read bytes without trusting lengths."""

from __future__ import annotations

import struct
from typing import Final

from .errors import MessageError, Private

__all__ = ["MIN_SEPARATE_BYTES", "Reader", "Writer"]

MIN_SEPARATE_BYTES: Final = 4096
"""Shorter parts are copied together; longer ones are passed on as they are."""
_U64: Final = struct.Struct("<Q")


class Writer:
    """Collects a payload as a list of buffers; large parts stay where they are."""

    __slots__ = ("_parts", "_small", "ciphertext", "size", "user_bits")

    def __init__(self) -> None:
        self._parts: list[bytes | bytearray | memoryview] = []
        self._small = bytearray()
        self.size = 0
        self.ciphertext = 0
        self.user_bits = 0

    def write(self, data: bytes | memoryview) -> None:
        length = len(data)
        self.size += length
        if length < MIN_SEPARATE_BYTES:
            self._small += data
            return
        if self._small:
            self._parts.append(self._small)
            self._small = bytearray()
        self._parts.append(data)

    def parts(self) -> list[bytes | bytearray | memoryview]:
        """Return the buffers in order."""
        if self._small:
            self._parts.append(self._small)
            self._small = bytearray()
        return self._parts


class Reader:
    """Takes a payload apart; it never returns bytes that are not there."""

    __slots__ = ("_buffer", "_position")

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer.toreadonly()
        self._position = 0

    @property
    def left(self) -> int:
        """Number of bytes that were not read yet."""
        return len(self._buffer) - self._position

    def take(self, length: int) -> memoryview:
        """Read the next bytes."""
        if length > len(self._buffer) - self._position:
            raise MessageError(
                "expected ",
                Private(length),
                " more bytes, found ",
                Private(self.left),
                ": the message is truncated",
            )
        start, self._position = self._position, self._position + length
        return self._buffer[start : self._position]

    def u64(self) -> int:
        """Read an unsigned integer of 64 bits."""
        value: int = _U64.unpack(self.take(8))[0]
        return value

    def align(self) -> None:
        """Skip the zeros up to a multiple of 8 bytes."""
        if self._position % 8 and any(self.take(-self._position % 8)):
            raise MessageError("expected zeros as padding, found other bytes")
