"""What edges ask of a seal between two roles."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Seal", "bound_number"]


class Seal(Protocol):
    """Encrypts all messages between two roles; `crypto.sealed.Channel` is one."""

    def sealed_size(self, size: int) -> int: ...
    def seal(self, payload: bytes | memoryview, *, header: bytes, number: int) -> bytes: ...
    def open(self, sealed: memoryview, *, header: bytes, number: int) -> memoryview: ...


def bound_number(ahead: int) -> bytes:
    """Write the number of frames of releases that were sent ahead of a message, for its seal.

    A network that drops such a frame breaks the seals of all messages after it.
    """
    return ahead.to_bytes(8, "little") if ahead else b""
