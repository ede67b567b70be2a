"""Playing a role in an MPI job that the user started by mpirun or srun."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import msgspec

from ...messages import CURATOR, UsageError
from ...report.making import make_report
from ...report.reported import ReportedRun
from ...runs.job import Job
from ...runs.placement import Placement
from ...runs.record import Rehearsal, RunRecord
from ...runs.settings import Settings
from ..jobs import rehearse_plug_in
from ..mpiexec import World
from ..rank import be_a_rank
from ..rank_variables import this_rank
from .finishing import Display, write_results

__all__ = ["join_job"]


def join_job(
    chosen: Settings, world: World, *, folder: Path, classify: list[str], display: Display
) -> None:
    """Play this rank's role in an MPI job that the user started.

    The curator's rank rehearses a plug-in. It opens no file, so made-up records have the shape of
    the schema, or of the demo's people.

    Raises:
        UsageError: an option needs a launcher, or the number of ranks is another one.
    """
    job, placement = chosen.job, chosen.placement
    _refuse_options(job, placement)
    # mpirun ends its ranks with SIGTERM after one of them has reported why.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if classify and this_rank() == CURATOR:
        sys.stderr.write(
            "sottovoce: nothing is judged within an MPI job: "
            "`sottovoce evaluate` classifies afterwards\n"
        )
    if world.size is not None and world.size != job.parties + 1:
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), "
            f"found {world.size}: start the job with -n {job.parties + 1}, "
            f"or say --parties {world.size - 1}"
        )

    rehearsal: Rehearsal | None = None
    if this_rank() == CURATOR:
        rehearsal = rehearse_plug_in(job, placement=placement, read=False)
        if rehearsal is not None:
            display.show_rehearsal(rehearsal)

    def conclude(record: RunRecord) -> None:
        record = msgspec.structs.replace(record, rehearsal=rehearsal)
        run = ReportedRun(report=make_report(record))
        write_results(record, run, folder=folder, display=display)

    be_a_rank(job, address=None, tell_errors=placement.tell_errors, conclude=conclude)


def _refuse_options(job: Job, placement: Placement) -> None:
    if job.fewest_parties is not None:
        raise UsageError(
            "expected --on-loss continue without an MPI job around the run, found mpirun or srun, "
            "which ends all ranks with a lost one: let `sottovoce run` start the ranks"
        )
    if job.on_loss == "wait":
        raise UsageError(
            "expected --on-loss wait without an MPI job around the run, found mpirun or srun, "
            "which cannot start a rank again: let `sottovoce run` start the ranks"
        )
    if placement.durable:
        raise UsageError(
            "expected --durable without an MPI job around the run, found mpirun or srun: "
            "let `sottovoce run` start the ranks"
        )
    if placement.budget is not None:
        raise UsageError(
            "expected --budget without an MPI job around the run, found mpirun or srun: "
            "each party's table may be on another host; let `sottovoce run` start the ranks"
        )
