"""The places of all roles of a durable run, where all of them are in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..messages import CURATOR, Wire
from ..parties import TableNote
from .durable import (
    DurableRole,
    DurableTask,
    LogHeader,
    find_role,
    make_role_place,
    missing_log,
)
from .job import Job
from .record import RunRecord

if TYPE_CHECKING:
    from ..parties import Schema

__all__ = ["DurablePlaces", "open_places"]


class DurablePlaces:
    """The places of all roles, by rank."""

    def __init__(self, roles: Sequence[DurableRole]) -> None:
        self.roles = roles
        self._arrived = [dict(role.log.arrived) for role in roles]

    @property
    def conclusion(self) -> RunRecord | None:
        """The record of the run, if an earlier attempt came so far."""
        return self.roles[CURATOR].conclusion

    def connect(self, wire: Wire) -> Wire:
        """Put a role's log between the role and its wire."""
        received = {
            other: arrived[wire.rank]
            for other, arrived in enumerate(self._arrived)
            if arrived.get(wire.rank)
        }
        return self.roles[wire.rank].connect(wire, received=received)

    def close(self) -> None:
        """Let nothing more be written."""
        for role in self.roles:
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
            role = find_role(header)
            if role is not None:
                roles[header.rank] = role
        missing = [header for header in headers if header.rank not in roles]
        _require_all(task, roles, missing=missing)
        for header in missing:
            roles[header.rank] = make_role_place(header)
    except BaseException:
        for opened in roles.values():
            opened.close()
        raise
    return DurablePlaces([roles[rank] for rank in range(job.parties + 1)])


def _require_all(
    task: DurableTask, roles: Mapping[int, DurableRole], *, missing: Sequence[LogHeader]
) -> None:
    """Refuse to go on without a log, unless no role has sent anything or the run is concluded."""
    is_concluded = CURATOR in roles and roles[CURATOR].conclusion is not None
    has_begun = task.has_begun or any(role.log.has_begun for role in roles.values())
    if missing and has_begun and not is_concluded:
        raise missing_log(task.run, [header.rank for header in missing])
