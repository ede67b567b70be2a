"""Files that a part opens: what it writes there, and which ones it reads beside its records.

A file outlives a part. A later play can send what an earlier one has written, and other roles of
the machine can read it without a message. So what a part writes is compared with what its replays
write. Replays and rehearsals write into folders of their own (`runs.private_files`), and a replay
does not find the files that the part has made. That a part reads other files by itself is a remark,
as they are the same in every replay.

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

from .routed_calls import original
from .side_effects import is_authors

__all__ = ["OpenedFiles", "forget_opened", "note_opened"]

MAX_COMPARED: Final = 1 << 26
"""Bytes of a file that are compared."""
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

    @property
    def new(self) -> list[Path]:
        """Files and folders that the part itself has made."""
        return [path for path, size in self._before.items() if size is None]

    def note(self, name: str, *, writes: bool, appends: bool) -> None:
        """Note that a file is about to be opened."""
        place = Path(name).resolve()
        path = original(place)
        if path in self._before or "__pycache__" in path.parts or path.parts[1:2] == ("dev",):
            return
        if not writes:
            # A folder is opened to remove what it holds, say.
            is_code = path.suffix == ".py" or any(map(path.is_relative_to, SYSTEMS))
            if not (is_code or place.is_dir()):
                self.read[path] = None
            return
        self._before[path] = (place.stat().st_size if appends else 0) if place.exists() else None

    def is_open(self, name: str) -> bool:
        """Tell whether the part has opened a file to write it."""
        return original(Path(name).resolve()) in self._before

    def note_folder(self, name: str) -> None:
        """Note that a folder is about to be made."""
        place = Path(name).resolve()
        if not place.exists():
            self._before.setdefault(original(place), None)

    def close(self) -> None:
        """Read what was written, when the part has ended."""
        self.written = {path: self._digest(path) for path in self._before}

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
    if event not in ("open", "os.rename", "os.mkdir", "sqlite3.connect"):
        return
    files = _opened.get()
    if files is None or not files.packages or not is_authors(files.packages):
        return
    if event == "open":
        name, _, flags = arguments
        writes, appends = bool(flags & WRITES), bool(flags & os.O_APPEND)
    else:
        name, writes, appends = arguments[event == "os.rename"], True, False
    if event == "os.mkdir":
        files.note_folder(os.fsdecode(name))
    elif isinstance(name, str | bytes | os.PathLike):
        files.note(os.fsdecode(name), writes=writes, appends=appends)
