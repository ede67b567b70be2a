"""What one host sends in a conversation of rounds: when its frames leave, and hold their sender.

The frames of a round are all sent before the next round begins. So nothing but these frames is
under way from this host, and few events have to be put into order: those at which a connection is
free again.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from .connection import KEPT_WINDOWS, Connection, PipeState, WireTimes
from .model import Network
from .moments import START, Moment
from .rounds import RoundFrame
from .ways import Ways
from .window import FIRST_WINDOW

__all__ = ["Flight", "NotByRoundsError", "SendingHost"]


class NotByRoundsError(Exception):
    """Rounds overtake one another, or this network cannot be computed round by round."""


class Flight(NamedTuple):
    """A frame that crosses the network."""

    left: tuple[float, int, int]
    """When it left, its place among what its sender sent, and the sender: an order of ties."""
    head: Moment
    """When its first byte comes to the receiver's host."""
    tail: Moment
    """When its last byte comes there."""
    size: int
    round: int
    """The round in which the receiver waits for it."""
    connection: Connection
    is_prompt: bool
    """Whether it left when the sender began to send in this round."""


@dataclass(slots=True)
class _Load:
    """A frame that this host sends."""

    size: int
    round: int
    """The round in which the receiver waits for it."""
    place: int
    """Its place among what the host sends in its round."""
    is_taken: bool
    taken: Moment | None = None
    """When the sender's system takes the last byte; `None` as long as it is not known."""


@dataclass(slots=True)
class _Queue:
    """A connection, and the loads that wait for it."""

    connection: Connection
    loads: deque[_Load] = field(default_factory=deque)
    is_busy: bool = False


