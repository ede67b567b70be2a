"""Traffic: how the bytes of one role come to another.

Between two roles there is a TCP connection, on which one load of bytes leaves after another. A load
passes the pipes of its path: its first byte enters the next pipe before its last byte has left the
one before. Pipes are shared by many edges, and take loads in the order in which their first bytes
come. Loads of one edge arrive in the order in which they left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .events import Event, EventQueue
from .link import Link
from .model import Network, Pipe
from .moments import START, Moment, Place, Reason, after, latest
from .stack import Stack, segments
from .ways import Ways
from .window import Window

__all__ = ["Load", "Traffic", "nothing"]

KEPT_WINDOWS: Final = 2
"""Windows of bytes that Linux takes from a sender: it lets the buffer grow with the window."""


def nothing(_: Moment) -> None:
    """Do nothing at a moment that matters to nobody."""


class Load(NamedTuple):
    """Bytes that travel from one role to another as a whole."""

    place: Place
    size: int
    reason: Reason
    """What its latency counts as: that of a message, or of a handshake."""
    arrived: Event
    left: Event = nothing
    """What happens when the last byte has left the sender's host."""
    taken: Event = nothing
    """What happens when the sender's system has taken the last byte, if not at once."""


@dataclass(slots=True)
class _PipeState:
    """A pipe, and when it has let pass all that came to it."""

    bandwidth: float
    free: Moment = START


@dataclass(slots=True)
class _Connection:
    """State of the connection from one role to another."""

    link: Link
    outgoing: tuple[_PipeState, ...]
    """Pipes to pass before the latency."""
    incoming: tuple[_PipeState, ...]
    """Pipes to pass after it."""
    round_trip: float
    window: Window = field(default_factory=Window)
    number: int = 0
    """Number of loads that have crossed."""
    queue: deque[_Trip] = field(default_factory=deque)
    """Loads that wait."""
    is_busy: bool = False
    unsent: int = 0
    """Bytes that the sender's system has to send."""
    arrival: Moment = START
    """When the last load arrived."""


class Traffic:
    """All loads on a network."""

    def __init__(self, network: Network, events: EventQueue) -> None:
        self.network = network
        self.stack: Stack = network.stack
        self.events = events
        self._ways = Ways(network)
        self._connections: dict[Place, _Connection] = {}
        self._pipes: dict[str, _PipeState] = {}
        self._wire_seconds: dict[tuple[int, float], float] = {}

    def carry(self, load: Load, moment: Moment) -> bool:
        """Bring a load to its receiver, behind those that leave on its connection before.

        Returns:
            Whether the sender's system takes all bytes at once: it keeps about two windows.
        """
        connection = self._connections.get(load.place)
        if connection is None:
            connection = self._connections[load.place] = self._connect(*load.place)
        connection.unsent += load.size
        fits = connection.unsent <= KEPT_WINDOWS * connection.window.size
        trip = _Trip(self, load, connection, is_taken=fits)
        if connection.is_busy:
            connection.queue.append(trip)
        else:
            trip.leave(moment)
        return fits

    def wire_seconds(self, size: int, bandwidth: float) -> float:
        """Give the time that a load of a size takes to pass a pipe, with all headers."""
        seconds = self._wire_seconds.get((size, bandwidth))
        if seconds is None:
            seconds = 8 * self.stack.wire_bytes(size) / bandwidth
            self._wire_seconds[size, bandwidth] = seconds
        return seconds

    def _connect(self, sender: int, receiver: int) -> _Connection:
        path = self._ways.path(sender, receiver)
        back = self._ways.link(receiver, sender).latency
        outgoing, incoming = self._states(path.outgoing), self._states(path.incoming)
        return _Connection(path.link, outgoing, incoming, path.link.latency + back)

    def _states(self, pipes: Iterable[Pipe]) -> tuple[_PipeState, ...]:
        """Give the states of pipes, which are the same for all connections that pass them."""
        return tuple(
            self._pipes.setdefault(pipe.name, _PipeState(pipe.bandwidth)) for pipe in pipes
        )


