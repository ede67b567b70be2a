"""The error that ends a run when some rank failed, possibly in another process."""

from __future__ import annotations

import traceback

from ..messages import ConversationError, SottovoceError, Where

__all__ = ["INTERRUPTED", "RunFailed", "describe"]

INTERRUPTED = 130
"""Exit status after Ctrl-C or SIGTERM."""


class RunFailed(SottovoceError):
    """The run failed on some rank; the line says where."""

    def __init__(self, line: str, *, status: int, traceback: str = "") -> None:
        super().__init__(line)
        self.status = status
        self.traceback = traceback


def describe(error: BaseException, *, where: Where | None) -> tuple[str, str]:
    """Put an error in one line, with its place; add the traceback when it is not one of ours."""
    if isinstance(error, SottovoceError):
        placed = isinstance(error, ConversationError) and error.where is not None
        return (str(error) if where is None or placed else f"{where}: {error}"), ""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SystemExit):
        text = f"it left early by SystemExit({error.code})"
    trace = "".join(traceback.format_exception(error))
    return (f"{where}: {text}" if where else text), trace
