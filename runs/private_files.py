"""Files as one play sees and changes them: what it writes lies in a folder of its own.

A file is copied there before the play changes it, and is read there from then on. What the play
removes is absent for it alone. So no play that is repeated changes a file of anybody's, and each
one finds the files as the first has found them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

__all__ = ["Entry", "PrivateFiles", "working_folder"]

MAX_COPIED: Final = 1 << 26
"""Bytes of a file that are copied before something is appended to it."""
DEVICES: Final = ("/dev/", "/proc/", "/sys/")
FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
"""Flags with which a file is opened to be changed."""
Name = str | bytes | os.PathLike[Any]


working_folder: Final[ContextVar[str | None]] = ContextVar("working_folder", default=None)
"""The folder in which a play works, if it is not that of the process.

Roles that share files on one machine have a process each there, so this is no attribute of files.
"""


class Entry:
    """A file of a folder, as `os.scandir` gives it, under the name by which it was asked for."""

    def __init__(self, entry: os.DirEntry[str], folder: str) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = os.path.join(folder, entry.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> str:
        return self.path


class PrivateFiles:
    """The folder of one play, and which files it decides of."""

    def __init__(self, *, absent: Iterable[Path] = ()) -> None:
        """Begin without copies; `absent` are files that the play does not find."""
        self._lock = threading.RLock()  # threads of the play open files, too
        self._decided = {*map(str, absent)}
        # Known before the play, which may hold the lock of `tempfile` when it opens its first file.
        self._parent = os.path.realpath(tempfile.gettempdir())
        self._folder: str | None = None
        self._is_over = False

    def close(self) -> None:
        """Remove the folder. What goes on without having ended can write nothing any more."""
        self._is_over = True
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def original(self, path: Path) -> Path:
        """Give the path for which one in the folder stands; others stand for themselves."""
        if self._folder is None or not path.is_relative_to(self._folder):
            return path
        return Path("/", path.relative_to(self._folder))

    def within(self, name: Name) -> Name:
        """Give a path from the root on, if the play works in another folder than the process."""
        folder = working_folder.get()
        return name if folder is None else os.path.join(folder, os.fsdecode(name))

    def enter(self, name: Name) -> None:
        """Let the play work in another folder. The process stays where it is."""
        place = self.reading(name)
        if not os.path.isdir(place):
            os.stat(place)  # an error, if it is not there
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        working_folder.set(_absolute(name))

    def reading(self, name: Name, *, follows: bool = True) -> Name:
        """Give the place at which a file is read."""
        path = _absolute(name, follows=follows)
        return self._copy_of(path) if self._is_decided(path) else name

    def writing(
        self, name: Name, *, keeps: bool = True, appends: bool = False, follows: bool = True
    ) -> Name:
        """Give the place at which a file is changed, with a copy of what it holds if it `keeps` it.

        Of a long file to which something is appended only the length is kept.
        """
        path = _absolute(name, follows=follows)
        if path.startswith(DEVICES):
            return name
        with self._lock:
            copy = self._copy_of(path)
            self._make_folder_of(path)
            if self._is_decided(path):
                return copy
            if keeps and os.path.lexists(path):
                _copy(path, copy, length_alone=appends)
            self._decided.add(path)
        return copy

    def opening(self, name: Name, flags: int) -> Name:
        """Give the place at which a file is opened."""
        if not flags & FLAGS:
            return self.reading(name)
        return self.writing(name, keeps=not flags & os.O_TRUNC, appends=bool(flags & os.O_APPEND))

    def making(self, name: Name) -> Name:
        """Give the place at which a folder is made."""
        path = _absolute(name, follows=False)
        is_there = not self._is_decided(path) and os.path.lexists(path)
        return name if is_there else self.writing(name, follows=False)

    def removing(self, name: Name) -> Name | None:
        """Give the place at which a file or a link is removed; `None` if it is removed by this."""
        path = _absolute(name, follows=False)
        if self._is_decided(path):
            return self._copy_of(path)
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        if is_folder or not os.path.lexists(path):
            return name  # an error
        self._decided.add(path)
        return None

    def removing_folder(self, name: Name) -> Name | None:
        """Give the place at which a folder is removed; `None` if it is removed by this."""
        path = _absolute(name, follows=False)
        if self._is_decided(path):
            return self._copy_of(path)
        if not os.path.isdir(path):
            return name  # an error
        if any(True for _ in self.entries(path)):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), name)
        if self._folder is not None:
            shutil.rmtree(self._copy_of(path), ignore_errors=True)
        self._decided.add(path)
        return None

    def entries(self, name: Name) -> Iterator[Entry]:
        """List the files of a folder."""
        folder, path = os.fsdecode(name), _absolute(name)
        if not self._is_decided(path):
            with os.scandir(path) as entries:
                yield from (
                    Entry(entry, folder)
                    for entry in entries
                    if os.path.join(path, entry.name) not in self._decided
                )
        elif self._folder is None or not os.path.isdir(self._copy_of(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        if self._folder is None or not os.path.isdir(self._copy_of(path)):
            return
        with os.scandir(self._copy_of(path)) as entries:
            yield from (
                Entry(entry, folder)
                for entry in entries
                if self._is_decided(os.path.join(path, entry.name))
            )

    def _is_decided(self, path: str) -> bool:
        """Tell whether the folder alone says what there is at a path."""
        while path not in self._decided:
            parent = os.path.dirname(path)
            if parent == path or not self._decided:
                return False
            path = parent
        return True

    def _copy_of(self, path: str) -> str:
        if self._is_over:
            raise OSError(errno.EBADF, "this play was ended")
        with self._lock:
            if self._folder is None:
                folder = os.path.join(self._parent, f"sottovoce-replay-{secrets.token_hex(16)}")
                os.mkdir(folder, 0o700)
                self._folder = folder
        return self._folder + path

    def _make_folder_of(self, path: str) -> None:
        """Make the folder in which a copy lies, if the file's own folder is there."""
        parent = os.path.dirname(path)
        if not self._is_decided(parent) and os.path.isdir(parent):
            os.makedirs(self._copy_of(parent), exist_ok=True)


def _absolute(name: Name, *, follows: bool = True) -> str:
    """Give a path from the root on, without links; a link itself stays unless it is followed."""
    path = os.path.abspath(os.fsdecode(name))
    if follows:
        return os.path.realpath(path)
    folder, last = os.path.split(path)
    return os.path.join(os.path.realpath(folder), last)


def _copy(path: str, copy: str, *, length_alone: bool) -> None:
    if os.path.islink(path):
        os.symlink(os.readlink(path), copy)
    elif os.path.isdir(path):
        shutil.copytree(path, copy, symlinks=True, dirs_exist_ok=True)
    elif length_alone and os.path.getsize(path) > MAX_COPIED:
        with open(copy, "wb") as file:
            file.truncate(os.path.getsize(path))
    else:
        with contextlib.suppress(shutil.SpecialFileError):  # a pipe, say
            shutil.copy2(path, copy)
