"""Roles as threads of one process: same bytes as over MPI, and up to thousands of roles.

*Turns.* Threads of Python run one at a time, and each that could run asks for its turn 200 times a
second. With thirty of them the asking can cost as much as the work. So where there are more than a
few roles, only as many as there are cores run, and the others wait without a sound. A role
gives its turn away while it waits for a frame. If a role blocks elsewhere, so that nobody got a
turn for some seconds, another role runs in its place: turns cannot stop a run.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

from .errors import PeerFailedError
from .wire import LOST, Buffer

__all__ = ["ThreadWire", "thread_wires"]


MAX_FREE_ROLES: Final = 8
"""Roles that run without turns: up to here turns save nothing.

Every step of large arithmetic gives the interpreter away and asks for it again, so roles that
encrypt hinder each other long before there are hundreds of them. Measured on two cores, for a sum
of 10,000 cells with Paillier: 9 roles take 1.5 s of CPU either way, 16 roles 2.4 s in turns and
3.4 s without, 31 roles 4.4 s and 8.7 s.
"""
STALLED_AFTER: Final = 2.0
"""Seconds without a turn given to anybody, after which a role that waits for one runs."""


class _Turns:
    """Turns of roles, of which only some run at a time."""

    def __init__(self, running: int) -> None:
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._given = 0
        self.add(running)

    def add(self, turns: int = 1) -> None:
        for _ in range(turns):
            self._free.put(None)

    def take(self) -> None:
        """Wait for a turn."""
        while True:
            turns_before = self._given
            try:
                self._free.get(timeout=STALLED_AFTER)
            except queue.Empty:
                if self._given != turns_before:
                    continue
            self._given += 1
            return


class _Switchboard:
    """State that the threads share: an inbox for each role, and whether all has ended."""

    def __init__(self, size: int) -> None:
        self.inboxes: list[queue.SimpleQueue[tuple[int, Buffer] | None]] = [
            queue.SimpleQueue() for _ in range(size)
        ]
        self.closed = threading.Event()
        self.turns: _Turns | None = None
        if size > MAX_FREE_ROLES:
            self.turns = _Turns(len(os.sched_getaffinity(0)))

    def close(self) -> None:
        self.closed.set()
        for inbox in self.inboxes:
            inbox.put(None)  # This wakes a role that waits.
        if self.turns is not None:
            self.turns.add(len(self.inboxes))


class ThreadWire:
    """One thread's end."""

    def __init__(self, rank: int, switchboard: _Switchboard) -> None:
        self.rank = rank
        self.size = len(switchboard.inboxes)
        self._switchboard = switchboard
        self._inbox = switchboard.inboxes[rank]
        self._has_turn = False

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Play a role in turns with the others, if there are many; without this it runs freely."""
        self._take_turn()
        try:
            yield
        finally:
            if self._has_turn:
                self._give_turn()

    def clock(self) -> float:
        return time.perf_counter()

    def send(
        self,
        parts: Sequence[Buffer],
        *,
        to: int,
        timeout: float,  # noqa: ARG002 - a queue has room always
        more: bool = False,  # noqa: ARG002
    ) -> None:
        self._check()
        self._switchboard.inboxes[to].put((self.rank, b"".join(parts)))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        self._check()
        try:
            arrival = self._next_arrival(timeout)
        except queue.Empty:
            return None
        self._check()
        if arrival is None or arrival[1] is LOST:
            return None if arrival is None else (arrival[0], LOST)
        return arrival[0], memoryview(arrival[1])

    def _next_arrival(self, timeout: float) -> tuple[int, Buffer] | None:
        if not self._has_turn:
            return self._inbox.get(timeout=max(timeout, 0))
        try:
            return self._inbox.get_nowait()
        except queue.Empty:
            if timeout <= 0:
                raise
        self._give_turn()
        try:
            return self._inbox.get(timeout=timeout)
        except queue.Empty:
            pass
        finally:
            self._take_turn()
        return self._inbox.get_nowait()  # Something may have come while it waited for its turn.

    def _take_turn(self) -> None:
        if self._switchboard.turns is not None:
            self._switchboard.turns.take()
            self._has_turn = True

    def _give_turn(self) -> None:
        if self._switchboard.turns is not None:
            self._has_turn = False
            self._switchboard.turns.add()

    def abort(self, status: int) -> NoReturn:
        self._switchboard.close()
        raise PeerFailedError(f"the run was ended with status {status}")

    def leave(self) -> None:
        """Tell all others that this role is lost, after all that it has sent; the curator last.

        So parties know of a loss before the curator can speak of it.
        """
        for inbox in reversed(self._switchboard.inboxes):
            inbox.put((self.rank, LOST))

    def _check(self) -> None:
        if self._switchboard.closed.is_set():
            raise PeerFailedError("another role failed")


def thread_wires(size: int) -> list[ThreadWire]:
    """Make the ends of all `size` roles in this process."""
    switchboard = _Switchboard(size)
    return [ThreadWire(rank, switchboard) for rank in range(size)]
