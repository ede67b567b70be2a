"""The error that a run ends with when the reason was found on some rank, possibly in another
process.
"""

from __future__ import annotations

from ..messages import SottovoceError

__all__ = ["INTERRUPTED", "RunFailed"]

INTERRUPTED = 130
"""Exit status after Ctrl-C or SIGTERM."""


class RunFailed(SottovoceError):
    """The run failed on some rank; the line says where."""

    def __init__(self, line: str, *, status: int, traceback: str = "") -> None:
        super().__init__(line)
        self.status = status
        self.traceback = traceback
