"""The processes of a run over MPI: mpiexec, its ranks, and what these have started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ..runs.interruption import uninterrupted
from .cleaning import Cleaner
from .family import end_processes, family_of, is_rank
from .leftovers import (
    remove_folder_of,
    remove_folders_of_jobs,
    remove_segments,
    segments_of,
)
from .lifeline_server import LifelineServer
from .process_output import ProcessOutput
from .rank_states import RankStates

__all__ = ["mpiexec_running"]

PR_SET_PDEATHSIG: Final = 1
"""Linux's request for a signal at the end of the parent."""
PATIENCE: Final = 2.0
"""Seconds in which processes may end by themselves before they are killed."""
MIN_PATIENCE: Final = 0.5
"""Seconds of these that are left to ranks, whose lifelines are closed, after mpiexec has ended."""


@contextlib.contextmanager
def mpiexec_running(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    server: LifelineServer,
    states: RankStates,
    cleaner: Cleaner | None = None,
) -> Iterator[tuple[subprocess.Popen[str], ProcessOutput]]:
    """Start mpiexec; when the block ends, however it does, mpiexec and its ranks have ended.

    If this process is killed first, `cleaner` removes what they leave.
    """
    process: subprocess.Popen[str] | None = None
    output: ProcessOutput | None = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                preexec_fn=_ending_with_this_process(),  # noqa: PLW1509 - it calls the system once
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others
            )
            if cleaner is not None:
                cleaner.watch(process.pid)
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


def _ending_with_this_process() -> Callable[[], None] | None:
    """Make what mpiexec's process calls before it becomes mpiexec; `None` where there is no such.

    The kernel ends it with SIGTERM when this process has ended, however that happens, and it ends
    its ranks. Ranks watch their launcher themselves, but not when they wait inside MPI at the end:
    there they would wait for a lost one for ever.
    """
    if sys.platform != "linux":
        return None
    control = ctypes.CDLL(None).prctl  # Looked up here: the new process must not do much.
    launcher = os.getpid()

    def hold() -> None:
        control(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != launcher:
            os._exit(1)  # It ended before the kernel watched it.

    return hold


def _end_all(process: subprocess.Popen[str], *, token: str, segments: Collection[Path]) -> None:
    """End mpiexec, every rank on this host, and what ranks have started.

    Ranks on other hosts end themselves when the lifeline closes, as it has. What MPI leaves
    when it is killed is removed. All have the same time, so that no run takes longer than promised.
    """
    until = time.monotonic() + PATIENCE
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=until - time.monotonic())
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    family = family_of(token)
    until = max(until, time.monotonic() + MIN_PATIENCE)
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
    remove_folders_of_jobs(segments)
