"""What removes Open MPI's files on this host even when the launcher is killed.

Ranks make their shared memory in a folder of the run's own, so that one name covers all of it. A
shell waits for the end of the launcher. When that is killed, the kernel ends mpiexec as well, and
mpiexec ends the ranks before these could remove anything. Then the shell does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..runs.interruption import uninterrupted
from .leftovers import SHARED_MEMORY_FOLDER, folders_of
from .mpiexec import Launcher

__all__ = ["Cleaner", "cleaning_up", "remove_abandoned"]

LOCKED: Final = "sottovoce."
NEW: Final = ".sottovoce."
"""Beginnings of the names of folders: before a launcher has locked its own, it has the second."""
PROGRAM: Final = """
trap '' HUP INT TERM
IFS= read -r mpiexec
while IFS= read -r folder; do set -- "$@" "$folder"; done
left=100
while [ -n "$mpiexec" ] && [ $left -gt 0 ] && kill -0 "$mpiexec" 2>/dev/null; do
    sleep 0.1
    left=$((left - 1))
done
rm -rf -- "$@"
"""
"""It reads the process id of mpiexec and folders until the launcher, which writes them, has ended.

It removes the folders when mpiexec has ended too, which may take ten seconds. The launcher kills
it when all is well.
"""


class Cleaner:
    """The launcher's side: the folder for shared memory, if there is one, and the shell."""

    def __init__(self, segments: Path | None, *, lock: int | None) -> None:
        """Start the shell, in a session of its own: Ctrl-C does not reach it.

        It holds the folder's lock as well. So another run leaves the folder alone as long as the
        shell waits for mpiexec.
        """
        self.segments = segments
        read, self._pipe = os.pipe()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", PROGRAM, "sh", *([] if segments is None else [str(segments)])],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                pass_fds=[] if lock is None else [lock],
            )
        finally:
            os.close(read)

    def watch(self, mpiexec: int) -> None:
        """Let the shell remove what this mpiexec leaves."""
        lines = [str(mpiexec), *map(str, folders_of(mpiexec))]
        with contextlib.suppress(OSError):  # The shell was killed: then it cleans nothing.
            os.write(self._pipe, "".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """End the shell, as the launcher has removed all by itself."""
        self._shell.kill()
        self._shell.wait()
        os.close(self._pipe)


@contextlib.contextmanager
def cleaning_up(launcher: Launcher) -> Iterator[Cleaner | None]:
    """Clean up after a run with Open MPI; afterwards the folder for shared memory is gone.

    MPICH's ranks unlink theirs early, and nothing tells where it will be.
    """
    if launcher.flavour != "openmpi":
        yield None
        return
    cleaner: Cleaner | None = None
    lock: int | None = None
    try:
        with uninterrupted():
            remove_abandoned()
            segments, lock = _new_folder()
            cleaner = Cleaner(segments, lock=lock)
        yield cleaner
    finally:
        with uninterrupted():
            if cleaner is not None:
                cleaner.close()
                if cleaner.segments is not None:
                    shutil.rmtree(cleaner.segments, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def remove_abandoned(place: Path = Path(SHARED_MEMORY_FOLDER)) -> None:
    """Remove folders whose launcher was killed together with its shell.

    A folder in use is locked by one of these two. The kernel ends the lock with the processes, also
    where process ids mean nothing, as among containers that share their memory.
    """
    for folder in place.glob(f"{LOCKED}*"):
        with contextlib.suppress(OSError):  # It is another user's, or gone, or locked.
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _new_folder(place: Path = Path(SHARED_MEMORY_FOLDER)) -> tuple[Path, int] | tuple[None, None]:
    """Make and lock a folder; nothing where the system has no place for shared memory."""
    try:
        new = Path(tempfile.mkdtemp(prefix=NEW, dir=place))
    except OSError:
        return None, None
    lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return new.rename(place / new.name.replace(NEW, LOCKED, 1)), lock
