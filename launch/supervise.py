"""Start ranks through mpiexec, and make sure that all end together.

A rank may raise, hang or be killed, mpiexec may be killed, and the user may press Ctrl-C. In each
case every process is gone within seconds. One line names the rank, the phase and the step.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from ..messages import CURATOR, UsageError
from ..report.progress import Progress
from ..runs.failure import RunFailed
from ..runs.instance import instantiate
from ..runs.interruption import INTERRUPTED, uninterrupted
from ..runs.job import Job
from ..runs.placement import Placement
from ..runs.record import RunRecord
from ..runs.unfinished import UnfinishedRun
from .family import end_processes, family_of, is_rank
from .hold import JOB_VARIABLE
from .leftovers import remove_folder_of, remove_segments, segments_of
from .library import conflict, loaded_library
from .lifeline import Failure, LifelineServer
from .mpiexec import Launcher
from .process_output import ProcessOutput
from .rank import RANK_PROGRAM, RankTask
from .rank_states import RankStates
from .starting import StartWatch

__all__ = ["run_with_mpi"]

GRACE: Final = 0.5
"""Seconds in which another rank may still report why a rank was lost."""
PATIENCE: Final = 2.0
"""Seconds in which processes may end by themselves before they are killed."""
FINALIZE: Final = 10.0
"""Seconds in which mpiexec may end after all ranks have finished."""
NOT_LISTENING: Final = "PMIx server's listener thread failed to start"
"""What Open MPI's daemon sometimes prints on a busy host, and ends before it starts any rank."""


def run_with_mpi(
    job: Job,
    *,
    launcher: Launcher,
    placement: Placement,
    progress: Progress,
    durable: UnfinishedRun | None = None,
) -> RunRecord:
    """Run a job as ranks of one mpiexec and return the record of the run.

    If Open MPI's own daemon does not come up, it is started once more. No rank has started then, so
    nothing has been read or sent.

    Raises:
        RunFailed: The run failed, with the exit status and the line for the user. No process is
            left.
    """
    try:
        run_once = partial(
            _run_once,
            job,
            launcher=launcher,
            placement=placement,
            progress=progress,
            durable=durable,
        )
        try:
            return run_once()
        except _DaemonFailed:
            return run_once()
    finally:
        progress.close()


class _DaemonFailed(RunFailed):
    """The daemon that was to start ranks ended before it had started one."""


def _run_once(
    job: Job,
    *,
    launcher: Launcher,
    placement: Placement,
    progress: Progress,
    durable: UnfinishedRun | None,
) -> RunRecord:
    protocol = instantiate(job)
    server = LifelineServer(token=secrets.token_hex(16), everywhere=placement.several_hosts)
    task = msgspec.json.encode(
        RankTask(
            job,
            server.address,
            placement.tell_errors,
            None if durable is None else durable.task,
        )
    ).decode()
    command = launcher.command(
        # With -P a module in the working folder never replaces an installed one.
        [sys.executable, "-P", "-c", RANK_PROGRAM],
        ranks=job.parties + 1,
        variables=[JOB_VARIABLE],
        hosts=placement.hosts,
        hostfile=placement.hostfile,
        extra=placement.mpi_arg,
        outlives=job.fewest_parties is not None,
    )
    states = RankStates(protocol.name, goes_on=job.fewest_parties is not None)
    environment = launcher.environment(
        several_hosts=bool(placement.hosts or placement.hostfile), extra=placement.mpi_arg
    )
    try:
        with _mpiexec(
            command, {**environment, JOB_VARIABLE: task}, server=server, states=states
        ) as (
            process,
            output,
        ):
            _follow(process, server, states, job=job, progress=progress, durable=durable)
            failed = _failure(process, states, output, launcher=launcher, ranks=job.parties + 1)
            output.silent = failed is not None
    except KeyboardInterrupt:
        raise RunFailed(
            f"{states.place(0)}: interrupted; all roles were ended and nothing was written",
            status=INTERRUPTED,
        ) from None
    output.pass_on(everything=failed is None)
    if failed is not None:
        raise failed
    record = states.finished[0].record
    if record is None:
        raise RunFailed("the curator ended without a result", status=3)
    return msgspec.structs.replace(record, job=job)


