"""The processes of a run over MPI: mpiexec, its ranks, and what these have started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ..runs.interruption import uninterrupted
from .family import end_processes, family_of, is_rank
from .leftovers import remove_folder_of, remove_segments, segments_of
from .lifeline import LifelineServer
from .process_output import ProcessOutput
from .rank_states import RankStates

__all__ = ["mpiexec_running"]

PATIENCE: Final = 2.0
"""Seconds in which processes may end by themselves before they are killed."""


@contextlib.contextmanager
def mpiexec_running(
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
