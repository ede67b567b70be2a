"""The stack above the links: how MPI and TCP carry one message.

These are the effects that measurements between network namespaces showed to matter, by size:

- A frame above the eager limit is announced, and its data leave when the receiver has answered.
  This costs a round trip, for which the sender is held. A receiver that computes does not answer.
- Shorter frames leave at once, but a sender's system takes only about two windows of bytes at once.
- TCP begins with ten segments and doubles them with every round trip, and BBR, the congestion
  control of many Linux hosts, spreads what it sends (`window`).
- A role that waits naps, and notices a frame 1 ms later on average.

Acknowledgements of single segments, and queues of single packets, changed no figure noticeably.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "MIN_RETRANSMISSION_SECONDS",
    "SEGMENT_BYTES",
    "CongestionControl",
    "Stack",
    "segments",
]

CongestionControl = Literal["bbr", "reno"]

SEGMENT_BYTES: Final = 1448
"""Payload of a TCP segment with time stamps, at an MTU of 1500."""
SEGMENT_HEADER_BYTES: Final = 52
"""Headers of IP and TCP with time stamps."""
MESSAGE_HEADER_BYTES: Final = 64
"""Header that MPI adds to a message."""
MIN_RETRANSMISSION_SECONDS: Final = 0.2
"""Shortest time after which Linux sends a lost segment again if nothing came after it."""
SEGMENTS_FOR_FAST_RETRANSMISSION: Final = 4
"""Number of segments from which on the receiver's acknowledgements tell of a lost one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The settings of MPI and TCP on every host."""

    eager_bytes: int = 4 << 20
    """Longest frame that leaves without an answer of the receiver (`messages.mpi` cuts it)."""
    posted_bytes: int = 1 << 26
    """Bytes of a broadcast that are on their way at once (`messages.mpi`)."""
    concurrent_frames: bool = True
    """Whether a receiver takes in several large frames at once, as `messages.mpi_receiver` does."""
    congestion_control: CongestionControl = "bbr"
    polling_seconds: float = 0.001
    """Mean time until a waiting role notices a frame: it naps, and MPI needs some looks."""

    def wire_bytes(self, size: int) -> int:
        """Give the bytes on the wire of a frame: with the headers of MPI, TCP and IP."""
        return size + MESSAGE_HEADER_BYTES + SEGMENT_HEADER_BYTES * segments(size)

    def is_eager(self, size: int) -> bool:
        """Tell whether a frame leaves without asking the receiver."""
        return size <= self.eager_bytes

    def recovery_seconds(self, size: int, *, round_trip: float) -> float:
        """Give the delay of a frame of which a segment was lost once."""
        if size > (SEGMENTS_FOR_FAST_RETRANSMISSION - 1) * SEGMENT_BYTES:
            return round_trip
        return round_trip + MIN_RETRANSMISSION_SECONDS


def segments(size: int) -> int:
    """Give the number of TCP segments of a frame.

    >>> segments(100), segments(1448)
    (1, 2)
    """
    return 1 + size // SEGMENT_BYTES
