"""Folders of durable runs on this host: one for each run, and within it one for each role."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from ..messages import CURATOR
from .state_folder import state_folder

__all__ = ["folders_in", "remove_place", "remove_role_place", "role_place", "run_place"]


def run_place(run: str) -> Path:
    """Give the folder of a durable run on this host."""
    return state_folder() / "durable" / run


def folders_in(place: Path) -> list[Path]:
    """List the folders in a place; none if it is not there."""
    try:
        return [path for path in place.iterdir() if path.is_dir()]
    except OSError:
        return []


def role_place(run: str, rank: int) -> Path:
    """Give the folder of one role."""
    return run_place(run) / ("curator" if rank == CURATOR else f"party-{rank}")


def remove_role_place(run: str, rank: int) -> None:
    """Remove a role's place, of a run that has succeeded."""
    remove_place(role_place(run, rank))


def remove_place(folder: Path) -> None:
    """Remove a folder with a key, first the key; and the folder around it if it is empty.

    It has another name first. So there is no moment at which a log lacks its key.
    """
    hidden = folder.with_name(f".{folder.name}")
    with contextlib.suppress(OSError):
        shutil.rmtree(hidden, ignore_errors=True)
        folder.rename(hidden)
    with contextlib.suppress(OSError):
        (hidden / "key").unlink()
    shutil.rmtree(hidden, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