@contextlib.contextmanager
def _mpiexec(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    server: LifelineServer,
    states: RankStates,
) -> Iterator[tuple[subprocess.Popen[str], ProcessOutput]]:
    """Start mpiexec; when the block ends, however it does, mpiexec and its ranks have ended."""
    process: subprocess.Popen[str] | None = None
    output: ProcessOutput | None = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others
            )
            output = ProcessOutput(process)
        yield process, output
    except BaseException:
        if output is not None:
            output.silent = True
        raise
    finally:
        with uninterrupted():  # Ctrl-C that comes now must not leave a process behind
            token = server.address.token
            # A rank that is still inside MPI_Init has segments, and has not reported yet.
            starting = [segments_of(pid) for pid in family_of(token)]
            server.close()
            if process is not None:
                _end_all(process, token=token, segments=states.segments.union(*starting))


def _follow(
    process: subprocess.Popen[str],
    server: LifelineServer,
    states: RankStates,
    *,
    job: Job,
    progress: Progress,
    durable: UnfinishedRun | None,
) -> None:
    """Follow the ranks until all have finished or something is wrong.

    In a durable run the curator's rank keeps its log until its record is in this host's state.
    """
    is_kept = False
    watch = StartWatch(server.address.token, is_needed=job.fewest_parties is not None)
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
            durable.watch(states.positions)
        if durable is not None and not is_kept and CURATOR in states.finished:
            record = states.finished[CURATOR].record
            if record is not None:
                durable.keep(record)
            server.acknowledge(CURATOR)
            is_kept = True
        if line := states.silence(ranks=ranks, timeout=job.timeout):
            states.failure = Failure(rank=0, status=3, line=line)
        if len(states.started) < ranks and (line := watch.loss()):
            states.failure = Failure(rank=0, status=3, line=line, before_start=True)
        if states.failure is not None:
            return
        deadline = _deadline(deadline, states, ranks=ranks, is_over=process.poll() is not None)


def _deadline(deadline: float, states: RankStates, *, ranks: int, is_over: bool) -> float:
    """Say until when to follow the ranks; `is_over` if mpiexec has ended."""
    has_deadline = deadline < float("inf")
    if states.have_finished(ranks):
        if is_over:
            return 0.0
        return deadline if has_deadline else time.monotonic() + FINALIZE
    if states.is_stopped or is_over:
        return deadline if has_deadline else time.monotonic() + GRACE
    return float("inf")  # also if a rank was lost while the roles were about to begin


def _failure(
    process: subprocess.Popen[str],
    states: RankStates,
    output: ProcessOutput,
    *,
    launcher: Launcher,
    ranks: int,
) -> RunFailed | None:
    """Find why the run failed, if it did.

    A rank's own report comes first, then which rank is lost, then what mpiexec printed.
    """
    if states.failure is not None:
        return RunFailed(
            states.failure.line,
            status=states.failure.status,
            traceback=states.failure.traceback,
            before_start=states.failure.before_start,
        )
    if states.have_finished(ranks):
        return None
    ended = process.poll()
    killed = ended is not None and -ended in (signal.SIGKILL, signal.SIGTERM)
    if states.lost and not killed:
        return RunFailed(
            f"{states.place(states.lost[0])}: the process was lost (killed, or out of memory)",
            status=3,
        )
    if killed and ended is not None:
        # No rank is at fault; the curator's place shows how far the run had come.
        return RunFailed(f"{states.place(0)}: mpiexec was killed by signal {-ended}", status=3)
    printed = output.first_errors() or "it printed nothing"
    try:
        hint = conflict(launcher.flavour, loaded_library(launcher.environment()))
    except UsageError as error:
        hint = str(error)
    daemon_failed = not states.started and output.mentions(NOT_LISTENING)
    return (_DaemonFailed if daemon_failed else RunFailed)(
        f"mpiexec ended with status {ended} before the run had begun: "
        + (f"{hint}; mpiexec printed: {printed}" if hint else printed),
        status=3,
        before_start=not states.started,
    )


def _end_all(process: subprocess.Popen[str], *, token: str, segments: Iterable[Path]) -> None:
    """End mpiexec, every rank on this host, and what ranks have started.

    Ranks on other hosts end themselves when the lifeline closes, as it has. What MPI leaves
    when it is killed is removed.
    """
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    family = family_of(token)
    until = time.monotonic() + PATIENCE
    while any(map(is_rank, family)) and time.monotonic() < until:
        time.sleep(0.05)
        family = family_of(token)
    until = time.monotonic() + PATIENCE
    while family and time.monotonic() < until:  # a kill takes effect when the system finds time
        end_processes(family)
        time.sleep(0.01)
        family = family_of(token)
    remove_segments(segments)
    remove_folder_of(process.pid)
