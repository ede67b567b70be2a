"""The simulation: roles and the frames between them as discrete events.

An actor is a role's part. Whenever it may go on it is called with the time, and with a frame if it
waited for one. It returns what it does next: it sends, waits, or has ended. Before that it computes
for some seconds. An actor may follow a script, as in `replay`.

How frames travel is modelled after `messages.mpi` over TCP, see `stack`:

- A small frame leaves at once. It passes one pipe after another, and its first byte enters the
  next pipe before its last byte has left the one before.
- A large frame is announced. Its data leave when the receiver has answered; until they have left,
  the sender is held. A role answers when it waits or is held itself, not while it computes.
- Frames of one edge arrive in the order in which they were sent.

Every time in here is a `Moment`, so each result knows its critical path.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias

from .model import Network, Path, Pipe
from .moments import START, Moment, Reason, after, latest
from .stack import FIRST_WINDOW, segments

__all__ = ["Actor", "Ended", "Frame", "Request", "Send", "Simulation", "Wait"]


class Frame(NamedTuple):
    """A frame on its way."""

    sender: int
    receiver: int
    size: int
    number: int
    """Number of the frame among those of its edge."""
    content: bytes


class Send(NamedTuple):
    """A role has computed for some seconds, and sends a frame."""

    computed: float
    to: int
    size: int
    content: bytes = b""


class Wait(NamedTuple):
    """A role has computed for some seconds, and waits for a frame from anybody."""

    computed: float
    timeout: float


class Ended(NamedTuple):
    """A role has computed for some seconds, and has ended."""

    computed: float


Request: TypeAlias = Send | Wait | Ended
Then: TypeAlias = Callable[[Moment], None]
Actor: TypeAlias = Callable[[float, Frame | None], Request]
"""Goes on with a role at a time, with the frame that it waited for, until its next request."""


@dataclass(slots=True)
class _Role:
    """State of one role."""

    actor: Actor
    request: Request | None = None
    """What the role is in; `None` while it computes."""
    turn: int = 0
    """Number of the request."""
    clock: Moment = START
    """The moment since which it is in its request."""
    arrived: deque[tuple[Frame, Moment]] = field(default_factory=deque)
    """Frames, and announcements of large ones, that the role has not looked at."""
    inbox: deque[tuple[Frame, Moment]] = field(default_factory=deque)
    """Frames that the role has taken in."""
    is_taking: bool = False
    """Whether a large frame comes in, before which the role does nothing else."""
    released: Moment | None = None
    """When the data of the large frame that the role sends have left."""


@dataclass(slots=True)
class _Edge:
    """State of one edge: a TCP connection, whose frames leave one after another."""

    path: Path
    round_trip: float
    number: int = 0
    window: int = FIRST_WINDOW
    queue: deque[tuple[Frame, Then]] = field(default_factory=deque)
    """Frames that are to leave, and what happens when they have left."""
    is_busy: bool = False
    arrival: Moment = START
    """When the last frame arrived."""


class Simulation:
    """Frames of some actors on a network."""

    def __init__(self, network: Network, actors: Sequence[Actor]) -> None:
        self.ended: dict[int, Moment] = {}
        """When each role has ended."""
        self._network = network
        self._stack = network.stack
        self._roles = [_Role(actor) for actor in actors]
        self._edges: dict[tuple[int, int], _Edge] = {}
        self._free: dict[str, Moment] = defaultdict(lambda: START)
        self._events: list[tuple[float, int, Then, Moment]] = []
        self._number = count()

    def run(self) -> None:
        """Let all roles act until nothing happens any more."""
        for rank in range(len(self._roles)):
            self._resume(rank, START, None)
        while self._events:
            _, _, act, moment = heapq.heappop(self._events)
            act(moment)

    def _schedule(self, moment: Moment, act: Then) -> None:
        heapq.heappush(self._events, (moment.seconds, next(self._number), act, moment))

    # ---- roles

    def _resume(self, rank: int, moment: Moment, frame: Frame | None) -> None:
        """Let a role compute until its next request."""
        role = self._roles[rank]
        role.request = None
        role.turn += 1
        request = role.actor(moment.seconds, frame)
        begins = after(moment, request.computed, Reason.COMPUTATION, (rank, rank))
        self._schedule(begins, lambda begin: self._begin(rank, request, begin))

    def _begin(self, rank: int, request: Request, moment: Moment) -> None:
        role = self._roles[rank]
        role.clock = moment
        if isinstance(request, Ended):
            self.ended[rank] = moment
            return
        if isinstance(request, Send):
            frame = self._frame(rank, request)
            if self._stack.is_eager(frame.size):
                self._transfer(frame, moment, left=_ignore)
                self._resume(rank, moment, None)
                return
            role.request, role.released = request, None
            self._announce(frame, moment)
            self._progress(rank, moment)
            return
        role.request = request
        if request.timeout < float("inf"):
            until = after(moment, request.timeout, Reason.TIME_LIMIT, (rank, rank))
            turn = role.turn
            self._schedule(until, lambda end: self._expire(rank, turn, end))
        self._progress(rank, moment)

    def _expire(self, rank: int, turn: int, moment: Moment) -> None:
        """End a wait for which nothing has come."""
        role = self._roles[rank]
        if role.request is not None and role.turn == turn and not self._is_blocked(role):
            self._resume(rank, moment, None)

    def _is_blocked(self, role: _Role) -> bool:
        return role.is_taking and not self._stack.concurrent_frames

    def _progress(self, rank: int, moment: Moment) -> None:
        """Let a role that waits, or is held, look at what has arrived, and go on if it can."""
        role = self._roles[rank]
        moment = latest(moment, role.clock)
        while role.request is not None and not self._is_blocked(role):
            if isinstance(role.request, Wait) and role.inbox:
                frame, _ = role.inbox.popleft()
                self._resume(rank, moment, frame)
            elif isinstance(role.request, Send) and role.released is not None:
                self._resume(rank, latest(moment, role.released), None)
            elif role.arrived:
                frame, arrival = role.arrived.popleft()
                moment = latest(moment, arrival)
                if self._stack.is_eager(frame.size):
                    role.inbox.append((frame, moment))
                else:
                    role.is_taking = True
                    self._answer(frame, moment)
            else:
                return

    def _notice(self, rank: int, moment: Moment) -> None:
        """Let a role look, if it is not computing, as soon as it wakes."""
        if self._roles[rank].request is not None:
            delay = self._stack.polling_seconds
            wakes = after(moment, delay, Reason.POLLING, (rank, rank))
            self._schedule(wakes, lambda wake: self._progress(rank, wake))

    # ---- frames

    def _frame(self, rank: int, request: Send) -> Frame:
        edge = self._edge(rank, request.to)
        frame = Frame(rank, request.to, request.size, edge.number, request.content)
        edge.number += 1
        return frame

    def _edge(self, sender: int, receiver: int) -> _Edge:
        if (sender, receiver) not in self._edges:
            path = self._network.path(sender, receiver)
            back = self._network.path(receiver, sender).link.latency
            self._edges[sender, receiver] = _Edge(path, path.link.latency + back)
        return self._edges[sender, receiver]

    def _announce(self, frame: Frame, moment: Moment) -> None:
        place = frame.sender, frame.receiver
        delay = self._edge(*place).path.link.latency
        arrival = after(moment, delay, Reason.HANDSHAKE, place)
        self._schedule(arrival, lambda arrived: self._arrive(frame, arrived))

    def _answer(self, frame: Frame, moment: Moment) -> None:
        """Ask for the data of a large frame."""
        back = self._edge(frame.receiver, frame.sender).path.link.latency
        asked = after(moment, back, Reason.HANDSHAKE, (frame.receiver, frame.sender))
        self._schedule(
            asked,
            lambda begin: self._transfer(
                frame, begin, left=lambda left: self._release(frame.sender, left)
            ),
        )

    def _release(self, rank: int, moment: Moment) -> None:
        """Note that the data of a large frame have left; the role that sends it goes on."""
        self._roles[rank].released = moment
        self._progress(rank, moment)

    def _arrive(self, frame: Frame, moment: Moment) -> None:
        """Take note of a small frame, or of the announcement of a large one."""
        self._roles[frame.receiver].arrived.append((frame, moment))
        self._notice(frame.receiver, moment)

    def _complete(self, frame: Frame, moment: Moment) -> None:
        """Take note that a large frame is there."""
        role = self._roles[frame.receiver]
        role.is_taking = False
        role.inbox.append((frame, moment))
        self._notice(frame.receiver, moment)

    # ---- the way of a frame's bytes

    def _transfer(self, frame: Frame, moment: Moment, *, left: Then) -> None:
        """Bring a frame's bytes to the receiver; `left` is called when they have left the host."""
        edge = self._edge(frame.sender, frame.receiver)
        edge.queue.append((frame, left))
        if not edge.is_busy:
            self._leave(edge, moment)

    def _leave(self, edge: _Edge, moment: Moment) -> None:
        frame, left = edge.queue.popleft()
        edge.is_busy = True

        def cross(head: Moment, tail: Moment) -> None:
            self._cross(frame, edge, head, tail, left)

        self._pass(frame, edge.path.outgoing, moment, moment, cross)

    def _pass(
        self,
        frame: Frame,
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
        pipe, *others = pipes
        place = frame.sender, frame.receiver
        begins = latest(head, self._free[pipe.name])
        seconds = 8 * self._stack.wire_bytes(frame.size) / pipe.bandwidth
        passed = after(begins, seconds, Reason.BANDWIDTH, place)
        self._free[pipe.name] = passed
        tail = latest(passed, tail)
        rest = tuple(others)
        if rest:
            self._schedule(begins, lambda head: self._pass(frame, rest, head, tail, then))
        else:
            then(begins, tail)

    def _cross(self, frame: Frame, edge: _Edge, head: Moment, tail: Moment, left: Then) -> None:
        """Cross the network: from the sender's last pipe to the receiver's first one."""
        place = frame.sender, frame.receiver
        link = edge.path.link
        ramp = self._stack.ramp_seconds(
            frame.size, window=edge.window, round_trip=edge.round_trip, bandwidth=link.bandwidth
        )
        edge.window = max(edge.window, frame.size)
        gone = after(tail, ramp, Reason.SLOW_START, place)

        def free(moment: Moment) -> None:
            edge.is_busy = False
            left(moment)
            if edge.queue and not edge.is_busy:
                self._leave(edge, moment)

        self._schedule(gone, free)
        tail = after(gone, link.latency, Reason.LATENCY, place)

        def end(_: Moment, tail: Moment) -> None:
            self._deliver(frame, edge, tail)

        if edge.path.incoming:
            head = after(head, link.latency, Reason.LATENCY, place)
            self._schedule(
                head, lambda head: self._pass(frame, edge.path.incoming, head, tail, end)
            )
        else:
            end(head, tail)

    def _deliver(self, frame: Frame, edge: _Edge, moment: Moment) -> None:
        """Add jitter and losses, and let the frame arrive, behind those before it."""
        place = frame.sender, frame.receiver
        link = edge.path.link
        jitter, loss = self._network.draws(*place, frame.number)
        moment = after(moment, jitter * link.jitter, Reason.JITTER, place)
        if loss < 1 - (1 - link.loss) ** segments(frame.size):
            recovery = self._stack.recovery_seconds(frame.size, round_trip=edge.round_trip)
            moment = after(moment, recovery, Reason.LOSS, place)
        edge.arrival = moment = latest(moment, edge.arrival)
        act = self._arrive if self._stack.is_eager(frame.size) else self._complete
        self._schedule(moment, lambda arrived: act(frame, arrived))


def _ignore(_: Moment) -> None:
    """Do nothing when a small frame has left: its sender has gone on."""
