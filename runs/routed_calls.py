"""Calls that name files, led to the private files of the play that makes them.

Python's `open`, the functions of `os` that take a path, and `sqlite3.connect` have a function in
their place from the first such play on. It leads a play with private files to these, and changes
nothing for everybody else. The functions stay in their place: a play that takes too long is left
behind on its thread, and must not write a file of anybody's then either.

So have `os.chdir` and `os.getcwd`: a process has one working folder, and each such play its own.
What a part does to files beside what it writes there is noted, too: links, times, and what it
removes.

Compiled code and other processes are not led. Threads of a play are (`runs.started_threads`).
"""

from __future__ import annotations

import builtins
import functools
import glob
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from pathlib import Path
from typing import Any, Final, Self

from .private_files import Entry, PrivateFiles, working_folder
from .side_effects import note_effect

__all__ = ["lead_files", "original", "reset_files", "use_files"]

_files: ContextVar[PrivateFiles | None] = ContextVar("_files", default=None)
_is_led: ContextVar[bool] = ContextVar("_is_led", default=False)
"""Whether a call is led already, so that what it calls itself is not."""
_lock: Final = threading.Lock()
_first_open: Final = io.open
_places: Final[set[str]] = set()
"""Modules whose functions have been replaced."""
_LINKS: Final = ("lstat", "readlink")
"""Functions that do not follow a link."""
_READING: Final = ("stat", "lstat", "access", "readlink")
_CHANGING: Final = ("truncate", "chmod", "utime", "chown")
_LISTING: Final = ("scandir", "listdir")
_OF_TWO: Final = ("rename", "replace", "link", "symlink")
_NOTED: Final = frozenset(
    ("remove", "unlink", "rmdir", "chdir", "truncate", "chmod", "utime", "chown", *_OF_TWO)
)
"""Functions whose calls are noted: how they change files is no content that can be compared."""
FILE: Final = "file"
"""The beginning of the name of an act that changes files."""
_first_folder: Final = os.getcwd
_BEFORE_OPENER: Final = 6
"""Arguments of `open` between the file and the opener."""
_KEYWORDS: Final = ("path", "src", "dst", "database", "flags", "mode")
"""Keywords that can be positional arguments, in their order."""
_FOLDERS: Final = ("dir_fd", "src_dir_fd", "dst_dir_fd")
"""Keywords of the open folders from which relative paths begin."""


def use_files(files: PrivateFiles) -> Token[PrivateFiles | None]:
    """Lead what this thread opens to these files, until the result is given to `reset_files`."""
    lead_files()
    return _files.set(files)


def lead_files() -> None:
    """Have the functions in the place of Python's own, if they are not yet."""
    with _lock:
        if "os" not in _places:
            _places.add("os")
            _lead_functions_of_os()
        if "sqlite3" in sys.modules and "sqlite3" not in _places:
            _places.add("sqlite3")
            connect = _led(sys.modules["sqlite3"].connect, _connect)
            for name in ("sqlite3", "sqlite3.dbapi2"):
                setattr(sys.modules[name], "connect", connect)  # noqa: B010 - it is typed


def reset_files(token: Token[PrivateFiles | None]) -> None:
    """Lead the calls of this thread as before."""
    _files.reset(token)


def original(path: Path) -> Path:
    """Give the path for which one in the private folder of this thread's play stands."""
    files = _files.get()
    return path if files is None else files.original(path)


def _lead_functions_of_os() -> None:
    routes: dict[str, Callable[..., Any]] = {
        "open": _opening,
        "mkdir": _making,
        "remove": _removing,
        "unlink": _removing,
        "rmdir": _removing,
        "chdir": _moving,
        **dict.fromkeys(_READING, _reading),
        **dict.fromkeys(_CHANGING, _changing),
        **dict.fromkeys(_LISTING, _listing),
        **dict.fromkeys(_OF_TWO, _of_two),
    }
    supported = [getattr(os, name) for name in dir(os) if name.startswith("supports_")]
    for name, route in routes.items():
        if not hasattr(os, name):
            continue
        function = getattr(os, name)
        led = _led(function, route)
        setattr(os, name, led)
        _lead_in_glob(function, led)
        for functions in supported:
            if isinstance(functions, set) and function in functions:
                functions.add(led)
    os.getcwd, os.getcwdb = _getcwd, _getcwdb
    io.open = builtins.open = _open
    # numpy keeps the function with which it opens texts.
    openers = getattr(sys.modules.get("numpy.lib._datasource"), "_file_openers", None)
    table = getattr(openers, "_file_openers", {})
    table |= {form: _open for form, function in table.items() if function is _first_open}


def _lead_in_glob(function: Callable[..., Any], led: Callable[..., Any]) -> None:
    """Replace a function where classes of `glob` keep it: Python 3.13 lists folders by these."""
    for kind in [value for value in vars(glob).values() if isinstance(value, type)]:
        for name, value in [*vars(kind).items()]:
            if isinstance(value, staticmethod) and value.__func__ is function:
                setattr(kind, name, staticmethod(led))


@functools.wraps(os.getcwd)
def _getcwd() -> str:
    folder = None if _files.get() is None else working_folder.get()
    return _first_folder() if folder is None else folder


