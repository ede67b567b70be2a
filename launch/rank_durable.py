"""The place of one MPI rank in a durable run, and what ranks tell each other of their logs.

Every rank sends how many frames of every other it has in its log. These numbers are public, as the
ledger is. So each knows which of its messages were lost on their way. How often logs were opened
once more is public, too. A digest of frames goes to their sender alone, as others could confirm a
guess of their content.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from ..messages import CURATOR, Wire
from ..parties import Schema, TableNote
from ..runs.durable import DurableRole
from ..runs.job import Job
from ..runs.log_header import DurableTask, LogHeader
from ..runs.lost_parties import LostParties, can_be_given_up, lost_parties
from ..runs.record import RunRecord
from ..runs.restored_logs import refuse_older
from ..runs.role_logs import find_role, make_role_place, missing_log
from ..runs.role_places import remove_role_place
from .rank_lost import agree_on, collect_releases
from .rank_setup import MIN_SETUP_SECONDS, OtherRankError, exchange, exchange_digests, together

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["RankPlace", "open_place"]


class LogState(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank sends of its log to the others."""

    host: str
    is_there: bool
    has_begun: bool = False
    is_concluded: bool = False
    arrived: dict[int, int] = {}
    lost: list[int] = []
    restarts: Annotated[int, msgspec.Meta(ge=0)] = 0
    peer_restarts: dict[int, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """A rank's place in a durable run."""

    task: DurableTask
    rank: int
    role: DurableRole | None
    """`None` where its log is gone: this rank stays lost, or the run has concluded."""
    is_concluded: bool
    """Whether the curator has the record of the run already, so that no role is played."""
    received: Mapping[int, int]
    """Number of this rank's messages that each other rank has in its log."""
    digests: Mapping[int, bytes]
    """Digest of all these messages, by the rank that has them."""
    lost: LostParties
    """Ranks without which another one has gone on, so that they play no part."""

    @property
    def is_lost(self) -> bool:
        """Whether this rank is one of them. Its log stays until the run has succeeded."""
        return self.rank in self.lost.ranks

    def connect(self, wire: Wire) -> Wire:
        """Put the log between the role and its wire."""
        if self.role is None or self.is_lost:
            return wire
        return self.role.connect(wire, received=self.received, digests=self.digests, lost=self.lost)

    @property
    def records(self) -> int:
        """Number of records in the log."""
        return 0 if self.role is None else self.role.log.records

    @property
    def conclusion(self) -> RunRecord | None:
        """The record of the run, at the curator's rank."""
        return None if self.role is None else self.role.conclusion

    def remove(self) -> None:
        """Remove this rank's log, and all else in its place."""
        if self.role is not None:
            self.role.close()
        remove_role_place(self.task.run, self.rank)


def open_place(
    comm: MPI.Comm, task: DurableTask, job: Job, *, schema: Schema | None, note: TableNote
) -> RankPlace:
    """Make this rank's place, or find that of a run that stopped. All ranks call it together.

    Raises:
        UsageError: a log is missing, was changed, or is of another run.
    """
    rank, timeout = comm.Get_rank(), max(job.timeout, MIN_SETUP_SECONDS)
    header = LogHeader.of(task, job, rank=rank, schema=schema, note=note)
    is_given_up = rank in task.without
    role = together(
        comm,
        timeout,
        lambda: find_role(header, is_given_up=is_given_up) if task.is_resumed else None,
    )
    state = _state_of(role, without=task.without)
    if task.is_resumed:
        states = agree_on(comm, timeout, state, kind=LogState, run=task.run)
    else:
        states = exchange(comm, timeout, state, kind=LogState)
    is_concluded = states[CURATOR].is_concluded
    noted = [] if is_concluded else [state.lost for state in states]
    witnesses = [number for number, state in enumerate(states) if state.has_begun]
    lost = together(
        comm, timeout, lambda: lost_parties(job, noted, witnesses=witnesses, run=task.run)
    )

    def require_all() -> None:
        missing = [
            number
            for number, state in enumerate(states)
            if not state.is_there and number not in lost
        ]
        has_begun = task.has_begun or any(state.has_begun for state in states)
        if missing and has_begun and not is_concluded:
            hosts = [states[number].host for number in missing]
            gone = [number for number, state in enumerate(states) if not state.is_there]
            can_go_on = can_be_given_up(job, gone, lost=lost.difference(task.without))
            raise missing_log(task.run, missing, hosts=hosts, can_be_given_up=can_go_on)

    together(comm, timeout, require_all)
    digests: dict[int, bytes] = {}
    released: dict[int, list[bytes]] = {}
    if not is_concluded:
        try:
            role = together(
                comm, timeout, lambda: role or _new_place(header, lost=lost, schema=schema)
            )
        except OtherRankError:
            if not task.is_resumed:
                remove_role_place(task.run, rank)
            raise
        if task.is_resumed and job.fewest_parties is not None:
            left = [] if role is None else role.log.left_ahead(to=CURATOR)
            released = collect_releases(comm, timeout, lost, left=left)
        if task.is_resumed:
            digests = _note_restart(comm, timeout, role, states, lost=lost, run=task.run)
    return RankPlace(
        task=task,
        rank=rank,
        role=role,
        is_concluded=is_concluded,
        received={peer: state.arrived.get(rank, 0) for peer, state in enumerate(states)},
        digests=digests,
        lost=LostParties(
            goes_on=job.fewest_parties is not None,
            fewest=job.fewest_parties or 0,
            ranks=lost,
            released=released,
        ),
    )


def _new_place(
    header: LogHeader, *, lost: Collection[int], schema: Schema | None
) -> DurableRole | None:
    return None if header.rank in lost else make_role_place(header, schema=schema)


def _note_restart(
    comm: MPI.Comm,
    timeout: float,
    role: DurableRole | None,
    states: Sequence[LogState],
    *,
    lost: Collection[int],
    run: str,
) -> dict[int, bytes]:
    """Refuse older copies of logs, and note that this one was opened once more.

    The steps are in this order on all ranks, so no rank hears of a restart that is not on the disk
    of its role. The log of a rank that stays lost goes on no more. What it has noted of others
    counts, and whom it has left out, which it must not have forgotten.

    Returns:
        Digests of this rank's messages, by the rank that has received them.
    """
    restarts = {rank: state.restarts for rank, state in enumerate(states) if state.is_there}
    heard = {rank: state.peer_restarts for rank, state in enumerate(states)}
    counts = [state.restarts + (rank not in lost) for rank, state in enumerate(states)]
    is_lost = role is None or comm.Get_rank() in lost
    log = None if role is None or is_lost else role.log
    together(comm, timeout, lambda: refuse_older(restarts, heard=heard, run=run))
    together(comm, timeout, lambda: role.note_lost(lost) if role and is_lost else None)
    together(comm, timeout, lambda: None if log is None else log.note_restart())
    together(comm, timeout, lambda: None if log is None else log.note_peers(counts))
    return exchange_digests(comm, timeout, {} if log is None else log.digests_of_arrived())


def _state_of(role: DurableRole | None, *, without: Collection[int] = ()) -> LogState:
    """Say what a rank tells the others of its log.

    Parties in `without` were given up by the starter. They travel with what the logs say, so that
    all ranks leave out the same ones, whichever the starter has named to each.
    """
    if role is None:
        return LogState(host=platform.node(), is_there=False, lost=sorted(without))
    return LogState(
        host=platform.node(),
        is_there=True,
        has_begun=role.log.has_begun,
        is_concluded=role.conclusion is not None,
        arrived=dict(role.log.arrived),
        lost=sorted({*role.log.lost, *without}),
        restarts=role.log.restarts,
        peer_restarts=role.log.peer_restarts,
    )
