"""Buffers: how bytes are collected without copying what is large, and taken apart without believing
what is claimed.
"""

from __future__ import annotations

import struct
from typing import Final

from .errors import MessageError

__all__ = ["APART", "Reader", "Writer"]

APART: Final = 4096
"""From this many bytes on, a buffer is passed on as it lies instead of being copied into the
surrounding bytes.
"""
_U64: Final = struct.Struct("<Q")


class Writer:
    """Collects a payload as a list of buffers; what is large stays where it lies."""

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
        if length < APART:
            self._small += data
            return
        if self._small:
            self._parts.append(self._small)
            self._small = bytearray()
        self._parts.append(data)

    def parts(self) -> list[bytes | bytearray | memoryview]:
        if self._small:
            self._parts.append(self._small)
            self._small = bytearray()
        return self._parts


class Reader:
    """Takes a payload apart; it never hands out bytes that are not there."""

    __slots__ = ("_at", "_buffer")

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer.toreadonly()
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._buffer) - self._at

    def take(self, length: int) -> memoryview:
        if length > len(self._buffer) - self._at:
            raise MessageError(
                f"expected {length} more bytes, found {self.left}: the message is truncated"
            )
        start, self._at = self._at, self._at + length
        return self._buffer[start : self._at]

    def u64(self) -> int:
        value: int = _U64.unpack(self.take(8))[0]
        return value

    def align(self) -> None:
        if self._at % 8 and any(self.take(-self._at % 8)):
            raise MessageError("expected zeros as padding, found other bytes")
