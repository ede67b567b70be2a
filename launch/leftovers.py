"""What MPI leaves on a host when its processes are killed: shared memory, and mpiexec's folder.

Ranks unlink their shared memory when they end by themselves, and mpiexec removes its folder.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = [
    "SHARED_MEMORY_FOLDER",
    "folders_of",
    "remove_early_names",
    "remove_folder_of",
    "remove_folders_of_jobs",
    "remove_segments",
    "segments_of",
]

SHARED_MEMORY_FOLDER: Final = "/dev/shm/"  # noqa: S108 - where MPI makes its segments
MPICH_SEGMENT: Final = "mpich_shm_"
SEGMENTS: Final = ("sm_segment.", "vader_segment.", MPICH_SEGMENT)
"""Beginnings of the names of segments: Open MPI's from 5 on, those before, and MPICH's."""

JOB: Final = re.compile(r"^(?:sm|vader)_segment\..*\.([0-9a-f]+)\.\d+$")
"""The name of a segment of Open MPI, with the number of its job."""


def segments_of(pid: int) -> frozenset[Path]:
    """List the segments of MPI that a process has mapped."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:  # it has ended
        return frozenset()
    paths = {Path(line[line.index("/") :]) for line in lines if SHARED_MEMORY_FOLDER in line}
    return frozenset(path for path in paths if path.name.startswith(SEGMENTS))


def remove_early_names(pid: int) -> None:
    """Unlink what all ranks of this host have mapped, and nobody looks up by its name any more.

    That is MPICH's segment after the first exchange. Its mpiexec ends ranks at once, when it ends
    itself, before they could unlink anything. Open MPI's ranks find each other's segments later.
    """
    remove_segments(path for path in segments_of(pid) if path.name.startswith(MPICH_SEGMENT))


def remove_segments(paths: Iterable[Path]) -> None:
    """Unlink segments whose processes have ended, or end now."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def folders_of(mpiexec: int) -> tuple[Path, ...]:
    """Name the folders that an Open MPI's mpiexec has, in this version or another one."""
    return (_temporary() / f"ompi.{mpiexec}", _folder_of_user() / f"pid.{mpiexec}")


def remove_folder_of(mpiexec: int) -> None:
    """Remove the folder of an Open MPI's mpiexec that has ended, given its process id."""
    for folder in folders_of(mpiexec):
        shutil.rmtree(folder, ignore_errors=True)


def remove_folders_of_jobs(segments: Iterable[Path]) -> None:
    """Remove folders of ranks that have found no mpiexec when they started MPI.

    Such a rank takes itself for a job. Its segments and its folder have the job's number.
    """
    of_jobs = _folder_of_user() / "jf.0"
    for job in {match[1] for path in segments if (match := JOB.search(path.name))}:
        shutil.rmtree(of_jobs / str(int(job, 16)), ignore_errors=True)
    with contextlib.suppress(OSError):  # They are not empty, or not there.
        of_jobs.rmdir()
        of_jobs.parent.rmdir()


def _temporary() -> Path:
    # Python's own function would try the folder with a file, which stays if this process is killed.
    names = ("TMPDIR", "TEMP", "TMP")
    return Path(next(filter(None, map(os.environ.get, names)), "/tmp"))  # noqa: S108 - as MPI does


def _folder_of_user() -> Path:
    """Name the folder of this user's jobs, before version 5 and for ranks without mpiexec."""
    return _temporary() / f"ompi.{platform.node()}.{os.getuid()}"
