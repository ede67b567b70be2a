"""Ranks that are lost before they have started, where mpiexec does not end the others.

With `--with-ft ulfm` mpiexec lets a job outlive the loss of a rank. If a rank is lost inside
MPI_Init the others wait in theirs for ever. They have not reported to the launcher yet, so it looks
at the processes of its host.
"""

from __future__ import annotations

import time
from typing import Final

from ..messages import UsageError
from .family import family_of, is_rank
from .library import conflict, loaded_library
from .mpiexec import Launcher
from .process_output import ProcessOutput

__all__ = ["StartWatch", "reason_not_started"]

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the processes."""
LOOKS: Final = 3
"""Looks at which no further rank is there, after which those that are missing were lost.

mpiexec starts its ranks within hundredths of a second. One may be lost between two looks.
"""


class StartWatch:
    """Watches the ranks on this host until all have started.

    Args:
        token: the run's token, by which processes are found.
        mpiexec: its process, whose command line has that of a rank.
        is_needed: whether mpiexec leaves the others alone when one is lost.
        ranks_here: number of ranks on this host, where it is known.
    """

    def __init__(
        self, token: str, *, mpiexec: int, is_needed: bool, ranks_here: int | None
    ) -> None:
        self._token = token
        self._mpiexec = mpiexec
        self._is_needed = is_needed
        self._ranks_here = ranks_here or 0
        self._ranks: set[int] = set()
        self._looks = 0
        self._next_look = 0.0

    def loss(self) -> str:
        """Describe the loss of a rank, if there is one; not called after all have started."""
        now = time.monotonic()
        if not self._is_needed or now < self._next_look:
            return ""
        self._next_look = now + LOOK_EVERY
        family = family_of(self._token)
        ranks = {pid for pid in family if pid != self._mpiexec and is_rank(pid)}
        self._looks = self._looks + 1 if self._ranks and not ranks - self._ranks else 0
        are_missing = len(ranks) < self._ranks_here and self._looks >= LOOKS
        if self._ranks - ranks or are_missing:
            return (
                "a rank's process was lost before it had started (killed, out of memory, or its "
                "MPI did not start)"
            )
        self._ranks = ranks
        return ""


def reason_not_started(launcher: Launcher, output: ProcessOutput) -> str:
    """Say why ranks did not start: by their library, and by what mpiexec printed."""
    printed = output.first_errors() or "it printed nothing"
    try:
        hint = conflict(launcher.flavour, loaded_library(launcher.environment()))
    except UsageError as error:
        hint = str(error)
    return f"{hint}; mpiexec printed: {printed}" if hint else printed