class SendingHost:
    """The sending side of one role's host."""

    def __init__(self, rank: int, network: Network, ways: Ways, wire_times: WireTimes) -> None:
        self._rank = rank
        self._stack = network.stack
        self._ways = ways
        self._wire_times = wire_times
        self._uplink: PipeState | None = None
        self._queues: dict[int, _Queue] = {}
        self._frees: list[tuple[float, int, _Queue, int, Moment]] = []
        """When connections are free again, for which queue and after how many bytes."""
        self._numbers = count()
        self._late: dict[int, float] = {}
        """When the last load left for each receiver, of those that had waited in this round."""
        self._bytes: Counter[int] = Counter()
        """Bytes that were sent to each receiver in this round."""
        self._waiting = 0
        """Number of loads that wait."""
        self._began = 0.0
        self._flights: list[Flight] = []
        self._order = rank

    def send(
        self,
        frames: Sequence[tuple[RoundFrame, int]],
        moment: Moment,
        *,
        order: int,
        before: int = 0,
    ) -> tuple[Moment, list[Flight]]:
        """Send the frames of a round, the first one at a moment.

        Args:
            frames: frames, each with the round in which its receiver waits for it.
            moment: when the role begins to send.
            order: which of several roles is first that send at the same time.
            before: number of frames that it has sent in this round before.

        Returns:
            When the role goes on, and the frames on their way.

        Raises:
            NotByRoundsError: frames of the last round leave after this, or one is announced.
        """
        if not frames:
            return moment, []
        self._check_late(frames, moment)
        self._flights, self._order, self._began = [], order, moment.seconds
        held: list[_Load] = []
        for place, (frame, number) in enumerate(frames, start=before):
            if not self._stack.is_eager(frame.size):
                raise NotByRoundsError
            while self._frees and self._frees[0][0] <= moment.seconds:
                self._free()
            held = [each for each in held if not _is_released(each, moment.seconds)]
            self._bytes[frame.receiver] += frame.size
            queue = self._queues.get(frame.receiver) or self._connect(frame.receiver)
            load = _Load(frame.size, number, place, is_taken=queue.connection.take(frame.size))
            if queue.is_busy:
                queue.loads.append(load)
                self._waiting += 1
            else:
                self._leave(load, queue, moment)
            if not load.is_taken:
                held.append(load)
            is_posted = frame.more and (sum(each.size for each in held) <= self._stack.posted_bytes)
            if held and not is_posted:
                moment = self._hold(held)
                held = []
        while self._waiting:
            self._free()
        return moment, self._flights

    @property
    def uplink_free(self) -> Moment:
        """When the host's uplink has let pass all that was sent."""
        return START if self._uplink is None else self._uplink.free

    @property
    def last_late(self) -> float:
        """When the last load left that had waited, as far as that is not long past."""
        return max(self._late.values(), default=-math.inf)

    def connection_to(self, receiver: int) -> tuple[Connection | None, Moment]:
        """Give the connection to a receiver, if there is one, and when all has left on it."""
        queue = self._queues.get(receiver)
        gone = [moment for _, _, each, _, moment in self._frees if each is queue]
        last = max(gone, key=lambda moment: moment.seconds, default=START)
        return None if queue is None else queue.connection, last

    def _check_late(self, frames: Sequence[tuple[RoundFrame, int]], moment: Moment) -> None:
        """Check that what is sent now would have come after all that was sent before.

        Loads of the last round may leave later than this. That changes nothing for a further frame
        on the same connection, which waits for them, if the sender's system takes all of them.
        """
        if not self._late:
            self._bytes.clear()
            return
        late = {receiver for receiver, seconds in self._late.items() if seconds > moment.seconds}
        size = sum(frame.size for frame, _ in frames)
        if late and (
            len(late) > 1
            or late != {frame.receiver for frame, _ in frames}
            or sum(self._bytes[receiver] for receiver in late) + size > KEPT_WINDOWS * FIRST_WINDOW
        ):
            raise NotByRoundsError
        if not late:
            self._late.clear()
            self._bytes.clear()

    def _hold(self, loads: Sequence[_Load]) -> Moment:
        """Give when the sender's system has taken all of some loads."""
        while any(load.taken is None for load in loads):
            self._free()
        return max((load.taken or START for load in loads), key=lambda moment: moment.seconds)

    def _leave(self, load: _Load, queue: _Queue, moment: Moment) -> None:
        """Let a load leave, pass the host's uplink and cross the network."""
        queue.is_busy = True
        size, connection = load.size, queue.connection
        head = tail = moment
        if self._uplink is not None:
            seconds = self._wire_times.seconds(size, self._uplink.bandwidth)
            head, tail = self._uplink.enter(moment, moment, seconds, connection.place)
        crossing = connection.cross(
            size, head=head, tail=tail, stack=self._stack, is_taken=load.is_taken
        )
        load.taken = crossing.taken
        gone = crossing.gone
        heapq.heappush(self._frees, (gone.seconds, next(self._numbers), queue, size, gone))
        left = moment.seconds, load.place, self._order
        self._flights.append(
            Flight(
                left=left,
                head=crossing.head,
                tail=crossing.tail,
                size=size,
                round=load.round,
                connection=connection,
                is_prompt=moment.seconds == self._began,
            )
        )

    def _free(self) -> None:
        """Let the next connection be free again, and the first load leave that waits for it."""
        seconds, _, queue, size, moment = heapq.heappop(self._frees)
        queue.is_busy = False
        queue.connection.unsent -= size
        if queue.loads:
            self._waiting -= 1
            self._late[queue.connection.place[1]] = seconds
            self._leave(queue.loads.popleft(), queue, moment)

    def _connect(self, receiver: int) -> _Queue:
        stretches = self._ways.stretches(self._rank, receiver)
        if stretches.leaving or stretches.entering or stretches.across.bandwidth < math.inf:
            raise NotByRoundsError
        if stretches.uplink.bandwidth < math.inf and self._uplink is None:
            self._uplink = PipeState(stretches.uplink.bandwidth)
        link = self._ways.link(self._rank, receiver)
        back = self._ways.link(receiver, self._rank).latency
        place = self._rank, receiver
        queue = self._queues[receiver] = _Queue(Connection(place, link, link.latency + back))
        return queue


def _is_released(load: _Load, seconds: float) -> bool:
    """Tell whether a sender's system has taken a load by some time."""
    return load.taken is not None and load.taken.seconds <= seconds
