"""The transport `virtual`: roles as threads of one process, under the clock of a simulation.

The same frames travel as on the other transports, but the simulation says when they arrive. One
role computes at a time, so its computation is measured undisturbed, by the processor time of its
thread. What a role asks of its wire is a request of the simulation, and the role's thread sleeps
until the simulation lets it go on.

If the network's speed is infinite, computation takes no time, and two runs take the same seconds.
So they do where the seconds are those of a calibration, for the work that was counted.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NoReturn, TypeAlias

from ..messages import PeerFailedError, Unread, WorkMeter, metered
from ..messages.wire import Buffer, WireTimeout
from .model import Network
from .simulation import Ended, Frame, Look, Request, Send, Simulation, Wait

__all__ = ["Costs", "VirtualWire", "virtual_wires"]

MIN_WAIT_SECONDS: Final = 1e-9
"""Shortest wait. Added to the clock's seconds, a shorter one might be rounded to nothing.

A role that waits for the rest of its limit would then wait for ever.
"""
Costs: TypeAlias = Callable[[WorkMeter], float]
"""Gives the seconds that some work takes."""


class _Handover:
    """Where a role's thread and the simulation take turns."""

    def __init__(self) -> None:
        self._answers: queue.SimpleQueue[tuple[float, Frame | None] | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def act(self, now: float, frame: Frame | None) -> Request:
        """Let the role go on until its next request; the simulation calls it."""
        self._answers.put((now, frame))
        return self._requests.get()

    def ask(self, request: Request) -> None:
        """Hand a request to the simulation; the role's thread calls it."""
        self._requests.put(request)

    def answer(self) -> tuple[float, Frame | None] | None:
        """Sleep until the simulation lets the role go on; `None` when all has ended."""
        return self._answers.get()

    def close(self) -> None:
        """Wake the role and the simulation, whichever sleeps."""
        self._answers.put(None)
        self._requests.put(Ended(0.0))


class _Hall:
    """State that the wires of a run share."""

    def __init__(
        self, network: Network, size: int, costs: Costs | None, *, meters: Callable[[], WorkMeter]
    ) -> None:
        self.network = network
        self.costs = costs
        self.meters = meters
        self.handovers = [_Handover() for _ in range(size)]
        self.closed = threading.Event()
        simulation = Simulation(network, [handover.act for handover in self.handovers])
        self._thread = threading.Thread(
            target=self._simulate, args=(simulation,), daemon=True, name="virtual network"
        )
        self._begun = threading.Lock()

    def begin(self) -> None:
        """Start the clock, when the first role begins."""
        if self._begun.acquire(blocking=False):
            self._thread.start()

    def _simulate(self, simulation: Simulation) -> None:
        try:
            simulation.run()
        finally:
            self.close()  # Whoever still waits would wait for ever.

    def close(self) -> None:
        self.closed.set()
        for handover in self.handovers:
            handover.close()


class VirtualWire:
    """One role's end of a simulated network."""

    def __init__(self, rank: int, hall: _Hall) -> None:
        self.rank = rank
        self.size = len(hall.handovers)
        self._hall = hall
        self._handover = hall.handovers[rank]
        self._speed = hall.network.speed
        self._shares_cores = hall.network.cores is not None
        self._costs = hall.costs
        self._meter = hall.meters()
        self._now = 0.0
        self._computed_before = 0.0
        self._is_playing = False
        self._has_begun = False
        """Whether the role has looked at the clock; what it loads before takes no time."""

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Play a role: its thread computes within this, and nowhere else."""
        self._hall.begin()
        self._go_on()
        self._is_playing = True
        try:
            with metered(self._meter):
                yield
        finally:
            self._is_playing = False
            self._handover.ask(Ended(self._computed()))

    def clock(self) -> float:
        if not self._has_begun:
            self._has_begun = True
            self._computed_before = self._processor_time()
        elif self._shares_cores and self._is_playing and not self._hall.closed.is_set():
            # How long the role has computed depends on what all others do.
            self._request(Look)
        return self._now + self._computed()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        content = b"".join(parts)
        began = self._now + self._computed()
        self._request(lambda computed: Send(computed, to, len(content), content, timeout, more))
        if self._now - began >= timeout:
            raise WireTimeout

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        seconds = max(timeout, MIN_WAIT_SECONDS) if timeout > 0 else 0.0
        frame = self._request(lambda computed: Wait(computed, seconds))
        return None if frame is None else (frame.sender, memoryview(frame.content))

    def abort(self, status: int) -> NoReturn:
        self._hall.close()
        raise PeerFailedError(f"the run was ended with status {status}")

    def _request(self, make: Callable[[float], Request]) -> Frame | None:
        if self._hall.closed.is_set():
            raise PeerFailedError("another role failed")
        self._handover.ask(make(self._computed()))
        return self._go_on()

    def _go_on(self) -> Frame | None:
        answer = self._handover.answer()
        if answer is None:
            raise PeerFailedError("another role failed")
        self._now, frame = answer
        self._computed_before = self._processor_time()
        return frame

    def _computed(self) -> float:
        """Give the seconds that the role has computed since its last request."""
        return (self._processor_time() - self._computed_before) / self._speed

    def _processor_time(self) -> float:
        """Give the seconds that the role has computed: as measured, or by what its work costs."""
        return time.thread_time() if self._costs is None else self._costs(self._meter)


def virtual_wires(
    network: Network,
    size: int,
    *,
    costs: Costs | None = None,
    only_counts: bool = False,
    unread: Unread = Unread.NOTHING,
) -> list[VirtualWire]:
    """Make the ends of all `size` roles on a simulated network, in this process.

    With `costs` computation is not measured, but what they say of the work that was counted. If all
    records are made up, it `only_counts` then, and nothing need be hidden from anybody. What nobody
    reads of such a play is `unread`.
    """
    meters = partial(WorkMeter, only_counts=only_counts, unread=unread)
    hall = _Hall(network, size, costs, meters=meters)
    return [VirtualWire(rank, hall) for rank in range(size)]