class _Trip:
    """A load on its way: through pipes, across the network, and through pipes again."""

    __slots__ = ("_connection", "_is_taken", "_load", "_next", "_tail", "_traffic")

    def __init__(
        self, traffic: Traffic, load: Load, connection: _Connection, *, is_taken: bool
    ) -> None:
        self._traffic = traffic
        self._load = load
        self._connection = connection
        self._is_taken = is_taken
        """Whether the sender's system has taken all bytes."""
        self._next = 0
        """Number of the pipe to which the first byte comes next."""
        self._tail = START
        """When the last byte comes there."""

    def leave(self, moment: Moment) -> None:
        """Leave the sender's host; the load is the first one of its connection."""
        self._connection.is_busy = True
        self._tail = moment
        self._pass_outgoing(moment)

    def _pass_outgoing(self, head: Moment) -> None:
        """Pass the next pipe before the latency, and all others; then cross the network.

        Where a load comes to the next pipe, others may come before it, so that is an event.
        Whatever follows the last pipe concerns this connection alone, and is known at once.
        """
        pipes = self._connection.outgoing
        if self._next < len(pipes):
            begins = self._enter(pipes[self._next], head)
            if self._next < len(pipes):
                self._traffic.events.add(begins, self._pass_outgoing)
                return
            head = begins
        self._cross(head)

    def _pass_incoming(self, head: Moment) -> None:
        """Pass the next pipe after the latency, and all others; then come to the receiver."""
        pipes = self._connection.incoming
        if self._next < len(pipes):
            begins = self._enter(pipes[self._next], head)
            if self._next < len(pipes):
                self._traffic.events.add(begins, self._pass_incoming)
                return
        self._arrive()

    def _enter(self, pipe: _PipeState, head: Moment) -> Moment:
        """Pass a pipe behind those before; give when the first byte enters it."""
        self._next += 1
        load = self._load
        begins = latest(head, pipe.free)
        seconds = self._traffic.wire_seconds(load.size, pipe.bandwidth)
        pipe.free = passed = after(begins, seconds, Reason.BANDWIDTH, load.place)
        self._tail = latest(passed, self._tail)
        return begins

    def _cross(self, head: Moment) -> None:
        """Cross the network: from the sender's last pipe to the receiver's first one."""
        traffic, load, connection, tail = self._traffic, self._load, self._connection, self._tail
        link = connection.link
        end, connection.window = connection.window.send(
            load.size,
            now=head.seconds,
            round_trip=connection.round_trip,
            bandwidth=link.bandwidth,
            control=traffic.stack.congestion_control,
        )
        gone = after(tail, end - tail.seconds, Reason.SLOW_START, load.place)
        if not self._is_taken:
            # What the system keeps leaves in about a round trip.
            held = max(0.0, gone.seconds - connection.round_trip - head.seconds)
            reason = Reason.SLOW_START if end > tail.seconds else Reason.BANDWIDTH
            traffic.events.add(after(head, held, reason, load.place), load.taken)
        traffic.events.add(gone, self._free)
        self._tail = after(gone, link.latency, load.reason, load.place)
        self._next = 0
        arrives = after(head, link.latency, load.reason, load.place)
        traffic.events.add(arrives, self._pass_incoming)

    def _free(self, moment: Moment) -> None:
        """Let the next load of the connection leave."""
        connection = self._connection
        connection.is_busy = False
        connection.unsent -= self._load.size
        self._load.left(moment)
        if connection.queue and not connection.is_busy:
            connection.queue.popleft().leave(moment)

    def _arrive(self) -> None:
        """Add jitter and losses, and let the load arrive, behind those before it."""
        load, connection, moment = self._load, self._connection, self._tail
        link = connection.link
        if link.jitter or link.loss:
            jitter, loss = self._traffic.network.draws(*load.place, connection.number)
            connection.number += 1
            moment = after(moment, jitter * link.jitter, Reason.JITTER, load.place)
            if loss < 1 - (1 - link.loss) ** segments(load.size):
                recovery = self._traffic.stack.recovery_seconds(
                    load.size, round_trip=connection.round_trip
                )
                moment = after(moment, recovery, Reason.LOSS, load.place)
        connection.arrival = moment = latest(moment, connection.arrival)
        self._traffic.events.add(moment, load.arrived)
