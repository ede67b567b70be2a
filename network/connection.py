"""Connections and pipes: what happens to the bytes that one role sends to another.

This is how a load leaves, crosses the network and arrives. When each of it happens is up to those
who use it: a simulation by events (`traffic`), or round by round (`round_timing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .link import Link
from .model import Network
from .moments import START, Moment, Place, Reason, after, latest
from .stack import Stack, segments
from .window import Window

__all__ = ["KEPT_WINDOWS", "Connection", "Crossing", "PipeState", "WireTimes"]

KEPT_WINDOWS: Final = 2
"""Windows of bytes that Linux takes from a sender: it lets the buffer grow with the window."""


class WireTimes:
    """The time that loads take to pass pipes, with all headers: computed once for each size."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._seconds: dict[tuple[int, float], float] = {}

    def seconds(self, size: int, bandwidth: float) -> float:
        """Give the time that a load of a size takes to pass a pipe."""
        seconds = self._seconds.get((size, bandwidth))
        if seconds is None:
            seconds = 8 * self._stack.wire_bytes(size) / bandwidth
            self._seconds[size, bandwidth] = seconds
        return seconds


@dataclass(slots=True)
class PipeState:
    """A pipe, and when it has let pass all that came to it."""

    bandwidth: float
    free: Moment = START

    def enter(self, head: Moment, tail: Moment, seconds: float, place: Place) -> tuple[Moment, ...]:
        """Pass the pipe behind those before.

        Returns:
            When the first byte enters it, and when the last one has left it.
        """
        begins = latest(head, self.free)
        self.free = passed = after(begins, seconds, Reason.BANDWIDTH, place)
        return begins, latest(passed, tail)


class Crossing(NamedTuple):
    """How a load crosses the network, from the sender's last pipe to the receiver's first one."""

    gone: Moment
    """When the last byte has left."""
    head: Moment
    """When the first byte arrives."""
    tail: Moment
    """When the last byte arrives."""
    taken: Moment | None
    """When the sender's system takes the last byte, if it has not taken it at once."""


@dataclass(slots=True)
class Connection:
    """State of the connection from one role to another."""

    place: Place
    link: Link
    round_trip: float
    window: Window = field(default_factory=Window)
    number: int = 0
    """Number of loads that have crossed."""
    unsent: int = 0
    """Bytes that the sender's system has to send."""
    arrival: Moment = START
    """When the last load arrived."""

    def take(self, size: int) -> bool:
        """Take a load; tell whether the sender's system takes all of it at once."""
        self.unsent += size
        return self.unsent <= KEPT_WINDOWS * self.window.size

    def cross(
        self,
        size: int,
        *,
        head: Moment,
        tail: Moment,
        stack: Stack,
        reason: Reason = Reason.LATENCY,
        is_taken: bool = True,
    ) -> Crossing:
        """Cross the network with a load whose first and last bytes have passed the pipes before.

        Args:
            size: bytes of the load.
            head: when its first byte enters the last pipe before the network.
            tail: when its last byte has left that pipe.
            stack: settings of MPI and TCP.
            reason: what latency counts as.
            is_taken: whether the sender's system has taken all bytes.
        """
        link, place = self.link, self.place
        end, self.window = self.window.send(
            size,
            now=head.seconds,
            round_trip=self.round_trip,
            bandwidth=link.bandwidth,
            control=stack.congestion_control,
        )
        gone = after(tail, end - tail.seconds, Reason.SLOW_START, place)
        taken = None
        if not is_taken:
            # What the system keeps leaves in about a round trip.
            held = max(0.0, gone.seconds - self.round_trip - head.seconds)
            why = Reason.SLOW_START if end > tail.seconds else Reason.BANDWIDTH
            taken = after(head, held, why, place)
        return Crossing(
            gone,
            after(head, link.latency, reason, place),
            after(gone, link.latency, reason, place),
            taken,
        )

    def arrive(self, size: int, tail: Moment, network: Network) -> Moment:
        """Add jitter and losses, and give when a load arrives, behind those before it."""
        link, moment = self.link, tail
        if link.jitter or link.loss:
            jitter, loss = network.draws(*self.place, self.number)
            self.number += 1
            moment = after(moment, jitter * link.jitter, Reason.JITTER, self.place)
            if loss < 1 - (1 - link.loss) ** segments(size):
                recovery = network.stack.recovery_seconds(size, round_trip=self.round_trip)
                moment = after(moment, recovery, Reason.LOSS, self.place)
        self.arrival = moment = latest(moment, self.arrival)
        return moment
