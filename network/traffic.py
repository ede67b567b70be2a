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
from typing import NamedTuple

from .connection import Connection, PipeState, WireTimes
from .events import Event, EventQueue
from .model import Network, Pipe
from .moments import START, Moment, Place, Reason
from .stack import Stack
from .ways import Ways

__all__ = ["Load", "Traffic", "nothing"]


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
class _Way:
    """A connection, with the pipes that its loads pass and the loads that wait."""

    connection: Connection
    outgoing: tuple[PipeState, ...]
    """Pipes to pass before the latency."""
    incoming: tuple[PipeState, ...]
    """Pipes to pass after it."""
    queue: deque[_Trip] = field(default_factory=deque)
    """Loads that wait."""
    is_busy: bool = False


class Traffic:
    """All loads on a network."""

    def __init__(self, network: Network, events: EventQueue) -> None:
        self.network = network
        self.stack: Stack = network.stack
        self.events = events
        self.wire_times = WireTimes(network.stack)
        self._ways = Ways(network)
        self._connected: dict[Place, _Way] = {}
        self._pipes: dict[str, PipeState] = {}

    def carry(self, load: Load, moment: Moment) -> bool:
        """Bring a load to its receiver, behind those that leave on its connection before.

        Returns:
            Whether the sender's system takes all bytes at once: it keeps about two windows.
        """
        way = self._connected.get(load.place)
        if way is None:
            way = self._connected[load.place] = self._connect(load.place)
        fits = way.connection.take(load.size)
        trip = _Trip(self, load, way, is_taken=fits)
        if way.is_busy:
            way.queue.append(trip)
        else:
            trip.leave(moment)
        return fits

    def _connect(self, place: Place) -> _Way:
        path = self._ways.path(*place)
        back = self._ways.link(*place[::-1]).latency
        connection = Connection(place, path.link, path.link.latency + back)
        return _Way(connection, self._states(path.outgoing), self._states(path.incoming))

    def _states(self, pipes: Iterable[Pipe]) -> tuple[PipeState, ...]:
        """Give the states of pipes, which are the same for all connections that pass them."""
        return tuple(self._pipes.setdefault(pipe.name, PipeState(pipe.bandwidth)) for pipe in pipes)


class _Trip:
    """A load on its way: through pipes, across the network, and through pipes again."""

    __slots__ = ("_is_taken", "_load", "_next", "_tail", "_traffic", "_way")

    def __init__(self, traffic: Traffic, load: Load, way: _Way, *, is_taken: bool) -> None:
        self._traffic = traffic
        self._load = load
        self._way = way
        self._is_taken = is_taken
        """Whether the sender's system has taken all bytes."""
        self._next = 0
        """Number of the pipe to which the first byte comes next."""
        self._tail = START
        """When the last byte comes there."""

    def leave(self, moment: Moment) -> None:
        """Leave the sender's host; the load is the first one of its connection."""
        self._way.is_busy = True
        self._tail = moment
        self._pass_outgoing(moment)

    def _pass_outgoing(self, head: Moment) -> None:
        """Pass the next pipe before the latency, and all others; then cross the network.

        Where a load comes to the next pipe, others may come before it, so that is an event.
        Whatever follows the last pipe concerns this connection alone, and is known at once.
        """
        pipes = self._way.outgoing
        if self._next < len(pipes):
            begins = self._enter(pipes[self._next], head)
            if self._next < len(pipes):
                self._traffic.events.add(begins, self._pass_outgoing)
                return
            head = begins
        self._cross(head)

    def _pass_incoming(self, head: Moment) -> None:
        """Pass the next pipe after the latency, and all others; then come to the receiver."""
        pipes = self._way.incoming
        if self._next < len(pipes):
            begins = self._enter(pipes[self._next], head)
            if self._next < len(pipes):
                self._traffic.events.add(begins, self._pass_incoming)
                return
        traffic, load = self._traffic, self._load
        moment = self._way.connection.arrive(load.size, self._tail, traffic.network)
        traffic.events.add(moment, load.arrived)

    def _enter(self, pipe: PipeState, head: Moment) -> Moment:
        """Pass a pipe behind those before; give when the first byte enters it."""
        self._next += 1
        load = self._load
        seconds = self._traffic.wire_times.seconds(load.size, pipe.bandwidth)
        begins, self._tail = pipe.enter(head, self._tail, seconds, load.place)
        return begins

    def _cross(self, head: Moment) -> None:
        """Cross the network: from the sender's last pipe to the receiver's first one."""
        traffic, load = self._traffic, self._load
        crossing = self._way.connection.cross(
            load.size,
            head=head,
            tail=self._tail,
            stack=traffic.stack,
            reason=load.reason,
            is_taken=self._is_taken,
        )
        if crossing.taken is not None:
            traffic.events.add(crossing.taken, load.taken)
        traffic.events.add(crossing.gone, self._free)
        self._tail = crossing.tail
        self._next = 0
        traffic.events.add(crossing.head, self._pass_incoming)

    def _free(self, moment: Moment) -> None:
        """Let the next load of the connection leave."""
        way = self._way
        way.is_busy = False
        way.connection.unsent -= self._load.size
        self._load.left(moment)
        if way.queue and not way.is_busy:
            way.queue.popleft().leave(moment)
