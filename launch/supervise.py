"""Starting ranks through mpiexec and seeing to it that all end together.

Whatever happens (a rank raises, is killed, hangs; mpiexec is killed; the person presses Ctrl-C),
every process is gone within seconds, and there is one line that says which rank, in which phase, at
which step.
"""

from __future__ import annotations

import contextlib
import os
import platform
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Final

import msgspec

from ..messages import Position, UsageError, role_name
from ..report.progress import Progress
from ..runs.failure import INTERRUPTED, RunFailed
from ..runs.job import Job, Placement, instantiate
from ..runs.record import RunRecord
from .library import conflict, loaded_library
from .lifeline import At, Event, Failed, Finished, Hello, Lost, Server
from .mpiexec import Launcher
from .rank import JOB_VARIABLE, Assignment

__all__ = ["run_with_mpi"]

GRACE: Final = 0.5
"""Seconds in which the reason for a lost rank may still arrive from another one."""
PATIENCE: Final = 2.0
"""Seconds that processes have to end by themselves before they are killed."""


@dataclass
class _Watch:
    """What the launcher knows of its ranks."""

    protocol: str
    hello: dict[int, Hello] = field(default_factory=dict)
    at: dict[int, Position] = field(default_factory=dict)
    finished: dict[int, Finished] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    failed: Failed | None = None

    def note(self, event: Event) -> None:
        match event:
            case Hello():
                self.hello[event.rank] = event
            case At():
                self.at[event.rank] = event.position
            case Finished():
                self.finished[event.rank] = event
            case Failed():
                self.failed = self.failed or event
            case Lost() if event.rank not in self.finished:
                self.lost.append(event.rank)

    def place(self, rank: int) -> str:
        """Say where a rank was last seen."""
        who = f"rank {rank} ({role_name(rank).removeprefix('the ')}) in {self.protocol}"
        at = self.at.get(rank)
        if at is None or not at.phase:
            return f"{who}, before its first phase"
        return f"{who}, phase {at.phase}, step {at.step}"


