"""What durable runs have left on this host, whoever started them and with whichever version.

A run that has stopped leaves a folder until it goes on or is forgotten. On the starter's host it
has a description (`runs.unfinished`). On other hosts there are the places of roles alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from .finding_runs import describe_run
from .one_writer import FolderTakenError, one_writer
from .role_places import folders_in, remove_place, run_place
from .state_folder import state_folder
from .unfinished import UnfinishedRun

__all__ = ["LeftRun", "forget_roles", "left_runs", "old_runs"]

NAME_FORMAT: Final = "%Y%m%d-%H%M%S"
NAME_LENGTH: Final = len("20250301-120000")


class LeftRun(NamedTuple):
    """What one run has left on this host."""

    run: str
    began: datetime | None
    roles: list[str]
    """Names of the folders of roles here."""
    size: int
    """Bytes of all files."""
    version: str
    """The version of sottovoce that began it; empty where another host has the description."""
    folder: str
    """The folder of its results; empty where another host has the description."""
    description: UnfinishedRun | None
    """The run, where this version began it on this host."""
    is_running: bool


def left_runs() -> list[LeftRun]:
    """List what runs have left on this host, by their names, which begin with the time."""
    try:
        places = sorted(path for path in (state_folder() / "durable").iterdir() if path.is_dir())
    except OSError:
        return []
    return [*filter(None, map(_look_at, places))]


def old_runs(*, before: datetime) -> list[LeftRun]:
    """List runs that began before a moment and do not run any more."""
    return [
        left
        for left in left_runs()
        if not left.is_running and left.began is not None and left.began < before
    ]


def forget_roles(run: str) -> bool:
    """Remove what roles of a run that another host started have left here; tell whether any had.

    Roles that are at work are left alone.
    """
    place = run_place(run)
    is_name = place.parent == state_folder() / "durable" and run not in ("", ".", "..")
    left = _look_at(place) if is_name and place.is_dir() else None
    if left is None or left.version or left.is_running:
        return False
    for folder in folders_in(place):
        remove_place(folder)
    with contextlib.suppress(OSError):
        place.rmdir()
    return True


def _look_at(place: Path) -> LeftRun | None:
    files = [path for path in place.rglob("*") if path.is_file()]
    if not files:
        return None
    version, folder, description = describe_run(place)
    return LeftRun(
        run=place.name,
        began=_began(place.name),
        roles=sorted(path.name for path in folders_in(place)),
        size=sum(_sizes(files)),
        version=version,
        folder=folder,
        description=description,
        is_running=(bool(folder) and _is_taken(Path(folder)))
        or any(map(_is_written, place.glob("*/log"))),
    )


def _sizes(files: list[Path]) -> Iterator[int]:
    for path in files:
        with contextlib.suppress(OSError):
            yield path.stat().st_size


def _began(run: str) -> datetime | None:
    try:
        return datetime.strptime(run[:NAME_LENGTH], NAME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def _is_taken(folder: Path) -> bool:
    """Tell whether a launcher is going to write results into a folder."""
    try:
        with one_writer(folder):
            return False
    except FolderTakenError:
        return True


def _is_written(log: Path) -> bool:
    """Tell whether a role holds its log."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
