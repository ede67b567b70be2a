"""A network that drops or delays messages on purpose, for experiments (`runs.faults`).

It lies below all else that a role has of its transport. A message that is dropped has left its
sender and never arrives; no transport sends one again. A message that is delayed is held back at
its receiver, counted from when the receiver first looks for messages. Frames of an edge keep their
order. Frames that are no messages of the protocol are neither dropped nor delayed by themselves.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import NoReturn

from ..messages import Wire
from ..messages.frame import FrameKind, unpack_header
from ..messages.wire import MAX_FRAME_BYTES, Buffer
from .faults import Fault, faults_of, public_generator, read_faults
from .job import Job

__all__ = ["FaultyNetwork", "with_network_faults"]


def with_network_faults(wire: Wire, job: Job, *, is_resumed: bool) -> Wire:
    """Put the declared faults of the network below a role.

    A run that goes on drops no message once more, since that may be why it had stopped.
    """
    faults = [
        fault
        for fault in faults_of(
            read_faults(job.fault, parties=job.parties, seed=job.public_seed), rank=wire.rank
        )
        if fault.action == "delays" or (fault.action == "drops" and not is_resumed)
    ]
    return FaultyNetwork(wire, faults, seed=job.public_seed) if faults else wire


class FaultyNetwork:
    """One role's end of a network that drops or delays."""

    def __init__(self, wire: Wire, faults: Sequence[Fault], *, seed: int) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._wire = wire
        self._faults = faults
        self._drops = any(fault.action == "drops" for fault in faults)
        self._dice = public_generator(f"{seed} drops {wire.rank}")
        self._held: list[tuple[float, int, int, memoryview]] = []
        """Frames that are held back: when they arrive, their number here, sender and content."""
        self._numbers = count()
        self._last: dict[int, float] = defaultdict(float)
        """When the last frame of each sender arrives."""

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        if parts[0][3] == FrameKind.MESSAGE:
            phase = _phase_of(b"".join(parts))
            shares = [
                fault.share
                for fault in self._faults
                if fault.action == "drops" and fault.is_within(phase)
            ]
            if any(self._dice.random() < share for share in shares):
                return
        # The last frame of a broadcast is held for all, and may be one that is dropped.
        self._wire.send(parts, to=to, timeout=timeout, more=more and not self._drops)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        until = self._wire.clock() + timeout
        while True:
            now = self._wire.clock()
            if self._held and self._held[0][0] <= now:
                _, _, source, frame = heapq.heappop(self._held)
                return source, frame
            following = min(until, self._held[0][0]) if self._held else until
            arrival = self._wire.arrive(timeout=max(0.0, following - now))
            if arrival is not None:
                self._hold(*arrival)
            elif self._wire.clock() >= until and not (self._held and self._held[0][0] <= until):
                return None

    def _hold(self, source: int, frame: memoryview) -> None:
        """Hold a frame back up to its time, and behind the frames of its sender before it."""
        is_message = len(frame) > 3 and frame[3] == FrameKind.MESSAGE
        phase = _phase_of(frame) if is_message else ""
        delay = sum(
            fault.seconds
            for fault in self._faults
            if fault.action == "delays" and fault.is_within(phase)
        )
        due = max(self._wire.clock() + delay, self._last[source])
        self._last[source] = due
        heapq.heappush(self._held, (due, next(self._numbers), source, frame))

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)


def _phase_of(frame: Buffer) -> str:
    return unpack_header(memoryview(frame), limit=MAX_FRAME_BYTES).header.phase