def run_with_mpi(
    job: Job, *, launcher: Launcher, placement: Placement, progress: Progress
) -> RunRecord:
    """Run a job as ranks of one mpiexec and return the record of the run.

    Raises:
        RunFailed: With the exit status and the line for the person. No process is left then.
    """
    protocol = instantiate(job)
    server = Server(token=secrets.token_hex(16), everywhere=placement.several_hosts)
    assignment = msgspec.json.encode(Assignment(job, server.address)).decode()
    command = launcher.command(
        # -P: a module that lies in the working folder never replaces an installed one.
        [sys.executable, "-P", "-c", "from sottovoce.launch.rank import main; main()"],
        ranks=job.parties + 1,
        variables=[JOB_VARIABLE],
        hosts=placement.hosts,
        hostfile=placement.hostfile,
        extra=placement.mpi_arg,
    )
    watch = _Watch(protocol.name)
    process = subprocess.Popen(
        command,
        env={
            **launcher.environment(several_hosts=bool(placement.hosts or placement.hostfile)),
            JOB_VARIABLE: assignment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is ours to handle: one process ends the others in order
    )
    spoken = _Spoken(process)
    failed: RunFailed | None = None
    try:
        _watch_over(process, server, watch, ranks=job.parties + 1, progress=progress)
        failed = _reason(process, watch, spoken, launcher=launcher, ranks=job.parties + 1)
    except KeyboardInterrupt:
        failed = RunFailed(
            f"{watch.place(0)}: interrupted; all roles were ended and nothing was written",
            status=INTERRUPTED,
        )
    finally:
        progress.close()
        spoken.silent = failed is not None or watch.failed is not None
        _end_all(process, server, watch)
    spoken.pass_on(everything=failed is None)
    if failed is not None:
        raise failed
    record = watch.finished[0].record
    if record is None:
        raise RunFailed("the curator ended without a result", status=3)
    return record


_BANNER: Final = (
    "=====",
    "=   ",
    "YOUR APPLICATION TERMINATED",
    "This typically refers",
    "Please see the FAQ page",
)
"""How the lines begin that Hydra prints, on standard output, when a rank is lost: our one line says
more.
"""


def _watch_over(
    process: subprocess.Popen[str], server: Server, watch: _Watch, *, ranks: int, progress: Progress
) -> None:
    """Follow the ranks until all have finished or something is wrong."""
    deadline = float("inf")
    while time.monotonic() < deadline:
        with contextlib.suppress(queue.Empty):
            watch.note(server.events.get(timeout=0.1))
            while True:
                watch.note(server.events.get_nowait())
        progress.show(watch.at)
        if watch.failed is not None:
            return
        if len(watch.finished) == ranks and (
            process.poll() is not None or deadline == float("inf")
        ):
            if process.poll() is not None:
                return
            deadline = time.monotonic() + 10  # MPI is finalising
        elif (watch.lost or process.poll() is not None) and deadline == float("inf"):
            deadline = time.monotonic() + GRACE


def _reason(
    process: subprocess.Popen[str],
    watch: _Watch,
    spoken: _Spoken,
    *,
    launcher: Launcher,
    ranks: int,
) -> RunFailed | None:
    """Say why the run failed, if it did: the rank's own word first, then which rank is gone, then
    what mpiexec did.
    """
    if watch.failed is not None:
        return RunFailed(
            watch.failed.line, status=watch.failed.status, traceback=watch.failed.traceback
        )
    if len(watch.finished) == ranks:
        return None
    ended = process.poll()
    killed = ended is not None and -ended in (signal.SIGKILL, signal.SIGTERM)
    if watch.lost and not killed:
        return RunFailed(
            f"{watch.place(watch.lost[0])}: the process was lost (killed, or out of memory)",
            status=3,
        )
    if killed and ended is not None:
        # Nobody in particular is to blame; the curator's place tells how far the run had come.
        return RunFailed(f"{watch.place(0)}: mpiexec was killed by signal {-ended}", status=3)
    words = spoken.last_words() or "it printed nothing"
    try:
        hint = conflict(launcher.flavour, loaded_library(launcher.environment()))
    except UsageError as error:
        hint = str(error)
    return RunFailed(
        f"mpiexec ended with status {ended} before the run had begun: "
        + (f"{hint}; mpiexec's words: {words}" if hint else words),
        status=3,
    )


def _end_all(process: subprocess.Popen[str], server: Server, watch: _Watch) -> None:
    """End mpiexec and every rank on this host; ranks elsewhere end themselves when the lifeline
    closes.
    """
    server.close()
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    here = platform.node()
    alive = [
        hello.pid for hello in watch.hello.values() if hello.host == here and _is_rank(hello.pid)
    ]
    until = time.monotonic() + PATIENCE
    while alive and time.monotonic() < until:
        time.sleep(0.05)
        alive = [pid for pid in alive if _is_rank(pid)]
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _is_rank(pid: int) -> bool:
    """Make sure that a process id still is a rank of ours before it is killed: ids are used
    again.
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - /proc is not a path to walk
            return b"sottovoce.launch.rank" in file.read()
    except OSError:
        return False


class _Spoken:
    """What ranks and mpiexec print. Standard output goes on at once (to our standard error).

    Standard error is kept, because mpiexec's banners after a failure say less than our one line.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._errors: list[str] = []
        self.silent = False
        self._threads = [
            threading.Thread(target=self._read, args=(process.stdout, False), daemon=True),
            threading.Thread(target=self._read, args=(process.stderr, True), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[str], keep: bool) -> None:  # noqa: FBT001
        with stream:
            for line in stream:
                if keep:
                    self._errors.append(line)
                elif not self.silent and not line.startswith(_BANNER):
                    sys.stderr.write(line)

    def last_words(self) -> str:
        for thread in self._threads:
            thread.join(timeout=1)
        said = [line.strip() for line in self._errors if line.strip(" -\n")]
        return " ".join(said[:6])

    def pass_on(self, *, everything: bool) -> None:
        for thread in self._threads:
            thread.join(timeout=1)
        if everything:
            sys.stderr.writelines(self._errors)
