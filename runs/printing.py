"""What a part prints: it is noted, so that a replay can be compared, and a replay prints nothing.

Over MPI the standard output of every rank travels to whoever started the run. Both streams are
noted, and bytes that are written past them by `sys.stdout.buffer` or `os.write`. What Python's
`warnings` writes is noted apart: the same warning is shown once, and not again in a replay. So only
warnings of one line of code are compared, whose texts must be alike. With what a part prints go the
lines that it logs (`runs.log_handlers`), the files that it opens (`runs.files_written`) and what
else it does (`runs.side_effects`).

Threads of a part print in any order. So of what they print the texts are compared, each with how
often it was printed, and not their order.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import threading
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

from .exit_calls import lead_exit_calls
from .files_written import OpenedFiles, forget_opened, note_opened
from .log_handlers import forget_lines, note_lines
from .routed_calls import lead_files
from .side_effects import SideEffects, forget_effects, is_of_a_part, note_effects
from .started_programs import lead_programs
from .started_threads import await_threads, lead_threads
from .waits import lead_waits

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

__all__ = ["Printing", "note_printing"]

DESCRIPTORS: Final = (1, 2)
"""Numbers of standard output and standard error."""
_WRITE: Final = os.write
STREAMS: Final = ("stdout", "stderr")
WARNING: Final = re.compile(r"(?P<place>.*?:\d+: \w+): ")
"""The beginning of a warning: the line of code that warns, and the category."""


class Printing:
    """A digest of what was printed, the texts of warnings, and the files that were opened."""

    def __init__(self, *, shown: bool, packages: Collection[str] = ()) -> None:
        self.shown = shown
        """Whether it is printed, too."""
        self.files = OpenedFiles(packages)
        """Files that the code of these packages opens."""
        self.effects = SideEffects(packages, shown=shown)
        """What else the code of these packages does."""
        self.warnings: set[tuple[str, str]] = set()
        """Line of code and text of each warning."""
        self.count = 0
        """Number of characters."""
        self._digest = hashlib.sha256()
        self._of_threads = 0
        """Sum of the digests of the texts that threads of the part print."""
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        """Add a text."""
        self._add(text.encode(errors="replace"))

    def passes(self, content: Buffer) -> bool:
        """Add bytes, and tell whether they are printed."""
        self._add(memoryview(content).tobytes())
        return self.shown

    def _add(self, content: bytes) -> None:
        with self._lock:
            self.count += len(content)
            if is_of_a_part(threading.current_thread()):
                self._of_threads += int.from_bytes(hashlib.sha256(content).digest())
            else:
                self._digest.update(content)

    @property
    def digest(self) -> bytes:
        """A digest of what was printed."""
        of_threads = self._of_threads % (1 << 256)
        return self._digest.digest() + of_threads.to_bytes(32)

    def is_of_part(self, stream: object) -> bool:
        """Tell whether what is written to a stream is noted, or lies in a file of the part."""
        if stream is None or isinstance(stream, _Router | _RoutedBytes):
            return True
        name = getattr(stream, "name", None)
        return isinstance(name, str) and self.files.is_open(name)

    def note_warning(self, text: str) -> None:
        """Keep a warning's text under the line of code that warns."""
        beginning = WARNING.match(text)
        if beginning is not None:
            self.warnings.add((beginning["place"], text))


_printing: ContextVar[Printing | None] = ContextVar("_printing", default=None)
"""What notes the text of this thread, and of those that run with a copy of its context."""
_lock: Final = threading.Lock()
_routers: list[tuple[str, _Router]] = []
"""The streams that stand in for those of the process while a part is played."""
_parts = 0
"""Number of parts that are played now."""


class _Router:
    """A stream that notes the text of parts, and passes on that of everybody else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        printing = _printing.get()
        if printing is None:
            return self._stream.write(text)
        if _is_warning():
            printing.note_warning(text)
        else:
            printing.note(text)
        return self._stream.write(text) if printing.shown else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> _RoutedBytes:
        """The stream of bytes below; an error where the stream has none."""
        return _RoutedBytes(self._stream.buffer)

    @property
    def stream(self) -> TextIO:
        """The stream in whose place this one stands."""
        return self._stream


class _RoutedBytes:
    """A stream of bytes that notes those of parts."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, content: Buffer) -> int:
        printing = _printing.get()
        if printing is None or printing.passes(content):
            return self._stream.write(content)
        return memoryview(content).nbytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write(descriptor: int, content: Buffer) -> int:
    """Write as `os.write`, and note what a part writes to the process's output."""
    printing = _printing.get()
    if descriptor not in DESCRIPTORS or printing is None or printing.passes(content):
        return _WRITE(descriptor, content)
    return memoryview(content).nbytes


@contextlib.contextmanager
def note_printing(printing: Printing) -> Iterator[None]:
    """Note what the code of the block prints, on this thread and with copies of its context."""
    if printing.effects.packages:
        lead_files()
        lead_exit_calls()
        lead_programs()
        lead_threads()
        lead_waits(printing.effects.packages)
    token, opened = _printing.set(printing), note_opened(printing.files)
    effects, lines = note_effects(printing.effects), note_lines(printing)
    _enter()
    try:
        yield
    finally:
        await_threads(printing.effects)
        _leave()
        forget_lines(lines)
        forget_effects(effects)
        _printing.reset(token)
        forget_opened(opened)


def _enter() -> None:
    global _parts  # noqa: PLW0603 - the streams are those of the process
    with _lock:
        _parts += 1
        if os.write is _WRITE:
            os.write = _write
        for name in STREAMS:
            stream = getattr(sys, name)
            if not isinstance(stream, _Router) and stream is not None:
                router = _Router(stream)
                _routers.append((name, router))
                setattr(sys, name, router)


def _leave() -> None:
    global _parts  # noqa: PLW0603
    with _lock:
        _parts -= 1
        if _parts:
            return
        for name, router in reversed(_routers):
            # Someone else may have put another stream in its place since.
            if getattr(sys, name) is router:
                setattr(sys, name, router.stream)
        _routers.clear()
        if os.write is _write:
            os.write = _WRITE


def _is_warning() -> bool:
    """Tell whether the module `warnings` writes now."""
    frame = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        if frame.f_globals.get("__name__") == "warnings":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
