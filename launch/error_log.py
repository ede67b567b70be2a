"""The log of errors that stay at home: the whole text of an error, on the host of its rank.

What mpiexec forwards is read by whoever started the run. So the text of an error that may hold data
is written to a file that only the rank's own user can read, and the line for the starter names it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Final

from ..runs.failure import FailureText
from ..runs.state_folder import state_folder

__all__ = ["LOG_VARIABLE", "keep_at_home"]

LOG_VARIABLE: Final = "SOTTOVOCE_LOG"
"""Names the folder of the logs. The default is `sottovoce` in the user's folder for state."""


def keep_at_home(text: FailureText, *, rank: int) -> str:
    """Write an error's whole text to the log of this host; give the public line, which names it."""
    if text.is_public:
        return text.public
    host = platform.node()
    try:
        place = f"is in {_write(text, rank=rank)} on {host}"
    except OSError as error:
        place = f"could not be written on {host}: {error.strerror}; set {LOG_VARIABLE} there"
    way_out = "on one machine, --tell-errors or --transport threads shows it"
    return f"{text.public} (the whole text may hold data and {place}; {way_out})"


def _write(text: FailureText, *, rank: int) -> Path:
    """Write a new file, in the folder for logs or, where that cannot be written, a temporary one.

    Raises:
        OSError: Neither can be written.
    """
    content = f"{text.traceback}{text.line}\n"
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-rank-{rank}-{os.getpid()}.log"
    with contextlib.suppress(OSError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _new_file(folder / name, content)
    return _new_file(Path(tempfile.mkdtemp(prefix="sottovoce-")) / name, content)


def _new_file(path: Path, content: str) -> Path:
    """Write a file that did not exist and that nobody but its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
            file.write(content)
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return path.absolute()


def _folder() -> Path:
    folder = os.environ.get(LOG_VARIABLE)
    return Path(folder) if folder else state_folder()
