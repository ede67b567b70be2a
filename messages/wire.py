"""What a transport must do: carry frames between roles, in order on each edge, and end all roles
together.

Two exist, `ThreadWire` and `MPIWire`; both carry the same bytes and pass one conformance suite.
Everything else (what a frame means, who waits for whom, what is counted) is above them, in
`conversation`, so that it cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn, Protocol, TypeAlias

__all__ = ["MAX_FRAME_BYTES", "Buffer", "Wire", "WireTimeout"]

Buffer: TypeAlias = bytes | bytearray | memoryview

MAX_FRAME_BYTES: Final = 1 << 36
"""The longest frame a role accepts unless told otherwise, 64 GiB: a bound on what a wrong length
can make us allocate.
"""


class WireTimeout(Exception):
    """Bytes did not leave within the time allowed; the conversation says for whom and for what."""


class Wire(Protocol):
    """One role's end of the transport."""

    rank: int
    size: int

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        """Send the parts as one frame; return when they may be changed again, raise `WireTimeout`
        when that takes too long.

        The receiver need not have asked for the frame: it takes frames in whenever it waits for
        anything.
        """

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        """Wait for the next frame from anybody; `None` when the time is up. A waiting role does not
        burn a core.
        """

    def abort(self, status: int) -> NoReturn:
        """End all roles, now, with this exit status."""
