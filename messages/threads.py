"""Roles as threads of one process: for tests, notebooks and debugging. Same bytes, no MPI."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import NoReturn

from .errors import PeerFailedError
from .wire import Buffer

__all__ = ["ThreadWire", "thread_wires"]


class _Hall:
    """What the threads share: one inbox for each role, and whether the conversation is over."""

    def __init__(self, size: int) -> None:
        self.inboxes: list[queue.SimpleQueue[tuple[int, bytes] | None]] = [
            queue.SimpleQueue() for _ in range(size)
        ]
        self.over = threading.Event()

    def close(self) -> None:
        self.over.set()
        for inbox in self.inboxes:
            inbox.put(None)  # wakes whoever waits


class ThreadWire:
    """One thread's end."""

    def __init__(self, rank: int, hall: _Hall) -> None:
        self.rank = rank
        self.size = len(hall.inboxes)
        self._hall = hall
        self._inbox = hall.inboxes[rank]

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:  # noqa: ARG002 - a queue never makes one wait
        self._check()
        self._hall.inboxes[to].put((self.rank, b"".join(parts)))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        self._check()
        try:
            arrived = self._inbox.get(timeout=max(timeout, 0))
        except queue.Empty:
            return None
        self._check()
        return None if arrived is None else (arrived[0], memoryview(arrived[1]))

    def abort(self, status: int) -> NoReturn:
        self._hall.close()
        raise PeerFailedError(f"the conversation was ended with status {status}")

    def _check(self) -> None:
        if self._hall.over.is_set():
            raise PeerFailedError("another role failed")


def thread_wires(size: int) -> list[ThreadWire]:
    """Make the ends of a conversation of `size` roles in this process."""
    hall = _Hall(size)
    return [ThreadWire(rank, hall) for rank in range(size)]
