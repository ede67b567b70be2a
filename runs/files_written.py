"""Files that a part opens: what it writes there, and which ones it reads beside its records.

A file outlives a part. A later play can send what an earlier one has written, and other roles of
the machine can read it without a message. So what a part writes is compared with what its replays
write. A file that a replay has made is removed, and a rehearsal removes those of its play, too. So
a file of an earlier play hides nothing in a rehearsal. That a part reads files by itself is a
remark, as no replay changes them.

Python tells of every file that is opened by its audit hooks. The code that opens it is the author's
where the author's module comes before one of sottovoce's on the stack: a log that sottovoce keeps
of a role is not the part's. Compiled modules that Python itself keeps are left out.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import threading
from collections.abc import Collection, Mapping
from contextvars import ContextVar, Token
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from .instance import is_own_module

__all__ = ["OpenedFiles", "forget_opened", "note_opened"]

MAX_COMPARED: Final = 1 << 26
"""Bytes of a file that are compared."""
MAX_KEPT: Final = 1 << 24
"""Bytes of a file that are kept, to be put back after replays."""
WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
SYSTEMS: Final = [
    *{Path(path).resolve() for path in sysconfig.get_paths().values()},
    *map(Path, ("/dev", "/etc", "/proc", "/sys", "/usr")),
]
"""Folders of Python, of packages and of the system, in which nothing is a part's own."""

_opened: ContextVar[OpenedFiles | None] = ContextVar("_opened", default=None)
_is_hooked = threading.Lock()


class OpenedFiles:
    """Files that the code of some packages opens."""

    def __init__(self, packages: Collection[str] = ()) -> None:
        self.packages = frozenset(packages)
        """The author's packages."""
        self.read: dict[Path, None] = {}
        """Files that are only read."""
        self.written: Mapping[Path, bytes] = MappingProxyType({})
        """Digests of what was written, once the part has ended."""
        self._before: dict[Path, int | None] = {}
        """Files that are written, with the place from which on; `None` if the file is new."""
        self._kept: dict[Path, bytes] = {}

    def note(self, name: str, *, writes: bool, appends: bool) -> None:
        """Note that a file is about to be opened."""
        path = Path(name).resolve()
        if path in self._before or "__pycache__" in path.parts or path.parts[1:2] == ("dev",):
            return
        if not writes:
            if path.suffix != ".py" and not any(map(path.is_relative_to, SYSTEMS)):
                self.read[path] = None
            return
        exists = path.exists()
        self._before[path] = (path.stat().st_size if appends else 0) if exists else None

    def close(self) -> None:
        """Read what was written, when the part has ended."""
        self.written = {path: self._digest(path) for path in self._before}
        self._kept = {
            path: path.read_bytes()
            for path in self._before
            if path.is_file() and path.stat().st_size <= MAX_KEPT
        }

    def put_back(self) -> None:
        """Write the files as they were when the part had ended, as replays have changed them."""
        for path, content in self._kept.items():
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)

    def remove_new(self) -> None:
        """Remove the files that the part itself has made."""
        for path, size in self._before.items():
            if size is None and path.is_file():
                path.unlink()

    def _digest(self, path: Path) -> bytes:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            file.seek(self._before[path] or 0)
            return hashlib.sha256(file.read(MAX_COMPARED)).digest()


def note_opened(files: OpenedFiles) -> Token[OpenedFiles | None]:
    """Note the files that this thread opens, until the result is given to `forget_opened`."""
    if _is_hooked.acquire(blocking=False):  # for good: a hook cannot be taken away
        sys.addaudithook(_hook)
    return _opened.set(files)


def forget_opened(token: Token[OpenedFiles | None]) -> None:
    """Note no files any more."""
    files = _opened.get()
    _opened.reset(token)
    if files is not None:
        files.close()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("open", "os.rename", "sqlite3.connect"):
        return
    files = _opened.get()
    if files is None or not files.packages or not _is_authors(files.packages):
        return
    if event == "open":
        name, _, flags = arguments
        writes, appends = bool(flags & WRITES), bool(flags & os.O_APPEND)
    else:
        name, writes, appends = arguments[event == "os.rename"], True, False
    if isinstance(name, str | bytes | os.PathLike):
        files.note(os.fsdecode(name), writes=writes, appends=appends)


def _is_authors(packages: Collection[str]) -> bool:
    """Tell whether the author's code opens it, and neither sottovoce's nor an import."""
    frame = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if is_own_module(name) or name.startswith("importlib._bootstrap"):
            return False
        if name.partition(".")[0] in packages:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
