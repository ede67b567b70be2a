"""Start ranks through mpiexec, and make sure that all end together.

A rank may raise, hang or be killed, mpiexec may be killed, and the user may press Ctrl-C. In each
case every process is gone within seconds. One line names the rank, the phase and the step.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from ..report.progress import Progress
from ..runs.failure import RunFailed
from ..runs.instance import instantiate
from ..runs.interruption import INTERRUPTED
from ..runs.job import Job
from ..runs.placement import Placement
from ..runs.record import RunRecord
from ..runs.unfinished import UnfinishedRun
from .cleaning import cleaning_up
from .failures import DaemonFailed, find_failure, was_killed
from .family import end_processes
from .hold import JOB_VARIABLE
from .lifeline_server import LifelineServer
from .mpiexec import Launcher
from .rank import RANK_PROGRAM, RankTask
from .rank_events import Failure
from .rank_processes import mpiexec_running
from .rank_states import RankStates
from .starting import StartWatch, reason_not_started
from .waiting import Absence, RankLost, play_waiting

__all__ = ["run_with_mpi"]

GRACE: Final = 0.5
"""Seconds in which another rank may still report why a rank was lost."""
HOSTS_END_WITHIN: Final = 3.0
"""Seconds in which the losses of ranks on several hosts arrive, if Open MPI has ended them all.

A rank of the host that was lost may be the last one, on a busy machine.
"""
SETUP_ENDS_WITHIN: Final = 2.0
"""Seconds in which all ranks tell that the set-up has failed, after the first one has."""
FINALIZE: Final = 10.0
"""Seconds in which mpiexec may end after all ranks have finished."""


def run_with_mpi(
    job: Job,
    *,
    launcher: Launcher,
    placement: Placement,
    progress: Progress,
    durable: UnfinishedRun | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> RunRecord:
    """Run a job as ranks of one mpiexec and return the record of the run.

    With `--on-loss wait` all ranks are started again when one is lost.

    If Open MPI's own daemon does not come up, it is started once more. No rank has started then, so
    nothing has been read or sent.

    Raises:
        RunFailed: The run failed, with the exit status and the line for the user. No process is
            left.
    """
    try:
        run_once = partial(
            _run_once, job, launcher=launcher, placement=placement, progress=progress
        )
        if durable is None or job.on_loss != "wait":
            return _with_daemon(partial(run_once, durable=durable))
        return play_waiting(
            lambda run, absence: _with_daemon(partial(run_once, durable=run, absence=absence)),
            durable,
            tell=tell,
        )
    finally:
        progress.close()


def _with_daemon(run_once: Callable[[], RunRecord]) -> RunRecord:
    """Start a run once more if the daemon ended that was to start its ranks."""
    try:
        return run_once()
    except DaemonFailed:
        return run_once()


def _run_once(
    job: Job,
    *,
    launcher: Launcher,
    placement: Placement,
    progress: Progress,
    durable: UnfinishedRun | None,
    absence: Absence | None = None,
) -> RunRecord:
    outlives = job.fewest_parties is not None or (
        launcher.has_survivors and not placement.several_hosts
    )
    server = LifelineServer(
        token=secrets.token_hex(16), everywhere=placement.several_hosts, ranks=job.parties + 1
    )
    task = msgspec.json.encode(
        RankTask(
            job,
            server.address,
            placement.tell_errors,
            None if durable is None else durable.task,
            outlives,
        )
    ).decode()
    command = _command(job, launcher=launcher, placement=placement, outlives=outlives)
    states = RankStates(
        instantiate(job).name, goes_on=job.fewest_parties is not None, outlives=outlives
    )
    try:
        with cleaning_up(launcher) as cleaner:
            environment = launcher.environment(
                several_hosts=bool(placement.hosts or placement.hostfile),
                extra=placement.mpi_arg,
                segments=None if cleaner is None else cleaner.segments,
            )
            with mpiexec_running(
                command,
                {**environment, JOB_VARIABLE: task},
                server=server,
                states=states,
                cleaner=cleaner,
            ) as (process, output):
                _follow(
                    process,
                    server,
                    states,
                    job=job,
                    progress=progress,
                    durable=durable,
                    absence=absence,
                    ranks_here=None if placement.several_hosts else job.parties + 1,
                )
                failed = find_failure(process.poll(), states, output, launcher=launcher)
                output.silent = failed is not None
    except KeyboardInterrupt:
        raise RunFailed(
            f"{states.place(0)}: interrupted; all roles were ended and nothing was written",
            status=INTERRUPTED,
        ) from None
    output.pass_on(everything=failed is None, daemon_messages=not states.started)
    if failed is not None:
        if isinstance(failed, RankLost) and failed.before_start and output.first_errors():
            failed = failed.because(reason_not_started(launcher, output))
        raise failed
    return _result(job, states)


def _command(job: Job, *, launcher: Launcher, placement: Placement, outlives: bool) -> list[str]:
    """Write the command that starts all ranks of a job."""
    return launcher.command(
        # With -P a module in the working folder never replaces an installed one.
        [sys.executable, "-P", "-c", RANK_PROGRAM],
        ranks=job.parties + 1,
        variables=[JOB_VARIABLE],
        hosts=placement.hosts,
        hostfile=placement.hostfile,
        extra=placement.mpi_arg,
        outlives=outlives,
    )


def _result(job: Job, states: RankStates) -> RunRecord:
    """Take the curator's record, and note which of the lost parties had been silent."""
    record = states.finished[0].record
    if record is None:
        raise RunFailed("the curator ended without a result", status=3)
    record = record.with_losses(states.lost)
    losses = [
        msgspec.structs.replace(loss, was_silent=loss.party in states.given_up)
        for loss in record.losses
    ]
    return msgspec.structs.replace(record, job=job, losses=losses)


