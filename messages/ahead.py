"""Frames that go ahead of messages: what a party has released, where it may be lost.

They are no messages of the protocol, and have numbers of their own on each edge. Seals bind how
many of them went before a message, so that nobody can drop one and bring the message.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

__all__ = ["FramesAhead"]


class FramesAhead:
    """One role's frames of releases, by the other role: how many it has sent, and what arrived."""

    def __init__(self) -> None:
        self.sent: dict[int, int] = defaultdict(int)
        """Number of frames that were sent to each rank."""
        self.arrived: dict[int, list[memoryview]] = defaultdict(list)
        """Payloads that have come from each rank, in order."""
        self._messages_before: dict[int, list[int]] = defaultdict(list)

    def note_arrived(self, payload: memoryview, *, source: int, messages: int) -> None:
        """Keep a frame that arrives after so many messages of the same role."""
        self.arrived[source].append(payload)
        self._messages_before[source].append(messages)

    def count_before(self, sequence: int, *, source: int) -> int:
        """Count the frames that have arrived before the message of this number, from 0."""
        return bisect_right(self._messages_before[source], sequence)
