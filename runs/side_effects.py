"""What a part does to its machine beside messages: it sleeps, starts programs, connects, and more.

Each such act is noted under a name that says what was done: `sleep 0.25`, `program ['ls']`. A
replay on the same records does the same acts, but for those that hang on a clock or on random
numbers. An act that all plays on the same records have in common, and that a replay on other
records has not, depends on records. So does one more act, where plays on the same records agree in
all.

What a program or another process does cannot be compared, nor what goes through a connection. That
there are such is a remark. The calls that make an act are the author's where its module comes
before one of sottovoce's on the stack, or where the part has started the thread.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, Token
from pathlib import Path
from types import FrameType
from typing import Any, Final

from ..privacy.exact import mark_exact
from .instance import is_own_module

__all__ = [
    "SideEffects",
    "current_effects",
    "forget_effects",
    "is_authors",
    "is_of_a_part",
    "line_of_author",
    "note_effect",
    "note_effects",
]

STANDING_IN: Final = frozenset(
    f"{__name__.rpartition('.')[0]}.{name}"
    for name in (
        "exit_calls",
        "log_handlers",
        "routed_calls",
        "side_effects",
        "started_programs",
        "started_threads",
        "waits",
    )
) | {mark_exact.__module__}
"""Modules whose functions stand in the place of Python's and NumPy's own."""
PROGRAMS: Final = ("subprocess.Popen", "os.exec", "os.posix_spawn", "pty.spawn")
FORKS: Final = ("os.fork", "os.forkpty")
CONNECTIONS: Final = (
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.bind",
    "socket.getaddrinfo",
    "socket.gethostbyname",
)
_WITH_SOCKET: Final = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind")
"""Events whose first argument is the socket itself."""

_effects: ContextVar[SideEffects | None] = ContextVar("_effects", default=None)
_is_hooked: Final = threading.Lock()


class SideEffects:
    """The acts of one play, each with how often it was done."""

    def __init__(self, packages: Collection[str] = (), *, shown: bool = True) -> None:
        self.packages = frozenset(packages)
        """The author's packages."""
        self.shown = shown
        """Whether anybody sees what it prints."""
        self.acts: Counter[str] = Counter()
        self.threads: list[threading.Thread] = []
        """Threads that it has started."""
        self.calls: list[Future[Any]] = []
        """Calls that it has handed to pools of threads."""
        self.has_threads = False
        self.leaves_threads = False
        """Whether threads of it go on when the part has ended."""
        self.starts_processes = False
        self.connects = False
        self.registers = False
        """Whether it leaves functions that are called when the program ends."""

    def note(self, kind: str, *what: object) -> None:
        """Note an act."""
        self.acts[f"{kind} {', '.join(map(_text, what))}"] += 1


def note_effects(effects: SideEffects) -> Token[SideEffects | None]:
    """Note what this thread does, until the result is given to `forget_effects`."""
    if _is_hooked.acquire(blocking=False):  # for good: a hook cannot be taken away
        sys.addaudithook(_hook)
    return _effects.set(effects)


def forget_effects(token: Token[SideEffects | None]) -> None:
    """Note nothing any more."""
    _effects.reset(token)


def note_effect(kind: str, *what: object) -> None:
    """Note an act of a function that stands in the place of one of Python's."""
    effects = _effects.get()
    if effects is not None and is_authors(effects.packages, depth=2):
        effects.note(kind, *what)


def current_effects() -> SideEffects | None:
    """Give what notes this thread's acts, if its part is another author's."""
    effects = _effects.get()
    return effects if effects is not None and effects.packages else None


def is_authors(packages: Collection[str], *, depth: int = 1) -> bool:
    """Tell whether the author's code makes this call, and neither sottovoce's nor an import."""
    frame: FrameType | None = sys._getframe(depth + 1)  # noqa: SLF001
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] in packages:
            return True
        if name.startswith("importlib._bootstrap"):
            return False
        if is_own_module(name) and name not in STANDING_IN:
            return False
        frame = frame.f_back
    return bool(packages) and is_of_a_part(threading.current_thread())


def line_of_author(packages: Collection[str], *, depth: int = 1) -> tuple[str, int] | None:
    """Give the file and line of the author's code that is nearest on the stack, if there is any."""
    frame: FrameType | None = sys._getframe(depth + 1)  # noqa: SLF001
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def is_of_a_part(thread: threading.Thread) -> bool:
    """Tell whether the code of a part has started a thread (`runs.started_threads`)."""
    return getattr(thread, "is_of_a_part", False)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    # Most events are others, and this is called for each.
    if not event.startswith(("subprocess.", "os.", "pty.", "socket.")):
        return
    if event not in _KINDS:
        return
    effects = _effects.get()
    if effects is None or not effects.packages or not is_authors(effects.packages):
        return
    kind = _KINDS[event]
    if kind == "connection" and _is_of_processes():
        kind = "process"
    if kind == "connection":
        effects.connects = True
        what = arguments[1:] if event in _WITH_SOCKET else arguments[:2]
        effects.note(event, *what)
    else:
        effects.starts_processes = True
        effects.note(kind, *([] if kind == "process" else arguments))


def _is_of_processes() -> bool:
    """Tell whether Python's own module for processes makes the call."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "multiprocessing":
            return True
        frame = frame.f_back
    return False


def _text(value: object) -> str:
    """Write an argument so that equal ones have equal texts, without an address in memory."""
    if isinstance(value, Mapping):
        pairs = sorted((_text(key), _text(held)) for key, held in value.items())
        return f"{{{', '.join(f'{key}: {held}' for key, held in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Path | str | bytes | int | float | None):
        return repr(value)
    return type(value).__name__


_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(PROGRAMS, "program"),
    **dict.fromkeys(FORKS, "process"),
    **dict.fromkeys(CONNECTIONS, "connection"),
}
