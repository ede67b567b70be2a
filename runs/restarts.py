"""Lost roles that are started again, with `--on-loss wait`: how often, and what one must not miss.

A role that is started again replays its log. It may have been lost by what it was doing: a record
on which the program fails, or memory that does not suffice. So a role that is lost twice at the
same place is not started a third time: in the same phase and step, with no record more in its log.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from ..messages import Wire, role_name
from ..messages.frame import FrameKind
from ..messages.wire import Buffer

__all__ = ["MAX_RESTARTS", "RestartableWire", "Restarts"]

MAX_RESTARTS: Final = 10
"""Times that one role is started again."""
ANYBODY: Final = -1
"""Stands for a role where it is not known which was lost, as when mpiexec is killed."""


class Restarts:
    """The losses of one run, by role."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[str, int]] = {}
        self._losses: Counter[int] = Counter()

    def refusal(self, rank: int | None, *, place: str, records: int) -> str:
        """Count a loss, and say why the role is not started again; empty where it is.

        Args:
            rank: the role that was lost; `None` where nobody knows which.
            place: where it was seen last.
            records: number of records that its log has, or all logs.
        """
        lost = ANYBODY if rank is None else rank
        is_same_place = self._places.get(lost) == (place, records)
        self._places[lost] = (place, records)
        self._losses[lost] += 1
        who = "mpiexec or a rank" if rank is None else role_name(rank)
        if is_same_place:
            return f"{who} was lost twice at the same place"
        if self._losses[lost] > MAX_RESTARTS:
            return f"{who} was lost {self._losses[lost]} times"
        return ""


class RestartableWire:
    """One role's end of a wire that outlives the role, for one that takes its place.

    The successor reads the log of the role that was lost. Control frames are in no log, and the
    last message may have been lost between wire and log. So both are kept here, and arrive again.
    """

    def __init__(self, wire: Wire) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self.delivered: dict[int, int] = defaultdict(int)
        """Messages that were handed to the wire, by receiver: none of them is lost."""
        self._wire = wire
        self._taken: dict[int, int] = defaultdict(int)
        self._controls: list[tuple[int, memoryview]] = []
        self._last_message: tuple[int, memoryview] | None = None
        self._again: deque[tuple[int, memoryview]] = deque()

    def succeed(self, arrived: Mapping[int, int]) -> None:
        """Begin to serve a successor.

        Args:
            arrived: how many messages of each other role its log has, of this attempt.
        """
        again = [*self._controls]
        if self._last_message is not None:
            source = self._last_message[0]
            if self._taken[source] > arrived.get(source, 0):
                self._taken[source] -= 1
                again.append(self._last_message)
        self._controls, self._last_message = [], None
        self._again.extendleft(reversed(again))

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self._wire.send(parts, to=to, timeout=timeout, more=more)
        if parts[0][3] == FrameKind.MESSAGE:
            self.delivered[to] += 1

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        if self._again:
            arrival: tuple[int, memoryview] | None = self._again.popleft()
        else:
            arrival = self._wire.arrive(timeout=timeout)
        if arrival is None:
            return None
        source, frame = arrival
        if len(frame) > 3 and frame[3] == FrameKind.MESSAGE:
            self._taken[source] += 1
            self._last_message = arrival
        else:
            self._controls.append(arrival)
        return arrival

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)
