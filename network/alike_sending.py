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

from .alike_connections import AlikeConnections, NotAlikeError
from .connection import KEPT_WINDOWS, WireTimes
from .moment_batches import (
    Floats,
    Indices,
    MomentBatch,
    later,
    latest_of,
    passed_in_turn,
    picked,
)
from .moments import Reason
from .stack import Stack
from .window import FIRST_WINDOW

__all__ = ["AlikeFlights", "AlikeFrame", "AlikeUplink"]


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
