"""One run at a time into a folder: a lock that leaves no file, and ends with its process."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..messages import UsageError

__all__ = ["FolderTakenError", "one_writer"]

CREDENTIALS: Final = struct.Struct("3i")
"""Linux's answer to who is at the other end: process, user and group."""
CONNECT_SECONDS: Final = 1.0


class FolderTakenError(UsageError):
    """Another run is going to write into the folder."""


@contextlib.contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; it need not exist.

    The lock is a local socket without a file, whose name follows from the folder's path. It holds
    among the processes of one host, and on Linux only.

    Raises:
        FolderTakenError: Another process holds the folder.
    """
    if sys.platform != "linux":
        yield
        return
    digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    name = f"\0sottovoce-{os.getuid()}-{digest}"
    with socket.socket(socket.AF_UNIX) as lock:
        try:
            lock.bind(name)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise FolderTakenError(
                f"expected one run at a time into {folder}, found another at work there"
                f"{_holder(name)}: wait for its end, or choose another --out"
            ) from None
        lock.listen()
        yield


def _holder(name: str) -> str:
    """Name the process that holds a lock, as far as it is known."""
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.settimeout(CONNECT_SECONDS)
        probe.connect(name)
        answer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        return f" (process {CREDENTIALS.unpack(answer)[0]})"
    return ""
