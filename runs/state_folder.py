"""The user's folder for state on this host: logs of errors and of durable runs, a calibration."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from ..messages import ConversationError, UsageError

__all__ = [
    "STATE_VARIABLE",
    "keep_private",
    "make_private_folder",
    "state_folder",
    "sync_folder",
    "write_private",
]

STATE_VARIABLE: Final = "SOTTOVOCE_STATE"
"""Names another folder. The default is `sottovoce` in the user's folder for state."""


def state_folder() -> Path:
    """Give the folder; it need not exist."""
    if folder := os.environ.get(STATE_VARIABLE):
        return Path(folder)
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state) / "sottovoce"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a name and without HOME, as in some containers
        home = Path("/")
    return home / ".local" / "state" / "sottovoce"


def make_private_folder(folder: Path) -> None:
    """Make a folder within the state folder that only its owner can read, and those around it.

    Raises:
        OSError: it cannot be made.
    """
    state = state_folder()
    state.mkdir(parents=True, exist_ok=True)
    for part in reversed([folder, *folder.parents]):
        if part.is_relative_to(state) and part != state:
            part.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read onto the disk, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UsageError(
            f"expected to write {path}, found {error.strerror}: make room, or "
            f"set {STATE_VARIABLE} to another folder"
        ) from None


def keep_private(path: Path, data: bytes) -> None:
    """Write such a file in a run that has begun, so that it is no mistake of whoever started it.

    Raises:
        ConversationError: it cannot be written.
    """
    try:
        write_private(path, data)
    except UsageError as error:
        raise ConversationError(*error.parts) from None


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk.

    Raises:
        OSError: the folder cannot be read.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
