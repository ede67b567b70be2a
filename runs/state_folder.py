"""The user's folder for state on this host: logs of errors, and logs of durable runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["STATE_VARIABLE", "make_private_folder", "state_folder"]

STATE_VARIABLE: Final = "SOTTOVOCE_STATE"
"""Names another folder. The default is `sottovoce` in the user's folder for state."""


def state_folder() -> Path:
    """Give the folder; it need not exist."""
    if folder := os.environ.get(STATE_VARIABLE):
        return Path(folder)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "sottovoce"


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