@functools.wraps(os.getcwdb)
def _getcwdb() -> bytes:
    return os.fsencode(_getcwd())


@functools.wraps(_first_open)
def _open(file: Any, *arguments: Any, **others: Any) -> Any:
    """Open a file by the function of `os` that is led."""
    has_opener = len(arguments) > _BEFORE_OPENER or others.get("opener") is not None
    is_led = _files.get() is None or _is_led.get() or isinstance(file, int) or has_opener
    return _first_open(file, *arguments, **(others if is_led else {**others, "opener": _opener}))


def _opener(name: str, flags: int) -> int:
    return os.open(name, flags, 0o666)


def _led(function: Callable[..., Any], route: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function that stands in the place of another one."""

    @functools.wraps(function)
    def call(*arguments: Any, **others: Any) -> Any:
        files, name = _files.get(), function.__name__
        if name in _NOTED and not _is_led.get():
            note_effect(FILE, name, *_public(name, arguments, others))
        if files is None or _is_led.get():
            return function(*arguments, **others)
        token = _is_led.set(True)
        try:
            positional, rest = _paths_of(files, [*arguments], others)
            if route is not _connect:
                paths = range(name == "symlink", min(len(positional), 1 + (name in _OF_TWO)))
                for number in paths:
                    if not isinstance(positional[number], int):
                        positional[number] = files.within(positional[number])
            is_open = bool(positional) and isinstance(positional[0], int)
            if is_open and route not in (_listing, _moving):
                return function(*arguments, **others)
            return route(files, functools.partial(function, **rest), name, *positional)
        finally:
            _is_led.reset(token)

    call.__module__ = "os" if hasattr(os, call.__name__) else function.__module__
    return call


def _public(name: str, arguments: tuple[Any, ...], others: dict[str, Any]) -> list[Any]:
    """Give what a call changes, without numbers of open files: paths from the root on."""
    count = 1 + (name in _OF_TWO)
    is_in_folder = any(others.get(keyword) is not None for keyword in _FOLDERS)
    noted: list[Any] = [value for key, value in others.items() if key not in _FOLDERS]
    for number, argument in enumerate(arguments):
        if number >= count or (name, number) == ("symlink", 0):
            noted.append(argument)
        elif not isinstance(argument, int):
            path = os.fsdecode(argument)
            noted.append(path if is_in_folder else str(Path.cwd() / path))
    return noted


def _paths_of(
    files: PrivateFiles, arguments: list[Any], others: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Give the paths of a call as positional arguments from the root on, and other keywords."""
    others = dict(others)
    arguments += [others.pop(keyword) for keyword in _KEYWORDS if keyword in others]
    for keyword in _FOLDERS:
        folder = others.pop(keyword, None)
        if folder is not None:
            number = int(keyword == "dst_dir_fd")
            arguments[number] = _path_of(files, folder) / os.fsdecode(arguments[number])
    return arguments, others


def _path_of(files: PrivateFiles, folder: int) -> Path:
    """Give the path of an open folder."""
    return files.original(Path(f"/proc/self/fd/{folder}").readlink())


class _Listing:
    """What `os.scandir` returns."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = iter([*entries])

    def __iter__(self) -> Iterator[Entry]:
        return self._entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the listing."""
        self._entries = iter(())


def _listing(files: PrivateFiles, _: object, name: str, path: Any = ".") -> Any:
    path = "." if path is None else _path_of(files, path) if isinstance(path, int) else path
    entries = files.entries(path)
    return _Listing(entries) if name == "scandir" else [entry.name for entry in entries]


def _moving(files: PrivateFiles, _: object, name: str, path: Any) -> None:  # noqa: ARG001
    if isinstance(path, int):
        path = _path_of(files, path)
    files.enter(path)


def _reading(
    files: PrivateFiles, call: functools.partial[Any], name: str, path: Any, *rest: Any
) -> Any:
    follows = name not in _LINKS and call.keywords.get("follow_symlinks", True)
    return call(files.reading(path, follows=follows), *rest)


def _changing(files: PrivateFiles, call: Callable[..., Any], _: str, path: Any, *rest: Any) -> Any:
    return call(files.writing(path), *rest)


def _opening(
    files: PrivateFiles, call: Callable[..., Any], _: str, path: Any, flags: int, *rest: Any
) -> Any:
    return call(files.opening(path, flags), flags, *rest)


def _making(files: PrivateFiles, call: Callable[..., Any], _: str, path: Any, *rest: Any) -> Any:
    return call(files.making(path), *rest)


def _removing(files: PrivateFiles, call: Callable[..., Any], name: str, path: Any) -> None:
    place = (files.removing_folder if name == "rmdir" else files.removing)(path)
    if place is not None:
        call(place)


def _of_two(
    files: PrivateFiles, call: Callable[..., Any], name: str, source: Any, target: Any, *rest: Any
) -> None:
    if name != "symlink":  # of which the first is a text, and no file that is changed
        source = files.writing(source, follows=False)
    call(source, files.writing(target, keeps=False, follows=False), *rest)


def _connect(
    files: PrivateFiles, call: Callable[..., Any], _: str, database: Any, *rest: Any
) -> Any:
    is_file = isinstance(database, str | os.PathLike) and str(database) not in ("", ":memory:")
    return call(files.writing(database) if is_file else database, *rest)
