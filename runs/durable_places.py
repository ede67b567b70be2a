"""The places of all roles of a durable run, where all of them are in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from ..messages import CURATOR, UsageError, Wire
from ..parties import TableNote
from .durable import DurableRole
from .job import Job
from .log_header import DurableTask, LogHeader
from .lost_parties import LostParties, can_be_given_up, lost_parties
from .lost_releases import valid_releases
from .record import RunRecord
from .restarts import RestartableWire
from .restored_logs import refuse_older
from .role_logs import find_role, make_role_place, missing_log

if TYPE_CHECKING:
    from ..parties import Schema

__all__ = ["DurablePlaces", "open_places"]


class DurablePlaces:
    """The places of all roles, by rank."""

    def __init__(
        self,
        roles: Mapping[int, DurableRole],
        *,
        headers: Sequence[LogHeader],
        lost: LostParties,
    ) -> None:
        self.roles = {**roles}
        """By rank. A party that stays lost may have none."""
        self._headers = headers
        self.lost = lost
        """Parties without which another role has gone on, so that they play no part."""
        self._arrived = {rank: dict(role.log.arrived) for rank, role in roles.items()}
        """Messages in the logs when this attempt began."""
        self._digests: list[dict[int, bytes]] = [{} for _ in headers]
        """By sender: digests of its messages in the logs of others when this attempt began."""
        self._ends: dict[int, RestartableWire] = {}
        for receiver, role in roles.items():
            for sender, digest in role.log.digests_of_arrived().items():
                self._digests[sender][receiver] = digest

    @property
    def conclusion(self) -> RunRecord | None:
        """The record of the run, if an earlier attempt came so far."""
        return self.roles[CURATOR].conclusion

    def connect(self, wire: Wire) -> Wire:
        """Put a role's log between the role and its wire.

        A role that is started again gets the end that the lost one had.
        """
        end = self._ends.setdefault(wire.rank, RestartableWire(wire))
        received = {
            other: count
            for other, arrived in self._arrived.items()
            if (count := arrived.get(wire.rank, 0) + end.delivered[other])
        }
        digests = {
            other: digest
            for other, digest in self._digests[wire.rank].items()
            if not end.delivered[other]  # Otherwise it is a digest of some of them.
        }
        return self.roles[wire.rank].connect(
            end, received=received, digests=digests, lost=self.lost
        )

    def start_again(self, rank: int) -> None:
        """Open the log of a role that was lost, for the one that takes its place.

        Raises:
            UsageError: it was changed, or cut, or is gone.
        """
        written = self.roles[rank].log.records
        self.roles[rank].close()
        role = find_role(self._headers[rank])
        if role is None:
            raise missing_log(self._headers[rank].run, [rank])
        if role.log.records < written:
            role.close()
            raise UsageError(
                f"expected {written} records in the log {role.log.path}, found "
                f"{role.log.records}: restore it, or start a new run"
            )
        self.roles[rank] = role
        if rank in self._ends:
            before = self._arrived[rank]
            new = {peer: count - before.get(peer, 0) for peer, count in role.log.arrived.items()}
            self._ends[rank].succeed(new)

    def close(self) -> None:
        """Let nothing more be written."""
        for role in self.roles.values():
            role.close()


def open_places(
    task: DurableTask, job: Job, *, schema: Schema | None, notes: Mapping[int, TableNote]
) -> DurablePlaces:
    """Make the places of all roles, or find those of a run that stopped.

    Args:
        task: the durable run.
        job: the job.
        schema: the schema that the roles agreed on.
        notes: what the readings of tables left, by party.

    Raises:
        UsageError: a log is missing, was changed, or is of another run.
    """
    headers = [
        LogHeader.of(task, job, rank=rank, schema=schema, note=notes.get(rank, TableNote()))
        for rank in range(job.parties + 1)
    ]
    roles: dict[int, DurableRole] = {}
    try:
        for header in headers if task.is_resumed else ():
            role = find_role(header, is_given_up=header.rank in task.without)
            if role is not None:
                roles[header.rank] = role
        is_concluded = CURATOR in roles and roles[CURATOR].conclusion is not None
        noted = [] if is_concluded else [task.without, *(role.log.lost for role in roles.values())]
        witnesses = [rank for rank, role in roles.items() if role.log.has_begun]
        lost = lost_parties(job, noted, witnesses=witnesses, run=task.run)
        released = {
            rank: valid_releases([*map(bytes, roles[rank].log.left_ahead(to=CURATOR))], party=rank)
            for rank in lost & roles.keys()
        }
        if not is_concluded:
            missing = [each for each in headers if each.rank not in roles and each.rank not in lost]
            _require_logs(task, job, roles, missing=[header.rank for header in missing], lost=lost)
            for header in missing:
                roles[header.rank] = make_role_place(header, schema=schema)
            if task.is_resumed:
                _note_restart(task, roles, lost=lost)
    except BaseException:
        for opened in roles.values():
            opened.close()
        raise
    return DurablePlaces(
        roles,
        headers=headers,
        lost=LostParties(
            goes_on=job.fewest_parties is not None,
            fewest=job.fewest_parties or 0,
            ranks=lost,
            released=released,
        ),
    )


def _note_restart(
    task: DurableTask, roles: Mapping[int, DurableRole], *, lost: AbstractSet[int]
) -> None:
    """Refuse older copies of logs, and note in all that they were opened once more.

    The log of a party that stays lost goes on no more. What it has noted of others counts, and whom
    it has left out, which it must not have forgotten. It notes that it stays lost once no log is
    refused any more.
    """
    living = {rank: role for rank, role in roles.items() if rank not in lost}
    heard = {rank: role.log.peer_restarts for rank, role in roles.items()}
    restarts = {rank: role.log.restarts for rank, role in roles.items()}
    refuse_older(restarts, heard=heard, run=task.run)
    for rank in lost & roles.keys():
        roles[rank].note_lost(lost)
    for role in living.values():
        role.log.note_restart()
    everybody = sorted({*roles, *lost})
    counts = [roles[rank].log.restarts if rank in roles else 0 for rank in everybody]
    for role in living.values():
        role.log.note_peers(counts)


def _require_logs(
    task: DurableTask,
    job: Job,
    roles: Mapping[int, DurableRole],
    *,
    missing: Sequence[int],
    lost: AbstractSet[int],
) -> None:
    """Refuse to go on without a log, unless no role has sent anything."""
    if missing and (task.has_begun or any(role.log.has_begun for role in roles.values())):
        gone = {*range(job.parties + 1)} - roles.keys()
        can_go_on = can_be_given_up(job, gone, lost=lost - {*task.without})
        raise missing_log(task.run, missing, can_be_given_up=can_go_on)
