"""Whose log it is: the first record of a role's log, and what every role of a durable run is given.

A log that is not of this run, role, job, table and version is refused.
"""

from __future__ import annotations

import msgspec

from ..crypto.role_log import RoleLog
from ..messages import UsageError, role_name
from ..parties import Schema, TableNote
from .instance import instantiate, is_built_in
from .job import Job
from .job_digest import digest_job, is_hybrid
from .version import VERSION

__all__ = ["DurableTask", "LogHeader", "require_same"]


class DurableTask(msgspec.Struct, frozen=True):
    """What every role of a durable run is given beside the job."""

    run: str
    """Name of the run among the durable runs of its hosts."""
    is_resumed: bool = False
    has_begun: bool = False
    """Whether the starter has seen a role at work, so that every role had a log."""
    without: tuple[int, ...] = ()
    """Parties that the starter has given up: their hosts, tables or logs are gone for good."""


class LogHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Whose log it is: of which run, role and job, and of which data."""

    version: str = VERSION
    run: str
    rank: int
    job: str
    """Digest of the job."""
    table: str = ""
    """Digest of the party's table."""
    rows: int = 0
    """Number of rows that the party read."""
    is_own: bool
    """Whether the protocol is one of sottovoce's own, which draw from the role's streams alone."""

    @classmethod
    def of(
        cls, task: DurableTask, job: Job, *, rank: int, schema: Schema | None, note: TableNote
    ) -> LogHeader:
        """Make the header of a role's log."""
        protocol = instantiate(job)
        digest = digest_job(job, protocol, schema=schema, hybrid=is_hybrid(job))
        return cls(
            run=task.run,
            rank=rank,
            job=digest.hex(),
            table=note.digest,
            rows=note.rows,
            is_own=is_built_in(type(protocol)),
        )


def require_same(log: RoleLog, header: LogHeader, *, reads_table: bool = True) -> None:
    """Refuse a log that is not of this run.

    Without `reads_table` the role plays no part any more, and its table is not compared.
    """
    role = role_name(header.rank)
    try:
        earlier = msgspec.json.decode(log.header, type=LogHeader)
    except msgspec.MsgspecError:
        raise UsageError(
            f"expected the log of {role} at {log.path}, found one without its beginning: restore "
            "it, or start a new run"
        ) from None
    if earlier.version != header.version:
        raise UsageError(
            f"expected a log of sottovoce {header.version} for {role}, found one of "
            f"{earlier.version}: resume with that version"
        )
    if (earlier.run, earlier.rank) != (header.run, header.rank):
        raise UsageError(
            f"expected the log of {role} in run {header.run}, found that of "
            f"{role_name(earlier.rank)} in run {earlier.run} at {log.path}: restore its own"
        )
    if earlier.job != header.job:
        raise UsageError(
            f"expected a log of this job for {role}, found one of another job: parameters, schema "
            "or library are not those of the run that stopped"
        )
    if reads_table and (earlier.table, earlier.rows) != (header.table, header.rows):
        raise UsageError(
            f"expected the table that {role} read before the run stopped, found another: "
            "restore the file, or start a new run"
        )
