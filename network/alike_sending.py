"""What hosts send in rounds in which all parties do the same, for all of them at once.

There is one connection for each party: to the curator, from it, or to another party. All of these
carry the same frames. So what `round_sending` computes of one frame is computed here of as many as
there are parties, as long as all of them do the same in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .connection import KEPT_WINDOWS, Connection, WireTimes
from .link import Link
from .moment_batches import (
    Floats,
    Indices,
    MomentBatch,
    given,
    later,
    latest_of,
    passed_in_turn,
    picked,
)
from .moments import START, Moment, Place, Reason
from .stack import Stack
from .window import FIRST_WINDOW, Window
from .window_batch import WindowBatch

__all__ = ["AlikeConnections", "AlikeFlights", "AlikeFrame", "AlikeUplink", "NotAlikeError"]


class NotAlikeError(Exception):
    """Parties do not all do the same in the same order."""


@dataclass(slots=True)
class _Load:
    """Bytes that have not left on some connections."""

    size: int | None
    """`None` where they were sent before all did alike."""
    gone: MomentBatch


class AlikeConnections:
    """The connections of all parties in one direction."""

    def __init__(
        self,
        places: Sequence[Place],
        link: Link,
        round_trip: float,
        *,
        before: Sequence[Connection | None],
        gone: Sequence[Moment],
    ) -> None:
        """Go on with single connections.

        Args:
            places: sender and receiver of each connection.
            link: the link that all of them have.
            round_trip: the seconds of their round trip.
            before: what they were before; `None` where nothing was sent.
            gone: when the last byte has left that was sent before.
        """
        windows = [Window() if each is None else each.window for each in before]
        self.places = places
        self.link = link
        self.arrival = given([START if each is None else each.arrival for each in before])
        """When the last load arrived, by the place of the connection."""
        self._round_trip = round_trip
        self._windows = WindowBatch.of(windows)
        self._loads = [_Load(None, given(gone))]

    def begin(self, moment: MomentBatch) -> None:
        """Begin to send at a moment: what has left by then is forgotten."""
        self._loads = [load for load in self._loads if np.any(load.gone.seconds > moment.seconds)]

    def is_busy(self) -> bool:
        """Tell whether anything that was sent before has not left on some of the connections."""
        return bool(self._loads)

    def waits(self, moment: MomentBatch) -> bool:
        """Tell whether a further load has to wait, as one before it has not left by a moment.

        Raises:
            NotAlikeError: it has on some connections, and has not on others.
        """
        self.begin(moment)
        waits = np.zeros(len(self.places), np.bool_)
        for load in self._loads:
            waits |= load.gone.seconds > moment.seconds
        if waits.all() != waits.any():
            raise NotAlikeError
        return bool(waits.all())

    def take(self, size: int, moment: MomentBatch, *, waiting: int) -> bool:
        """Take a load; tell whether the senders' systems take all of it at once.

        Args:
            size: bytes of the load.
            moment: when it is sent.
            waiting: bytes that wait on the connection.

        Raises:
            NotAlikeError: some of them do, and some do not.
        """
        unsent = np.full(len(self.places), size + waiting)
        for load in self._loads:
            if load.size is None:
                raise NotAlikeError
            unsent += np.where(load.gone.seconds > moment.seconds, load.size, 0)
        taken = unsent <= KEPT_WINDOWS * self._windows.size
        if taken.all() != taken.any():
            raise NotAlikeError
        return bool(taken.all())

    def free(self, moment: MomentBatch) -> MomentBatch:
        """Give when a load can leave that is sent at a moment: behind those before it."""
        return latest_of(moment, self._loads[-1].gone) if self._loads else moment

    def cross(
        self, size: int, *, head: MomentBatch, tail: MomentBatch, stack: Stack, is_taken: bool
    ) -> tuple[MomentBatch, MomentBatch, MomentBatch | None]:
        """Cross the network with a load; see `Connection.cross`.

        Returns:
            When the first and the last byte arrive, and when the senders' systems have taken all,
            if they have not at once.
        """
        end, self._windows = self._windows.send(
            size,
            now=head.seconds,
            round_trip=self._round_trip,
            bandwidth=self.link.bandwidth,
            control=stack.congestion_control,
        )
        place, latency = self.places.__getitem__, self.link.latency
        gone = later(tail, end - tail.seconds, Reason.SLOW_START, place)
        taken = None
        if not is_taken:
            held = np.maximum(0.0, gone.seconds - self._round_trip - head.seconds)
            is_slow = end > tail.seconds

            def why(index: int) -> Reason:
                return Reason.SLOW_START if is_slow[index] else Reason.BANDWIDTH

            taken = later(head, held, why, place)
        self._loads.append(_Load(size, gone))
        return (
            later(head, latency, Reason.LATENCY, place),
            later(gone, latency, Reason.LATENCY, place),
            taken,
        )

    def arrive(self, tail: MomentBatch) -> MomentBatch:
        """Give when a load arrives, behind those before it."""
        self.arrival = latest_of(tail, self.arrival)
        return self.arrival


class AlikeFrame(NamedTuple):
    """A frame on each connection."""

    connections: AlikeConnections
    size: int
    round: int
    """The round in which its receiver waits for it."""


class AlikeFlights(NamedTuple):
    """Frames that cross the network, one on each connection; see `round_sending.Flight`."""

    connections: AlikeConnections
    size: int
    round: int
    head: MomentBatch
    tail: MomentBatch
    left: tuple[Floats | Indices, ...]
    """When each left, its place among what its sender sent, and its sender's place in order."""


