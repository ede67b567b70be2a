"""What a part logs: the lines of handlers that were made before it, by an import, say.

Such a handler keeps the stream that it has, past what `runs.printing` notes. So what it would write
is noted: the level, the logger's name and the text, without the time of day and the thread. A
replay writes no line by such a handler. One that the part itself has made writes into a stream or a
file of the part, where it is compared. `logging.lastResort` finds its stream anew for each line.

The function that does so stands in the place of Python's own from the first plug-in on.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Final, Protocol

__all__ = ["LineNote", "lead_handlers", "note_lines", "forget_lines"]

_EMIT: Final[Callable[[Any, logging.LogRecord], None]] = logging.StreamHandler.emit


class LineNote(Protocol):
    """What takes the lines of a part."""

    shown: bool
    """Whether lines are written, too."""

    def note(self, text: str) -> None:
        """Add a text."""

    def is_of_part(self, stream: object) -> bool:
        """Tell whether a stream is noted in another way."""


_lines: ContextVar[LineNote | None] = ContextVar("_lines", default=None)


def note_lines(lines: LineNote) -> Token[LineNote | None]:
    """Note what this thread logs, until the result is given to `forget_lines`."""
    lead_handlers()
    return _lines.set(lines)


def forget_lines(token: Token[LineNote | None]) -> None:
    """Note no lines any more."""
    _lines.reset(token)


def lead_handlers() -> None:
    """Note lines of parts from now on."""
    if logging.StreamHandler.emit is _EMIT:
        setattr(logging.StreamHandler, "emit", _emit)  # noqa: B010 - it is typed


@functools.wraps(_EMIT)
def _emit(handler: Any, record: logging.LogRecord) -> None:
    lines = _lines.get()
    if lines is None or lines.is_of_part(getattr(handler, "stream", None)):
        _EMIT(handler, record)
        return
    error = record.exc_info[1] if record.exc_info else None
    ending = "" if error is None else f" {type(error).__name__}: {error}"
    lines.note(f"{record.levelname}:{record.name}:{record.getMessage()}{ending}\n")
    if lines.shown:
        # Not noted once more, if the stream turns out to be one of those that are.
        token = _lines.set(None)
        try:
            _EMIT(handler, record)
        finally:
            _lines.reset(token)
