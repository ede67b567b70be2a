"""Messages that have arrived before their receiver asks for them.

A role takes in whatever arrives while it sends or waits, so that no sender waits for it to ask for
one message. It keeps the others until it receives them. A sender that nobody reads could fill the
memory of its receiver. Holding that sender back would not do: two roles that are both held back, or
a third that waits for one of them, might wait for ever, where a receiver with more memory goes on.
So what is kept has a bound, and a role that keeps more ends the run with an error that names who
sent most of it.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .errors import role_name

__all__ = ["UnreadMessages", "memory_bytes"]

MEMORY_SHARE: Final = 0.5
"""Share of the memory that unread messages may take."""
OBJECT_BYTES: Final = 256
"""What Python keeps for a message beside its bytes, about."""
GROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much memory a container may have."""


def memory_bytes() -> int:
    """Give the memory of this host, or of the container where that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        memory = min(memory, int(GROUP_LIMIT.read_text()))
    return memory


class UnreadMessages:
    """One role's frames that have arrived and were not received, by sender and in order."""

    def __init__(self, *, limit: int) -> None:
        """Begin with none.

        Args:
            limit: the longest frame that is accepted; unread ones together are no longer, either.
        """
        self.arrived: dict[int, int] = defaultdict(int)
        """Number of messages that have come from each rank, read ones included."""
        self._limit = min(limit, int(MEMORY_SHARE * memory_bytes()))
        self._frames: dict[int, deque[memoryview]] = defaultdict(deque)
        self._kept = 0

    def put(self, frame: memoryview, *, source: int) -> None:
        """Keep a frame."""
        self.arrived[source] += 1
        self._frames[source].append(frame)
        self._kept += len(frame) + OBJECT_BYTES

    def pop(self, source: int) -> memoryview:
        """Hand out the oldest frame of a rank; there must be one."""
        frame = self._frames[source].popleft()
        self._kept -= len(frame) + OBJECT_BYTES
        return frame

    def of(self, source: int) -> deque[memoryview]:
        """Give the frames of a rank, the oldest first."""
        return self._frames[source]

    @property
    def senders(self) -> Mapping[int, object]:
        """Ranks of which frames have come, as keys."""
        return self._frames

    @property
    def excess(self) -> str:
        """Say what is kept beyond the bound, and whose most of it is; empty within the bound.

        A single frame is never beyond it: that one has a bound of its own.
        """
        if self._kept <= self._limit or sum(map(len, self._frames.values())) < 2:
            return ""
        sizes = {rank: sum(map(len, frames)) for rank, frames in self._frames.items()}
        rank = max(sizes, key=sizes.__getitem__)
        return (
            f"expected at most {self._limit:,} bytes of messages that were not received yet, found "
            f"more: {len(self._frames[rank]):,} messages of {role_name(rank)} have "
            f"{sizes[rank]:,} bytes; receive them earlier, or let that role wait for an answer"
        )
