"""Roles as threads of one process, for tests, notebooks and debugging: same bytes, no MPI."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import NoReturn

from .errors import PeerFailedError
from .wire import Buffer

__all__ = ["ThreadWire", "thread_wires"]


class _Switchboard:
    """State that the threads share: an inbox for each role, and whether all has ended."""

    def __init__(self, size: int) -> None:
        self.inboxes: list[queue.SimpleQueue[tuple[int, bytes] | None]] = [
            queue.SimpleQueue() for _ in range(size)
        ]
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()
        for inbox in self.inboxes:
            inbox.put(None)  # This wakes a role that waits.


class ThreadWire:
    """One thread's end."""

    def __init__(self, rank: int, switchboard: _Switchboard) -> None:
        self.rank = rank
        self.size = len(switchboard.inboxes)
        self._switchboard = switchboard
        self._inbox = switchboard.inboxes[rank]

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:  # noqa: ARG002 - a queue has room always
        self._check()
        self._switchboard.inboxes[to].put((self.rank, b"".join(parts)))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        self._check()
        try:
            arrival = self._inbox.get(timeout=max(timeout, 0))
        except queue.Empty:
            return None
        self._check()
        return None if arrival is None else (arrival[0], memoryview(arrival[1]))

    def abort(self, status: int) -> NoReturn:
        self._switchboard.close()
        raise PeerFailedError(f"the run was ended with status {status}")

    def _check(self) -> None:
        if self._switchboard.closed.is_set():
            raise PeerFailedError("another role failed")


def thread_wires(size: int) -> list[ThreadWire]:
    """Make the ends of all `size` roles in this process."""
    switchboard = _Switchboard(size)
    return [ThreadWire(rank, switchboard) for rank in range(size)]