def _follow(
    process: subprocess.Popen[str],
    server: LifelineServer,
    states: RankStates,
    *,
    job: Job,
    progress: Progress,
    durable: UnfinishedRun | None,
    absence: Absence | None,
    ranks_here: int | None,
) -> None:
    """Follow the ranks until all have finished or something is wrong.

    With `absence` the ranks may have been started again, which has its limits. `ranks_here` are on
    this host, where that is known.
    """
    watch = StartWatch(
        server.address.token,
        mpiexec=process.pid,
        is_needed=states.outlives,
        ranks_here=ranks_here,
    )
    ranks = job.parties + 1
    deadline = float("inf")
    while time.monotonic() < deadline:
        with contextlib.suppress(queue.Empty):
            # When all ranks have finished, there is only mpiexec's end to wait for.
            pause = 0.01 if states.have_finished(ranks) else 0.1
            states.note(server.events.get(timeout=pause))
            while True:
                states.note(server.events.get_nowait())
        progress.show(states.positions)
        if durable is not None:
            durable.watch(states.positions, ended={*states.ended, *states.finished})
            states.keep_record(durable.keep, acknowledge=server.acknowledge)
        if (silent := states.give_up(timeout=job.timeout)) is not None:
            end_processes([silent])
        if line := states.silence(ranks=ranks, timeout=job.timeout):
            states.failure = Failure(rank=0, status=3, line=line, is_loss=True)
        if len(states.started) < ranks and (line := watch.loss()):
            states.failure = Failure(rank=0, status=3, line=line, before_start=True, is_loss=True)
        if absence is not None and (line := absence.refusal(states.logs)):
            states.failure = Failure(rank=0, status=3, line=line)
        if states.failure is not None:
            _drain(server, states)
            _confirm_end_in_setup(server, states, process=process, ranks=ranks)
            return
        deadline = _deadline(deadline, states, ranks=ranks, is_over=process.poll() is not None)


def _drain(server: LifelineServer, states: RankStates) -> None:
    """Note what ranks have sent before one of them has failed, as far as it has arrived."""
    with contextlib.suppress(queue.Empty):
        while True:
            states.note(server.events.get_nowait())


def _confirm_end_in_setup(
    server: LifelineServer, states: RankStates, *, process: subprocess.Popen[str], ranks: int
) -> None:
    """Believe a rank that no role has begun only if all ranks end, and none says otherwise.

    The set-up fails at all ranks together. A rank that lies may say that it has failed when others
    have begun and the launcher has not heard of that: they may be on hosts that are further away.
    If mpiexec was killed, nothing of this counts (`find_failure`).
    """
    failure = states.failure
    if failure is None or not failure.before_start or failure.is_loss:
        return
    deadline = time.monotonic() + SETUP_ENDS_WITHIN
    while not states.at_work and not states.have_ended_in_setup(ranks):
        if (left := deadline - time.monotonic()) <= 0:
            break
        if was_killed(process.poll()):
            return
        with contextlib.suppress(queue.Empty):
            states.note(server.events.get(timeout=min(left, 0.1)))
    if not states.have_ended_in_setup(ranks):
        states.failure = msgspec.structs.replace(failure, before_start=False)


def _deadline(deadline: float, states: RankStates, *, ranks: int, is_over: bool) -> float:
    """Say until when to follow the ranks; `is_over` if mpiexec has ended."""
    has_deadline = deadline < float("inf")
    if states.have_finished(ranks):
        if is_over:
            return 0.0
        return deadline if has_deadline else time.monotonic() + FINALIZE
    if states.is_stopped or is_over:
        patience = GRACE
        if states.are_on_several_hosts and not states.are_all_lost:
            patience = HOSTS_END_WITHIN
        return min(deadline, time.monotonic() + patience)  # sooner, once all are lost
    return float("inf")  # also if a rank was lost while the roles were about to begin
