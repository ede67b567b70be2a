"""What ranks and mpiexec print: passed on, kept for an error, or left out."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import IO, Final

from ..report.plain_text import plain_text
from .daemon_messages import DaemonMessages, lost_host

__all__ = ["ProcessOutput"]

_LOST_RANK: Final = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on signal")
"""What Open MPI's mpiexec prints of the rank whose loss made it end the others."""
_NOISE: Final = re.compile(
    r"(\[warn\] Epoll |\[\S+\] plm:ssh: Warning: setpgid\("
    r"|\[\S+\] OPAL ERROR: \(null\) in file \S*ompi_mpi_finalize\.c "
    r"|\[\S+\] pmix_ptl_base: send_msg: write failed: )"
)
"""Beginnings of what Open MPI prints by chance, and that changes nothing.

Its daemon prints of races within it, or that it could not answer a rank that has ended meanwhile.
A rank prints that another one was killed while MPI ends: then the launcher has the result.
"""
MAX_LINES: Final = 6
"""Lines of mpiexec's output in an error."""
_BANNER: Final = (
    "=====",
    "=   ",
    "YOUR APPLICATION TERMINATED",
    "This typically refers",
    "Please see the FAQ page",
    "[warn] Epoll ",
)
"""Beginnings of lines that MPICH's Hydra and Open MPI's daemon print when a rank is lost.

They are left out, because the line for the user says more.
"""


class ProcessOutput:
    """What ranks and mpiexec print.

    Standard output is passed on at once, to our standard error. Standard error is kept, because
    mpiexec's banners after a failure say less than the line for the user. So are its messages about
    a lost daemon, which it prints to standard output.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._errors: list[str] = []
        self._daemon_messages = DaemonMessages()
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
                else:
                    self._show_all(self._daemon_messages.take(line))
        if not keep:
            self._show_all(self._daemon_messages.rest())

    def _show_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            if not self.silent and not line.startswith(_BANNER):
                _show(line)

    def first_errors(self) -> str:
        """Give the first lines of standard error as one line."""
        for thread in self._threads:
            thread.join(timeout=1)
        lines = [line.strip() for line in self._errors if line.strip(" -\n")]
        return " ".join(lines[:MAX_LINES])

    def mentions(self, words: str) -> bool:
        """Check whether standard error has these words, on one line or on several."""
        return words in self._all_errors()

    def lost_rank(self) -> int | None:
        """Give the rank that was lost first, by Open MPI's mpiexec; `None` if it does not say.

        The end of the others may reach the launcher before that of this rank on another host.
        """
        match = _LOST_RANK.search(self._all_errors())
        return None if match is None else int(match[1])

    def lost_host(self) -> str | None:
        """Give the host whose daemon was lost, by Open MPI's mpiexec; `None` if it does not say."""
        errors = self._all_errors()  # The threads have read all that there is, or most of it.
        return lost_host(" ".join(self._daemon_messages.text.split())) or lost_host(errors)

    def _all_errors(self) -> str:
        """Wait a little for the end of standard error, and give it as one line."""
        for thread in self._threads:
            thread.join(timeout=1)
        return " ".join("".join(self._errors).split())

    def pass_on(self, *, everything: bool, daemon_messages: bool = False) -> None:
        """Wait for the end of the output; with `everything`, print standard error, too.

        With `daemon_messages` print those about a lost daemon, which may never have started.
        """
        for thread in self._threads:
            thread.join(timeout=1)
        if daemon_messages:
            _show(self._daemon_messages.text)
        if everything:
            _show("".join(line for line in self._errors if not _NOISE.match(line)))


def _show(text: str) -> None:
    """Print what ranks have printed, without codes of the terminal.

    Reading goes on where nothing can be printed: mpiexec would wait for it.
    """
    with contextlib.suppress(OSError):
        sys.stderr.write(plain_text(text))