@dataclass(slots=True)
class AlikeUplink:
    """The sending side of one host, or of the hosts of all parties."""

    bandwidth: float
    is_shared: bool
    """Whether all connections have one host, the curator's, and pass one uplink in turn."""
    free: MomentBatch
    """When the uplink has let pass all that came before: one moment for each host."""
    late: npt.NDArray[np.float64]
    """When the last load left that had waited, in each host."""
    stack: Stack
    wire_times: WireTimes
    flights: list[AlikeFlights] = field(default_factory=list)
    _late_connections: AlikeConnections | None = None
    """On which that load left."""
    _bytes: int = KEPT_WINDOWS * FIRST_WINDOW
    """Bytes that each host has sent since loads were late at last, at most."""

    def send(
        self,
        frames: Sequence[AlikeFrame],
        moment: MomentBatch,
        *,
        order: Indices,
        before: int = 0,
    ) -> tuple[MomentBatch, list[AlikeFlights]]:
        """Send the frames of a round; see `SendingHost.send`.

        Args:
            frames: frames, in the order in which each host sends them.
            moment: when each host begins to send.
            order: the place of the sender of each connection among all roles.
            before: number of frames that each has sent in this round before.

        Returns:
            When the roles go on, and the frames on their way.

        Raises:
            NotAlikeError: connections are busy, or senders are held before their last frame.
        """
        self._check_late(frames, moment)
        self.flights = []
        self.late = np.full(len(self.late), -np.inf)
        count = len(frames[0].connections.places)
        begin = picked(moment, np.zeros(count, np.int64)) if self.is_shared else moment
        places = np.arange(count) if self.is_shared else np.zeros(count, np.int64)
        step = count if self.is_shared else 1
        queue, used = list[tuple[AlikeFrame, Indices, bool]](), set[int]()
        for each in {id(frame.connections): frame.connections for frame in frames}.values():
            each.begin(begin)
            if each.is_busy() and (self.is_shared or len(frames) > 1):
                raise NotAlikeError
        held: MomentBatch | None = None
        for number, frame in enumerate(frames):
            if not self.stack.is_eager(frame.size):
                raise NotAlikeError
            is_first = id(frame.connections) not in used
            has_to_wait = not is_first and frame.connections.waits(begin)
            waiting = sum(
                each.size for each, _, _ in queue if each.connections is frame.connections
            )
            is_taken = frame.connections.take(frame.size, begin, waiting=waiting)
            if not is_taken and (self.is_shared or number + 1 < len(frames)):
                raise NotAlikeError
            place = before + number * step + places
            if has_to_wait:
                queue.append((frame, place, is_taken))
                continue
            used.add(id(frame.connections))
            free = frame.connections.free(begin)
            held = self._leave(frame, free, place, order, is_taken=is_taken) or held
        if len({id(frame.connections) for frame, _, _ in queue}) > 1:
            raise NotAlikeError
        gone: Floats | None = None
        for frame, place, is_taken in queue:
            free = frame.connections.free(begin)
            if gone is not None and self.is_shared and gone.max() > free.seconds.min():
                raise NotAlikeError  # Loads of two broadcasts leave in turn.
            gone = free.seconds
            self.late = np.full(len(self.late), gone.max()) if self.is_shared else gone
            self._late_connections = frame.connections
            held = self._leave(frame, free, place, order, is_taken=is_taken) or held
        return moment if held is None else held, self.flights

    def _check_late(self, frames: Sequence[AlikeFrame], moment: MomentBatch) -> None:
        """Check that what is sent now would have come after all before; see `SendingHost`."""
        if not np.any(self.late > moment.seconds):
            self._bytes = 0
        self._bytes += sum(frame.size for frame in frames)
        if self._bytes and np.any(self.late > moment.seconds):
            others = [each for each in frames if each.connections is not self._late_connections]
            if self.is_shared or others or self._bytes > KEPT_WINDOWS * FIRST_WINDOW:
                raise NotAlikeError

    def _leave(
        self,
        frame: AlikeFrame,
        moment: MomentBatch,
        place: Indices,
        order: Indices,
        *,
        is_taken: bool,
    ) -> MomentBatch | None:
        """Let loads leave, pass the uplinks and cross the network; see `SendingHost._leave`."""
        head = tail = moment
        connections = frame.connections
        if self.bandwidth < np.inf:
            seconds = self.wire_times.seconds(frame.size, self.bandwidth)
            where = connections.places.__getitem__
            if self.is_shared:
                if np.any(np.diff(moment.seconds) < 0):
                    raise NotAlikeError
                head, passed = passed_in_turn(moment, [seconds] * len(moment), self.free, where)
                self.free = picked(passed, np.array([len(passed) - 1]))
            else:
                head = latest_of(moment, self.free)
                self.free = passed = later(head, seconds, Reason.BANDWIDTH, where)
            tail = latest_of(passed, moment)
        arrives, ends, taken = connections.cross(
            frame.size, head=head, tail=tail, stack=self.stack, is_taken=is_taken
        )
        left = moment.seconds, place, order
        self.flights.append(AlikeFlights(connections, frame.size, frame.round, arrives, ends, left))
        return taken
