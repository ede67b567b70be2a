"""One run of an audit: all roles on threads, and the audited party once more on other records.

The run is on the parties' tables. Then the audited party's part is played again on the neighbouring
table: with the same messages received, the same random streams, and the same answers of all its
releases. So each release is at hand twice, with the exact value of both datasets. Whatever the
party sends must be the same bytes: a difference is no release's, and has no bound.

Left out are the curator's computations after the last message of a party. They follow from what the
curator holds, so they add nothing to any view.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from ..curator import Curator
from ..messages import CURATOR, ArgumentError, Role, SottovoceError, Wire, thread_wires
from ..parties import Party, Records, Schema
from ..privacy import Release
from ..privacy.taping import ReleasePair, TapedRelease
from ..protocols.protocol import AnyProtocol
from ..runs.failure import RunFailed, describe
from ..runs.guard import with_repeats
from ..runs.instance import instantiate, is_built_in
from ..runs.introduced import play_desk, play_part
from ..runs.job import Job
from ..runs.left_behind import Surroundings
from ..runs.open_shares import replay_other_answers
from ..runs.printing import note_printing
from ..runs.private_place import private_place
from ..runs.replay import PartTape, Replay, replay_part, tape_part
from ..runs.role_threads import RoleError, play_on_threads
from ..runs.roles import make_curator
from ..runs.unaccounted import outside_of

__all__ = ["PairedRun", "play_pair"]

Counts = npt.NDArray[np.int64]

SECONDS: Final = 1.0
"""Time after which no further replay with other answers begins."""
MAX_SECONDS: Final = 60.0
"""Longest time of a replay with other answers."""


@dataclass(frozen=True, slots=True)
class PairedRun:
    """What one run released, and what else would have differed on the neighbouring dataset."""

    releases: tuple[ReleasePair, ...]
    """The audited party's releases, on both datasets."""
    others: dict[int, tuple[TapedRelease, ...]]
    """The other parties' releases, by rank."""
    sums: tuple[tuple[int, Counts], ...]
    """The sums that the curator received, see `Curator.sums`."""
    accounted: tuple[Release, ...]
    """The audited party's releases as its accountant recorded them."""
    in_the_open: bool
    """Whether something else than a secure sum carries an answer that only such a sum may carry."""
    difference: str
    """What differs without a release; empty if nothing does."""
    messages: tuple[object, ...]
    """What the audited party sent."""
    protocol: AnyProtocol


def play_pair(
    job: Job,
    protocols: Sequence[AnyProtocol],
    *,
    records: Sequence[Records],
    neighbour: Records,
    party: int,
    schema: Schema | None,
) -> PairedRun:
    """Play a run on threads, then the audited party's part on the neighbouring table.

    Args:
        job: the job, with the seed of this run.
        protocols: an instance for the audit, one for the curator, and one for each party.
        records: each party's records.
        neighbour: the audited party's records in the neighbouring dataset.
        party: the rank of the audited party.
        schema: the schema that the roles agreed on.

    Raises:
        SottovoceError: a role refused something.
        RunFailed: a role's code ended in another error.
    """
    wires = thread_wires(job.parties + 1)
    is_own = is_built_in(type(protocols[0]))
    # To note every name in every module would take longer than all else, and no audit asks for it.
    surroundings = Surroundings(with_names=False)
    tapes = {
        rank: tape_part(
            wires[rank],
            protocols[1 + rank],
            job,
            records=records[rank - 1],
            cores=1,
            surroundings=surroundings,
            rehearses=True,
        )
        for rank in range(1, job.parties + 1)
    }
    roles: dict[int, Role] = {rank: tape.party for rank, tape in tapes.items()}
    finish = _Finish(job.parties)
    sums: list[tuple[int, Counts]] = []
    messages: list[object] = []

    def play(rank: int) -> None:
        protocol = protocols[1 + rank]
        if rank == CURATOR:
            desk = make_curator(wires[rank], protocol, job, schema=schema, cores=1)
            desk.sums = sums
            roles[rank] = desk
            try:
                play_desk(_stopped_curator(desk, finish), protocol, job)
            except _FinishedError:
                return
            return
        me = tapes[rank].party
        finish.parties[rank] = me
        if rank == party:
            _keep_messages(me, messages)
        with contextlib.nullcontext() if is_own else note_printing(me.printing):
            play_part(me, protocol, job)
        finish.ended.add(rank)

    try:
        _play_apart(wires, play, surroundings=None if is_own else surroundings)
    except RoleError as failure:
        error = failure.error
        if isinstance(error, SottovoceError) and not isinstance(error, ArgumentError):
            raise error from None
        role = roles.get(failure.rank)
        text = describe(error, where=None if role is None else role.where)
        raise RunFailed(
            text.line, status=3, public=text.public, traceback=text.traceback
        ) from error
    replay = replay_part(tapes[party], records=neighbour, protocol=protocols[0])
    own_records = records[party - 1]
    books = {rank: tape.accountant for rank, tape in tapes.items()}
    return PairedRun(
        tuple(replay.pairs),
        {rank: tuple(book.tape) for rank, book in books.items() if rank != party},
        tuple(sums),
        tuple(books[party].releases),
        _is_in_the_open(tapes[party], own_records),
        _difference(replay) or ("" if is_own else _outside(tapes[party], replay, own_records)),
        tuple(messages),
        protocols[0],
    )


