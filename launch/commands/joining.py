"""Playing a role in an MPI job that the user started by mpirun or srun."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from ...messages import CURATOR, SottovoceError, UsageError
from ...report.folder import check_folder
from ...report.making import make_report
from ...report.reported import ReportedRun
from ...runs.default_logs import keeps_logs
from ...runs.finding_runs import find_run, refuse_stopped
from ...runs.job import Job
from ...runs.one_writer import one_writer
from ...runs.placement import Placement
from ...runs.record import Rehearsal, RunRecord
from ...runs.settings import Settings
from ...runs.unfinished import UnfinishedRun, begin_run
from ..jobs import rehearse_plug_in
from ..joined import JoinedJob, JoinedRun
from ..mpiexec import World
from ..rank import be_a_rank
from ..rank_start import end_own_job
from ..rank_variables import this_rank
from .finishing import Display, write_results
from .log_notices import notice_of_logs, tell_of_old_runs

__all__ = ["join_job", "join_resumed"]


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

    is_default = placement.durable is None
    is_durable = keeps_logs(job, placement) if is_default else bool(placement.durable)
    rehearsal: Rehearsal | None = None
    unfinished: UnfinishedRun | None = None
    if this_rank() == CURATOR:
        try:
            refuse_stopped(folder)
            tell_of_old_runs(display)
            rehearsal = rehearse_plug_in(job, placement=placement, read=False)
            if rehearsal is not None:
                display.show_rehearsal(rehearsal)
            if is_durable:
                placement = msgspec.structs.replace(placement, durable=True)
                unfinished = begin_run(job, placement, folder=folder, classify=None)
                way_on = f"start the same mpirun with: sottovoce resume {unfinished.run}"
                display.tell(notice_of_logs(unfinished, way_on=way_on, is_default=is_default))
        except SottovoceError as error:
            sys.stderr.write(f"sottovoce: {error}\n")
            sys.stderr.flush()
            end_own_job(error.exit_status)

    def conclude(record: RunRecord) -> None:
        _write(record, rehearsal=rehearsal, folder=folder, unfinished=unfinished, display=display)

    _play(
        job,
        unfinished,
        is_durable=is_durable,
        conclude=conclude,
        tell_errors=placement.tell_errors,
    )


def join_resumed(name: str, *, display: Display) -> None:
    """Go on with a durable run in an MPI job that the user started, as one of its ranks.

    Raises:
        UsageError: rank 0 knows of no such run, another process goes on with it, or it goes on
            without lost parties, whose logs only a launcher can keep until it has the result.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if this_rank() != CURATOR:
        _play(None, None, is_durable=True, conclude=lambda _: None, tell_errors=False)
        return
    unfinished = find_run(name)
    folder = Path(unfinished.folder)
    with one_writer(folder):
        unfinished.require_unfinished()
        _refuse_going_on(unfinished.job)
        check_folder(folder)

        def conclude(record: RunRecord) -> None:
            _write(record, rehearsal=None, folder=folder, unfinished=unfinished, display=display)

        _play(
            unfinished.job,
            unfinished,
            is_durable=True,
            conclude=conclude,
            tell_errors=False,
        )


def _play(
    job: Job | None,
    unfinished: UnfinishedRun | None,
    *,
    is_durable: bool,
    conclude: Callable[[RunRecord], None],
    tell_errors: bool,
) -> None:
    """Play this rank's role; nothing is left of a durable run that never began."""
    joined = JoinedJob(
        conclude=conclude,
        is_durable=is_durable,
        run=None if unfinished is None else JoinedRun.of(unfinished),
        begin=(lambda: None) if unfinished is None else unfinished.note_begun,
    )
    try:
        be_a_rank(job, address=None, tell_errors=tell_errors, joined=joined)
    except BaseException:
        if unfinished is not None and not unfinished.is_resumed and not unfinished.has_begun:
            unfinished.remove()
        raise


def _write(
    record: RunRecord,
    *,
    rehearsal: Rehearsal | None,
    folder: Path,
    unfinished: UnfinishedRun | None,
    display: Display,
) -> None:
    record = msgspec.structs.replace(record, rehearsal=rehearsal)
    run = ReportedRun(report=make_report(record))
    write_results(record, run, folder=folder, unfinished=unfinished, display=display)


def _refuse_going_on(job: Job) -> None:
    if job.fewest_parties is not None:
        raise UsageError(
            "expected --on-loss continue without an MPI job around the run, found mpirun or srun, "
            "which ends all ranks with a lost one: let `sottovoce run` start the ranks"
        )


def _refuse_options(job: Job, placement: Placement) -> None:
    _refuse_going_on(job)
    if job.on_loss == "wait":
        raise UsageError(
            "expected --on-loss wait without an MPI job around the run, found mpirun or srun, "
            "which cannot start a rank again: let `sottovoce run` start the ranks"
        )
    if placement.mpi_options:
        raise UsageError(
            f"expected {placement.mpi_options[0]} without an MPI job around the run, found mpirun "
            "or srun, which has already chosen where ranks run: give it to that command"
        )
    if placement.budget is not None:
        raise UsageError(
            "expected --budget without an MPI job around the run, found mpirun or srun: "
            "each party's table may be on another host; let `sottovoce run` start the ranks"
        )
