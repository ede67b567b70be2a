"""The simulation: roles that compute, send and wait, as discrete events.

An actor is a role's part. Whenever it may go on it is called with the time, and with a frame if it
waited for one. It returns what it does next: it sends, waits, or has ended. Before that it computes
for some seconds. An actor may follow a script (`replay`) or be a role that runs (`virtual`).

How frames travel is modelled after `messages.mpi` over TCP, see `stack` and `traffic`:

- A small frame leaves at once. Its sender goes on when its system has taken all bytes.
- The frames of a broadcast leave at once, and their sender goes on when all have been taken.
- A large frame is announced. Its data leave when the receiver has answered; until they have left,
  the sender is held. A role answers when it waits or is held itself, not while it computes.

Every time in here is a `Moment`, so each result knows its critical path.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from .events import EventQueue
from .model import Network
from .moments import START, Moment, Reason, after, latest
from .processors import Processors
from .traffic import Load, Traffic, nothing

__all__ = ["Actor", "Ended", "Frame", "Look", "Request", "Send", "Simulation", "Wait"]

CONTROL_BYTES: Final = 0
"""Bytes of an announcement and of an answer beside the headers."""


class Frame(NamedTuple):
    """A frame on its way."""

    sender: int
    receiver: int
    size: int
    content: bytes
    turn: int
    """Number of the sender's request."""


class Send(NamedTuple):
    """A role has computed for some seconds, and sends a frame."""

    computed: float
    to: int
    size: int
    content: bytes = b""
    timeout: float = math.inf
    more: bool = False
    """Whether frames for other receivers follow at once, the last of which waits for all."""


class Wait(NamedTuple):
    """A role has computed for some seconds, and waits for a frame from anybody."""

    computed: float
    timeout: float = math.inf


class Look(NamedTuple):
    """A role has computed for some seconds, and looks at the clock."""

    computed: float


class Ended(NamedTuple):
    """A role has computed for some seconds, and has ended."""

    computed: float


Request: TypeAlias = Send | Wait | Look | Ended
Actor: TypeAlias = Callable[[float, Frame | None], Request]
"""Goes on with a role at a time, with the frame that it waited for, until its next request."""


@dataclass(slots=True)
class _Role:
    """State of one role."""

    actor: Actor
    request: Send | Wait | None = None
    """What the role is in; `None` while it computes."""
    following: Request | None = None
    """What the role is in next, when it has computed."""
    turn: int = 0
    """Number of the request."""
    clock: Moment = START
    """The moment since which it is in its request."""
    arrived: deque[tuple[Frame, Moment]] = field(default_factory=deque)
    """Frames, and announcements of large ones, that the role has not looked at."""
    inbox: deque[Frame] = field(default_factory=deque)
    """Frames that the role has taken in."""
    is_taking: bool = False
    """Whether a large frame comes in, before which the role does nothing else."""
    unsent: dict[int, int] = field(default_factory=dict)
    """Sizes of the frames that the role's system has not taken, by the number of their request."""
    released: Moment | None = None
    """When the last of these has been taken, or the data of a large one have left."""


