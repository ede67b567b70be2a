"""The processes of a run on this host: mpiexec, ranks, and what ranks have started.

Each inherits the variable in which the launcher passes the job, and with it the run's token. A
process may also have left the session or the group of its parent, so neither finds all of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["carries", "end_processes", "family_of", "is_rank", "other_ranks", "started_by_ranks"]

PROCESSES: Final = Path("/proc")
RANK_MARK: Final = b"sottovoce.launch.rank"
"""What the command line of a rank has."""


def family_of(token: str) -> list[int]:
    """List the processes with this token in their environment, but for this one."""
    return [
        pid
        for path in PROCESSES.glob("[0-9]*")
        if (pid := int(path.name)) != os.getpid() and carries(pid, token)
    ]


def carries(pid: int, token: str) -> bool:
    """Check that a process has this token in its environment, and so is of the run."""
    return token.encode() in _content(PROCESSES / str(pid) / "environ")


def is_rank(pid: int) -> bool:
    """Check that a process is a rank, and has not ended."""
    return RANK_MARK in _content(PROCESSES / str(pid) / "cmdline")


def started_by_ranks(token: str) -> list[int]:
    """List what ranks have started, as a rank sees it: its family without ranks and mpiexec."""
    launchers = _ancestors(os.getpid())
    return [pid for pid in family_of(token) if pid not in launchers and not is_rank(pid)]


def other_ranks(token: str) -> list[int]:
    """List the other ranks of a run on this host."""
    return [pid for pid in family_of(token) if is_rank(pid)]


def end_processes(pids: Iterable[int]) -> None:
    """Kill processes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _ancestors(pid: int) -> set[int]:
    ancestors: set[int] = set()
    while pid > 1:
        # The name of the program, in brackets, may hold spaces.
        fields = _content(PROCESSES / str(pid) / "stat").rpartition(b")")[2].split()
        if len(fields) < 2:
            break
        pid = int(fields[1])
        ancestors.add(pid)
    return ancestors


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""