def _play_apart(
    wires: Sequence[Wire], play: Callable[[int], None], *, surroundings: Surroundings | None
) -> None:
    """Play all roles, those of a plug-in with files and variables of their own.

    So no run of many changes a file of anybody's, and each finds what the first has found.
    """
    if surroundings is None:
        play_on_threads(wires, play)
        return
    with private_place(variables=surroundings.environment) as place:

        def play_there(rank: int) -> None:
            with place.used():
                play(rank)

        play_on_threads(wires, play_there)


def _outside(tape: PartTape, replay: Replay, records: Records) -> str:
    """Say what a party writes, prints or does otherwise on the other dataset, beside messages."""
    replays = with_repeats(tape, [replay], records=records, longest=MAX_SECONDS)
    return next(outside_of(tape, replays), "")


def _is_in_the_open(tape: PartTape, records: Records) -> bool:
    """Tell whether something else carries answers that need a secure sum.

    Protocols that are built in have been checked.
    """
    if is_built_in(type(instantiate(tape.job))):
        return False
    replays = replay_other_answers(tape, records=records, seconds=SECONDS, longest=MAX_SECONDS)
    return any(replay.differences or replay.doubts for replay in replays)


def _difference(replay: Replay) -> str:
    """Say what the party does otherwise on the other dataset."""
    if replay.error is not None:
        return f"{type(replay.error).__name__}: {replay.error}"
    if replay.differences:
        first = replay.differences[0]
        return f"a message that no release covers ({first.kind}: {first.reason})"
    return replay.doubts[0] if replay.doubts else ""


def _keep_messages(me: Party, messages: list[object]) -> None:
    """Keep every message that a party sends."""
    send, broadcast = me.send, me.broadcast

    def kept_send(message: object, *, to: int) -> None:
        messages.append(message)
        send(message, to=to)

    def kept_broadcast(message: object, *, to: Sequence[int] | None = None) -> None:
        messages.append(message)
        broadcast(message, to=to)

    me.send = kept_send  # type: ignore[method-assign]
    me.broadcast = kept_broadcast  # type: ignore[method-assign]


@dataclass(slots=True)
class _Finish:
    """Tells when the curator has read the last message of the last party."""

    number: int
    """Number of parties."""
    parties: dict[int, Party] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def reached(self, desk: Curator) -> bool:
        if len(self.ended) < self.number:
            return False
        sent = sum(
            act.sent and act.peer == CURATOR
            for party in self.parties.values()
            for act in party.acts
        )
        return sent == sum(not act.sent for act in desk.acts)


class _FinishedError(Exception):
    """The curator has read everything that the parties send."""


def _stopped_curator(desk: Curator, finish: _Finish) -> Curator:
    """Let a curator stop at the first phase that begins after all parties have ended."""
    enter = desk.phase

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        if finish.reached(desk):
            raise _FinishedError
        with enter(name):
            yield

    desk.phase = phase  # type: ignore[method-assign]
    return desk
