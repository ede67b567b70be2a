"""Durable runs that have not finished: what whoever started one needs to go on with it.

It is in a folder of the run among the starter's state, beside the places of the roles on that host
(`runs.role_places`). The record of a run is kept there until its results are written.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ..messages import Position, UsageError
from .job import Job
from .kept_record import pack_record, read_record
from .log_header import DurableTask
from .placement import Placement
from .record import RunRecord
from .role_places import folders_in, remove_place, run_place
from .state_folder import (
    STATE_VARIABLE,
    keep_private,
    make_private_folder,
    write_private,
)
from .version import VERSION

__all__ = ["DESCRIPTION", "UnfinishedRun", "begin_run"]

DESCRIPTION: str = "run.json"
RECORD: str = "record"
BEGUN: str = "begun"


class UnfinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A durable run that has begun."""

    run: str
    version: str = VERSION
    folder: str
    """The folder of its results, as an absolute path."""
    working_folder: str
    """The folder from which paths of the job count."""
    began: datetime
    job: Job
    placement: Placement
    classify: list[str] | None
    """Labels to predict, or `None` where nothing is judged."""
    is_resumed: bool = False
    without: tuple[int, ...] = ()
    """Parties that were given up: their hosts, tables or logs are gone for good."""

    @property
    def task(self) -> DurableTask:
        """What every role is given."""
        has_begun = self.is_resumed and (run_place(self.run) / BEGUN).exists()
        return DurableTask(self.run, self.is_resumed, has_begun, self.without)

    def watch(self, positions: Mapping[int, Position], *, ended: Collection[int] = ()) -> None:
        """Note when a role is at work: if all logs are lost from then on, no role begins anew.

        From then on parties that were given up stay so, too.

        Roles in `ended` have ended their parts, perhaps before they gave any position.

        Raises:
            ConversationError: it cannot be written.
        """
        is_noted = (run_place(self.run) / BEGUN).exists()
        is_at_work = bool(ended) or any(position.phase for position in positions.values())
        if is_at_work and not is_noted:
            self.note_begun()
        if is_at_work and self.without:
            self._keep_without()

    def note_begun(self) -> None:
        """Note that a role is at work.

        Raises:
            ConversationError: it cannot be written.
        """
        keep_private(run_place(self.run) / BEGUN, b"")

    @property
    def is_there(self) -> bool:
        """Whether one can still go on with the run."""
        return (run_place(self.run) / DESCRIPTION).exists()

    def require_unfinished(self) -> None:
        """Refuse to go on if another process has finished the run since it was found.

        Raises:
            UsageError: it has.
        """
        if not self.is_there:
            raise UsageError(
                f"expected a durable run that has stopped, found that {self.run} has finished "
                f"meanwhile: see {self.folder}"
            )

    @property
    def has_begun(self) -> bool:
        """Whether a role may have sent something: one has a log here, or roles are elsewhere."""
        return self.placement.several_hosts or bool(folders_in(run_place(self.run)))

    @property
    def lacks_logs(self) -> bool:
        """Whether a party has no log here, though a role was seen at work."""
        place = run_place(self.run)
        parties = range(1, self.job.parties + 1)
        return (place / BEGUN).exists() and not all(
            (place / f"party-{party}" / "log").exists() for party in parties
        )

    def keep(self, record: RunRecord) -> None:
        """Keep the record of the run until its results are written; no role is needed any more.

        Raises:
            ConversationError: it cannot be written.
        """
        keep_private(run_place(self.run) / RECORD, pack_record(record))

    def record(self) -> RunRecord | None:
        """Read the record of the run, if it was kept."""
        record = read_record(run_place(self.run) / RECORD)
        return None if record is None else msgspec.structs.replace(record, job=self.job)

    def on_hosts(self, *, hosts: str | None, hostfile: Path | None) -> UnfinishedRun:
        """Go on with the run on other hosts from now on, also if it stops once more.

        Args:
            hosts: hosts for mpiexec, in its own words.
            hostfile: a host file for mpiexec.

        Raises:
            UsageError: it does not run over MPI, or cannot on several hosts.
        """
        if self.placement.transport != "mpi":
            raise UsageError(
                "expected --hosts or --hostfile for a run over MPI, found "
                f"--transport {self.placement.transport}"
            )
        path = None if hostfile is None else os.path.abspath(hostfile)  # noqa: PTH100 - it may be missing
        placement = msgspec.structs.replace(self.placement, hosts=hosts, hostfile=path)
        return self._rewritten(msgspec.structs.replace(self, placement=placement))

    def with_timeout(self, seconds: float) -> UnfinishedRun:
        """Go on with the run with another time-out from now on. It changes no message.

        Raises:
            UsageError: it cannot be written down.
        """
        job = msgspec.structs.replace(self.job, timeout=seconds)
        return self._rewritten(msgspec.structs.replace(self, job=job))

    def without_parties(self, parties: Collection[int]) -> UnfinishedRun:
        """Go on with the run without these parties.

        It is written down once a role is at work: a run that is refused before, as another party
        was meant, gives up nobody.

        Raises:
            UsageError: it needs all parties, there are no such ones, or all roles have ended.
        """
        fewest = self.job.fewest_parties
        if fewest is None:
            raise UsageError(
                "expected --without for a run with --on-loss continue, found --on-loss "
                f"{self.job.on_loss}: its roles need all parties"
            )
        if unknown := sorted(set(parties) - {*range(1, self.job.parties + 1)}):
            raise UsageError(
                f"expected parties from 1 to {self.job.parties} after --without, found {unknown[0]}"
            )
        if (run_place(self.run) / RECORD).exists():
            raise UsageError(
                f"expected a run in which roles go on, found that those of {self.run} have ended: "
                "leave out --without, and its results are written"
            )
        without = tuple(sorted({*self.without, *parties}))
        if (left := self.job.parties - len(without)) < fewest:
            raise UsageError(
                f"expected --without to leave at least {fewest} parties (--min-parties), found "
                f"{left}: bring the others back"
            )
        return msgspec.structs.replace(self, without=without)

    def _keep_without(self) -> None:
        """Write down the parties that were given up, unless they are.

        Raises:
            ConversationError: it cannot be written.
        """
        path = run_place(self.run) / DESCRIPTION
        if msgspec.json.decode(path.read_bytes(), type=UnfinishedRun).without != self.without:
            keep_private(path, msgspec.json.encode(self))

    @staticmethod
    def _rewritten(run: UnfinishedRun) -> UnfinishedRun:
        write_private(run_place(run.run) / DESCRIPTION, msgspec.json.encode(run))
        return run

    def remove(self) -> None:
        """Remove all that the run has left on this host."""
        place = run_place(self.run)
        for folder in folders_in(place):
            remove_place(folder)
        for name in (DESCRIPTION, RECORD, BEGUN):
            with contextlib.suppress(OSError):
                (place / name).unlink()
        with contextlib.suppress(OSError):
            place.rmdir()


def begin_run(
    job: Job, placement: Placement, *, folder: Path, classify: list[str] | None
) -> UnfinishedRun:
    """Write down a durable run before it begins.

    Raises:
        UsageError: it cannot be written.
    """
    began = datetime.now(UTC)
    unfinished = UnfinishedRun(
        run=f"{began:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
        folder=os.path.abspath(folder),  # noqa: PTH100 - the folder need not exist
        working_folder=os.getcwd(),  # noqa: PTH109 - as the command line asks
        began=began,
        job=job,
        placement=placement,
        classify=classify,
    )
    place = run_place(unfinished.run)
    try:
        make_private_folder(place)
    except OSError as error:
        raise UsageError(
            f"expected a folder for a durable run at {place}, found {error.strerror}: set "
            f"{STATE_VARIABLE} to another one"
        ) from None
    write_private(place / DESCRIPTION, msgspec.json.encode(unfinished))
    return unfinished
