"""Traffic: how the bytes of one role come to another.

Between two roles there is a TCP connection, on which one load of bytes leaves after another. A load
passes the pipes of its path: its first byte enters the next pipe before its last byte has left the
one before. Pipes are shared by many edges, and take loads in the order in which their first bytes
come. Loads of one edge arrive in the order in which they left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .events import Event, EventQueue
from .model import Network, Path, Pipe
from .moments import START, Moment, Place, Reason, after, latest
from .stack import segments
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
class _Connection:
    """State of the connection from one role to another."""

    path: Path
    round_trip: float
    window: Window = field(default_factory=Window)
    number: int = 0
    """Number of loads that have crossed."""
    queue: deque[tuple[Load, bool]] = field(default_factory=deque)
    """Loads that wait, and whether the sender's system has taken them."""
    is_busy: bool = False
    unsent: int = 0
    """Bytes that the sender's system has to send."""
    arrival: Moment = START
    """When the last load arrived."""


class Traffic:
    """All loads on a network."""

    def __init__(self, network: Network, events: EventQueue) -> None:
        self._network = network
        self._stack = network.stack
        self._events = events
        self._ways = Ways(network)
        self._connections: dict[Place, _Connection] = {}
        self._free: dict[str, Moment] = defaultdict(lambda: START)

    def carry(self, load: Load, moment: Moment) -> bool:
        """Bring a load to its receiver, behind those that leave on its connection before.

        Returns:
            Whether the sender's system takes all bytes at once: it keeps about two windows.
        """
        connection = self._connection(load.place)
        connection.unsent += load.size
        fits = connection.unsent <= KEPT_WINDOWS * connection.window.size
        connection.queue.append((load, fits))
        if not connection.is_busy:
            self._leave(connection, moment)
        return fits

    def _connection(self, place: Place) -> _Connection:
        connection = self._connections.get(place)
        if connection is None:
            sender, receiver = place
            path = self._ways.path(sender, receiver)
            back = self._ways.link(receiver, sender).latency
            connection = _Connection(path, path.link.latency + back)
            self._connections[place] = connection
        return connection

    def _leave(self, connection: _Connection, moment: Moment) -> None:
        load, is_taken = connection.queue.popleft()
        connection.is_busy = True

        def cross(head: Moment, tail: Moment) -> None:
            self._cross(load, connection, head, tail, is_taken=is_taken)

        self._pass(load, connection.path.outgoing, moment, moment, cross)

    def _pass(
        self,
        load: Load,
        pipes: tuple[Pipe, ...],
        head: Moment,
        tail: Moment,
        then: Callable[[Moment, Moment], None],
    ) -> None:
        """Pass pipes one after another.

        `head` is when the first byte comes to a pipe, and `tail` when the last byte does.
        """
        if not pipes:
            then(head, tail)
            return
        pipe, rest = pipes[0], pipes[1:]
        begins = latest(head, self._free[pipe.name])
        seconds = 8 * self._stack.wire_bytes(load.size) / pipe.bandwidth
        passed = after(begins, seconds, Reason.BANDWIDTH, load.place)
        self._free[pipe.name] = passed
        tail = latest(passed, tail)
        if rest:
            self._events.add(begins, lambda head: self._pass(load, rest, head, tail, then))
        else:
            self._events.add(begins, lambda head: then(head, tail))

    def _cross(
        self, load: Load, connection: _Connection, head: Moment, tail: Moment, *, is_taken: bool
    ) -> None:
        """Cross the network: from the sender's last pipe to the receiver's first one."""
        link = connection.path.link
        end, connection.window = connection.window.send(
            load.size,
            now=head.seconds,
            round_trip=connection.round_trip,
            bandwidth=link.bandwidth,
            control=self._stack.congestion_control,
        )
        gone = after(tail, end - tail.seconds, Reason.SLOW_START, load.place)
        if not is_taken:
            # What the system keeps leaves in about a round trip.
            held = max(0.0, gone.seconds - connection.round_trip - head.seconds)
            reason = Reason.SLOW_START if end > tail.seconds else Reason.BANDWIDTH
            self._events.add(after(head, held, reason, load.place), load.taken)

        def free(moment: Moment) -> None:
            connection.is_busy = False
            connection.unsent -= load.size
            load.left(moment)
            if connection.queue and not connection.is_busy:
                self._leave(connection, moment)

        self._events.add(gone, free)
        tail = after(gone, link.latency, load.reason, load.place)
        head = after(head, link.latency, load.reason, load.place)
        incoming = connection.path.incoming

        def arrive(_: Moment, tail: Moment) -> None:
            self._arrive(load, connection, tail)

        self._events.add(head, lambda head: self._pass(load, incoming, head, tail, arrive))

    def _arrive(self, load: Load, connection: _Connection, moment: Moment) -> None:
        """Add jitter and losses, and let the load arrive, behind those before it."""
        link = connection.path.link
        if link.jitter or link.loss:
            jitter, loss = self._network.draws(*load.place, connection.number)
            connection.number += 1
            moment = after(moment, jitter * link.jitter, Reason.JITTER, load.place)
            if loss < 1 - (1 - link.loss) ** segments(load.size):
                recovery = self._stack.recovery_seconds(load.size, round_trip=connection.round_trip)
                moment = after(moment, recovery, Reason.LOSS, load.place)
        connection.arrival = moment = latest(moment, connection.arrival)
        self._events.add(moment, load.arrived)
