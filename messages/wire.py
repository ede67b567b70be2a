"""Wires: what a transport must do.

A wire carries frames between roles, in order on each edge, and ends all roles together. There are
three: `ThreadWire`, `MPIWire`, and `VirtualWire` of the room `network`. All carry the same bytes
and pass one conformance suite. What a frame means, who waits for whom, and what is counted is above
them, in `exchange` and `edges`, so that it cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn, Protocol, TypeAlias

__all__ = ["LOST", "MAX_FRAME_BYTES", "Buffer", "Wire", "WireTimeout"]

Buffer: TypeAlias = bytes | bytearray | memoryview

MAX_FRAME_BYTES: Final = 1 << 36
"""Longest frame that a role accepts by default, 64 GiB.

It bounds what a wrong length can make a role allocate.
"""


LOST: Final = memoryview(b"")
"""What arrives after the last frame of a role whose process is lost, where others go on without it.

This object itself is the notice, and no frame has it. Where a loss ends the run there is none.
"""


class WireTimeout(Exception):
    """Bytes did not leave within the time allowed; the caller adds for what.

    Args:
        receiver: who did not take them in; `None` stands for the receiver of the last frame.
    """

    def __init__(self, receiver: int | None = None) -> None:
        super().__init__()
        self.receiver = receiver


class Wire(Protocol):
    """One role's end of the transport."""

    rank: int
    size: int

    def clock(self) -> float:
        """Give the role's time in seconds. Waits are measured by it, and so is the run."""

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        """Send the parts as one frame; return when they may be changed again.

        The receiver need not have asked for the frame: it takes frames in whenever it waits for
        anything.

        Args:
            parts: the bytes.
            to: the receiver's rank.
            timeout: seconds that this may take.
            more: whether frames for other receivers follow at once. Then this call need not wait
                for the receiver, and the last one waits for all.

        Raises:
            WireTimeout: the time is up.
        """

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        """Wait for the next frame from anybody, without keeping a core busy.

        Returns:
            The sender's rank and the frame, or `LOST` for a role that is lost; `None` when the time
            is up.
        """

    def abort(self, status: int) -> NoReturn:
        """End all roles at once, with this exit status."""
