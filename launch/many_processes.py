"""A remark on runs with many processes on few cores, before they begin.

mpiexec starts a process for each role, and each imports Python's libraries by itself. On two cores
127 parties take 102 s so, and 34 s on threads, where all roles live in one process.
"""

from __future__ import annotations

import os
from typing import Final

from ..runs.job import Job
from ..runs.placement import Placement
from .mpiexec import ALLOCATIONS

__all__ = ["many_processes"]

START_SECONDS: Final = 1.0
"""Seconds of a core in which a process has started."""
LONG: Final = 20.0
"""Seconds of starting from which on threads are named."""


def many_processes(job: Job, placement: Placement) -> str:
    """Say that processes take long to start on this host; empty where they do not.

    The result is empty, too, where ranks may be on several hosts: the person names these, or has
    arguments for mpiexec, or is in a batch job. With `--on-loss continue` processes are wanted.
    """
    is_elsewhere = placement.several_hosts or bool(placement.mpi_arg)
    if is_elsewhere or any(name in os.environ for name in ALLOCATIONS):
        return ""
    if placement.transport not in (None, "mpi") or job.on_loss == "continue":
        return ""
    processes, cores = job.parties + 1, len(os.sched_getaffinity(0))
    seconds = processes * START_SECONDS / cores
    if seconds < LONG:
        return ""
    where = "one core" if cores == 1 else f"{cores} cores"
    return (
        f"{processes:,} processes start on {where} of this host, which takes about {seconds:,.0f} "
        "s; --transport threads has all roles in one process, with the same messages"
    )
