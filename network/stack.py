"""The stack above the links: how MPI and TCP carry one message.

These are the effects that measurements between network namespaces showed to matter, by size:

- MPI announces a frame above the eager limit, and its data leave when the receiver has answered.
  This costs a round trip, for which the sender is held. A receiver that computes does not answer.
- A receiver takes in large frames one after another (`messages.mpi`).
- TCP begins with ten segments and doubles them with every round trip. What a connection has
  learnt it keeps.
- BBR, the congestion control of many Linux hosts, spreads what is more than its first window.
- A role that waits looks for frames up to a thousand times a second.

Acknowledgements of single segments, and queues of single packets, changed no figure noticeably.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FIRST_WINDOW", "SEGMENT_BYTES", "CongestionControl", "Stack", "segments", "slow_start"]

CongestionControl = Literal["bbr", "reno"]

SEGMENT_BYTES: Final = 1448
"""Payload of a TCP segment with time stamps, at an MTU of 1500."""
SEGMENT_HEADER_BYTES: Final = 52
"""Headers of IP and TCP with time stamps."""
MESSAGE_HEADER_BYTES: Final = 64
"""Header that MPI adds to a message."""
FIRST_WINDOW: Final = 10 * SEGMENT_BYTES
"""Bytes that TCP sends on a new connection before it has heard of the receiver (RFC 6928)."""
MIN_RETRANSMISSION_SECONDS: Final = 0.2
"""Shortest time after which Linux sends a lost segment again if nothing came after it."""
SEGMENTS_FOR_FAST_RETRANSMISSION: Final = 4
"""Number of segments from which on the receiver's acknowledgements tell of a lost one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The settings of MPI and TCP on every host."""

    eager_bytes: int = 1 << 16
    """Longest frame that MPI sends without asking the receiver; Open MPI's `eager_limit`."""
    concurrent_frames: bool = False
    """Whether a receiver takes in several large frames at once."""
    congestion_control: CongestionControl = "bbr"
    polling_seconds: float = 0.0005
    """Mean time until a waiting role notices a frame."""

    def wire_bytes(self, size: int) -> int:
        """Give the bytes on the wire of a frame: with the headers of MPI, TCP and IP."""
        return size + MESSAGE_HEADER_BYTES + SEGMENT_HEADER_BYTES * segments(size)

    def is_eager(self, size: int) -> bool:
        """Tell whether a frame leaves without asking the receiver."""
        return size <= self.eager_bytes

    def ramp_seconds(self, size: int, *, window: int, round_trip: float, bandwidth: float) -> float:
        """Give the time that a frame takes beyond its transfer, as TCP does not know the way yet.

        Args:
            size: the frame's length.
            window: bytes that the connection sends without an acknowledgement at first.
            round_trip: seconds to the receiver and back.
            bandwidth: bits a second of the narrowest stretch.
        """
        ramp = slow_start(size, window=window, round_trip=round_trip, bandwidth=bandwidth)
        if self.congestion_control == "bbr" and size > FIRST_WINDOW:
            # BBR paces by the round trip: half of one passes until the last byte has left.
            ramp = max(ramp, round_trip / 2 - 8 * self.wire_bytes(size) / bandwidth)
        return ramp

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


def slow_start(size: int, *, window: int, round_trip: float, bandwidth: float) -> float:
    """Give the time for which TCP waits for acknowledgements while its window still grows.

    Every window that is sent faster than a round trip waits for the rest of the round trip.

    >>> slow_start(70_000, window=10_000, round_trip=0.1, bandwidth=float("inf"))
    0.2
    """
    waiting, rest = 0.0, size
    while rest > window and 8 * window / bandwidth < round_trip:
        waiting += round_trip - 8 * window / bandwidth
        rest -= window
        window *= 2
    return waiting
