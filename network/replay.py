"""Replay: what a finished run would have taken on another network.

The ledger says of every role what it sent and received, in which order, and how long it computed
in between. A script of this goes through the simulation. What depends on what is as it was: a role
sends when it has received what it had received before it. To hand a first window of bytes to its
system is a role's own work, and counts as computation: where roles share cores it takes
milliseconds.

After its last message every party tells the curator that it has ended, and the conversation ends
when the curator has learnt it of all. These frames are not in the ledger, but take time.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from ..messages import CURATOR, Entry
from .model import Network
from .moments import Moment
from .simulation import Actor, Ended, Frame, Look, Request, Send, Simulation, Wait
from .timing import Timing
from .window import FIRST_WINDOW

__all__ = ["END_BYTES", "PartStep", "Waits", "collecting_later", "parts_of", "replay"]

END_BYTES: Final = 64
"""Bytes of the frame with which a role tells that it has ended, approximately."""

Waits: TypeAlias = defaultdict[tuple[int, int], float]
Part: TypeAlias = Generator[Request, tuple[float, Frame | None], None]


class PartStep(NamedTuple):
    """A message in one role's part."""

    computed: float
    """Seconds that the role computed before."""
    sent: bool
    peer: int
    size: int
    read: float = 0.0
    """Seconds that the role took to read what it received."""
    round: int = 0
    """The message's place in the longest chain before it; 0 where it is not known."""
    more: bool = False
    """Whether the next message is of the same broadcast."""


def parts_of(entries: Sequence[Entry], *, parties: int) -> list[list[PartStep]]:
    """List each role's messages, with the computation in between, from a ledger."""
    acts: list[list[tuple[float, int, Entry]]] = [[] for _ in range(parties + 1)]
    for entry in entries:
        # At the same time a role sends a message of round n after it has received those below n.
        acts[entry.sender].append((entry.sent_at, 2 * entry.round - 1, entry))
        acts[entry.receiver].append((entry.received_at, 2 * entry.round, entry))
    return [
        list(_steps(rank, sorted(timed, key=lambda act: (act[0], act[1], act[2].message))))
        for rank, timed in enumerate(acts)
    ]


def _steps(rank: int, acts: Sequence[tuple[float, int, Entry]]) -> Iterable[PartStep]:
    clock = 0.0
    unanswered: Counter[int] = Counter()
    """Bytes that were sent to each role since something came from it."""
    following = [*(entry for _, _, entry in acts[1:]), None]
    for (seconds, _, entry), after in zip(acts, following, strict=False):
        if entry.sender == rank:
            # A system takes a first window at once: until then its role does the work of sending.
            unanswered[entry.receiver] += entry.frame_bytes
            is_taken = unanswered[entry.receiver] <= FIRST_WINDOW
            leaves_at = entry.sent_at if is_taken else entry.sending_at
            computed = max(0.0, leaves_at - clock)
            yield PartStep(
                computed,
                sent=True,
                peer=entry.receiver,
                size=entry.frame_bytes,
                round=entry.round,
                more=after is not None and _is_one_broadcast(entry, after),
            )
        else:
            del unanswered[entry.sender]
            computed = max(0.0, entry.awaited_at - clock)
            read = max(0.0, entry.received_at - entry.arrived_at)
            yield PartStep(
                computed,
                sent=False,
                peer=entry.sender,
                size=entry.frame_bytes,
                read=read,
                round=entry.round,
            )
        clock = seconds


def _is_one_broadcast(entry: Entry, after: Entry) -> bool:
    """Tell whether two messages were sent by one verb: a step is the number of a verb."""
    return (entry.sender, entry.phase, entry.step) == (after.sender, after.phase, after.step)


def replay(parts: Sequence[Sequence[PartStep]], network: Network, *, last: float = 0.0) -> Timing:
    """Give the time that the conversation takes on a network, until the curator knows its end.

    Args:
        parts: each role's messages, by rank.
        network: the network.
        last: seconds that the curator computes after its last message.
    """
    waits: Waits = defaultdict(float)
    parties = range(1, len(parts))
    actors = [
        _actor(_follow(rank, whole, waits, network.speed, shares=network.cores is not None))
        for rank, whole in enumerate(
            _with_end(part, rank, parties, last) for rank, part in enumerate(parts)
        )
    ]
    with collecting_later():
        return Timing.of(_last_moment(Simulation(network, actors)), waits)


def _last_moment(simulation: Simulation) -> Moment:
    """Let all roles act, and give the moment when the curator has ended.

    Nothing else is kept, so that the search for garbage has not to look through all moments.
    """
    simulation.run()
    return simulation.ended[CURATOR]


@contextmanager
def collecting_later() -> Iterator[None]:
    """Put off the search for cycles of garbage.

    A simulation keeps all its moments, a million with many roles. The search would look through
    them again and again, for a third of the whole time.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def _with_end(
    part: Sequence[PartStep], rank: int, parties: Sequence[int], last: float
) -> list[PartStep]:
    """Add the frames that end a role's part."""
    if rank != CURATOR:
        return [*part, PartStep(0.0, sent=True, peer=CURATOR, size=END_BYTES)]
    return [
        *part,
        *(
            PartStep(last if party == 1 else 0.0, sent=True, peer=party, size=END_BYTES)
            for party in parties
        ),
        *(PartStep(0.0, sent=False, peer=party, size=END_BYTES) for party in parties),
    ]


def _follow(
    rank: int, part: Sequence[PartStep], waits: Waits, speed: float, *, shares: bool
) -> Part:
    """Follow a script; `waits` gets the time that this role waits for each other one."""
    now, computed = 0.0, 0.0
    inbox: Counter[int] = Counter()
    yield Wait(0.0)  # Nobody takes this one: it stands before the part begins.
    for step in part:
        computed += step.computed / speed
        if step.sent:
            now, _ = yield Send(computed, step.peer, step.size, more=step.more)
            computed = 0.0
            continue
        if shares and computed:
            now, _ = yield Look(computed)  # how long that takes depends on the others
            computed = 0.0
        began = now + computed
        while not inbox[step.peer]:
            now, frame = yield Wait(computed)
            computed = 0.0
            if frame is not None:
                inbox[frame.sender] += 1
        inbox[step.peer] -= 1
        waits[rank, step.peer] += now + computed - began
        computed += step.read / speed
    yield Ended(computed)


def _actor(part: Part) -> Actor:
    next(part)  # A generator starts with nothing; what it is sent answers its last request.
    send = part.send

    def act(now: float, frame: Frame | None) -> Request:
        return send((now, frame))

    return act