class Simulation:
    """Roles on a network."""

    def __init__(self, network: Network, actors: Sequence[Actor]) -> None:
        self.ended: dict[int, Moment] = {}
        """When each role has ended."""
        self._stack = network.stack
        self._events = EventQueue()
        self._traffic = Traffic(network, self._events)
        cores = network.cores
        self._processors = None if cores is None else Processors(cores, self._events)
        self._roles = [_Role(actor) for actor in actors]
        ranks = range(len(actors))
        # Each of these happens many times, so they are made once for each role.
        self._begins = [partial(self._begin, rank) for rank in ranks]
        self._wakes = [partial(self._progress, rank) for rank in ranks]

    def run(self) -> None:
        """Let all roles act until nothing happens any more."""
        for rank in range(len(self._roles)):
            self._resume(rank, START, None)
        self._events.run()

    def _resume(self, rank: int, moment: Moment, frame: Frame | None) -> None:
        """Let a role compute until its next request."""
        role = self._roles[rank]
        role.request = None
        role.turn += 1
        request = role.following = role.actor(moment.seconds, frame)
        if request.computed > 0:
            if self._processors is not None:
                seconds, then = request.computed, self._begins[rank]
                self._processors.compute(moment, seconds, rank=rank, then=then)
                return
            moment = after(moment, request.computed, Reason.COMPUTATION, (rank, rank))
        self._events.add(moment, self._begins[rank])

    def _begin(self, rank: int, moment: Moment) -> None:
        """Begin the request before which a role has computed."""
        role = self._roles[rank]
        role.clock = moment
        request = role.following
        if request is None or isinstance(request, Ended):
            self.ended[rank] = moment
            return
        if isinstance(request, Look):
            self._resume(rank, moment, None)
            return
        if isinstance(request, Send):
            frame = Frame(rank, request.to, request.size, request.content, role.turn)
            role.released = None
            is_eager = self._stack.is_eager(frame.size)
            is_taken = self._send(frame, moment, size=frame.size if is_eager else CONTROL_BYTES)
            if not (is_eager and is_taken):
                role.unsent[role.turn] = frame.size
            is_posted = request.more and sum(role.unsent.values()) <= self._stack.posted_bytes
            if is_posted or not role.unsent:
                self._resume(rank, moment, None)
                return
        role.request = request
        if request.timeout < math.inf:
            until = after(moment, request.timeout, Reason.TIME_LIMIT, (rank, rank))
            turn = role.turn
            self._events.add(until, lambda end: self._expire(rank, turn, end))
        self._progress(rank, moment)

    def _expire(self, rank: int, turn: int, moment: Moment) -> None:
        """End a request that has lasted too long."""
        role = self._roles[rank]
        if role.request is not None and role.turn == turn and not self._is_blocked(role):
            role.unsent.clear()
            self._resume(rank, moment, None)

    def _is_blocked(self, role: _Role) -> bool:
        return role.is_taking and not self._stack.concurrent_frames

    def _progress(self, rank: int, moment: Moment) -> None:
        """Let a role that waits, or is held, look at what has arrived, and go on if it can."""
        role = self._roles[rank]
        moment = latest(moment, role.clock)
        while role.request is not None and not (role.is_taking and self._is_blocked(role)):
            if role.inbox and isinstance(role.request, Wait):
                self._resume(rank, moment, role.inbox.popleft())
            elif role.released is not None and isinstance(role.request, Send):
                self._resume(rank, latest(moment, role.released), None)
            elif role.arrived:
                frame, arrival = role.arrived.popleft()
                moment = latest(moment, arrival)
                if self._stack.is_eager(frame.size):
                    role.inbox.append(frame)
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
            self._events.add(wakes, self._wakes[rank])

    # ---- frames

    def _send(self, frame: Frame, moment: Moment, *, size: int) -> bool:
        """Send a small frame, or the announcement of a large one; tell whether it is taken."""

        def arrive(arrival: Moment) -> None:
            self._roles[frame.receiver].arrived.append((frame, arrival))
            self._notice(frame.receiver, arrival)

        is_whole = size == frame.size
        reason = Reason.LATENCY if is_whole else Reason.HANDSHAKE
        place = frame.sender, frame.receiver
        taken = (lambda left: self._release(frame, left)) if is_whole else nothing
        return self._traffic.carry(Load(place, size, reason, arrive, taken=taken), moment)

    def _release(self, frame: Frame, moment: Moment) -> None:
        """Let the sender of a frame go on if it waits for no other one."""
        sender = self._roles[frame.sender]
        if sender.unsent.pop(frame.turn, None) is None or sender.unsent:
            return
        if isinstance(sender.request, Send):
            sender.released = moment
            self._progress(frame.sender, moment)

    def _answer(self, frame: Frame, moment: Moment) -> None:
        """Ask for the data of a large frame; their sender goes on when they have left."""

        def complete(arrival: Moment) -> None:
            receiver = self._roles[frame.receiver]
            receiver.is_taking = False
            receiver.inbox.append(frame)
            self._notice(frame.receiver, arrival)

        place = frame.sender, frame.receiver
        data = Load(
            place, frame.size, Reason.LATENCY, complete, lambda left: self._release(frame, left)
        )

        def ask(asked: Moment) -> None:
            self._traffic.carry(data, asked)

        back = Load(
            place[::-1],
            CONTROL_BYTES,
            Reason.HANDSHAKE,
            ask,
        )
        self._traffic.carry(back, moment)
