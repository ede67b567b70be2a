"""The first thing a rank does: connect to its launcher, so that it ends when the launcher is gone.

A rank imports libraries and starts MPI for seconds, and MPI may hold the interpreter's lock. So the
kernel watches the connection: a signal, whose default is to end the process, says that the
launcher has closed it. Later the lifeline's thread watches. On several hosts the kernel watches
once more at the end, when ranks wait inside MPI for each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
from typing import Final

__all__ = ["JOB_VARIABLE", "hold", "hold_to", "let_go", "notice_silent_cut"]

JOB_VARIABLE: Final = "SOTTOVOCE_JOB"
LOCALHOST: Final = ["127.0.0.1"]
UNREACHABLE_AFTER: Final = 60
"""Seconds without any answer of a launcher's host after which it counts as gone."""


def hold() -> socket.socket | None:
    """Connect to a launcher on this host; `None` where it is on another one.

    This process ends when the launcher is gone.
    """
    address = json.loads(os.environ[JOB_VARIABLE])["lifeline"]
    if address["hosts"] != LOCALHOST or not hasattr(os, "O_ASYNC"):
        return None
    try:
        connection = socket.create_connection((LOCALHOST[0], address["port"]))
    except ConnectionRefusedError:
        sys.exit(3)
    hold_to(connection)
    return connection


def hold_to(connection: socket.socket) -> None:
    """Let the kernel end this process when the other side closes the connection."""
    descriptor = connection.fileno()
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
    if _is_closed(connection):
        sys.exit(3)


def let_go(connection: socket.socket) -> None:
    """End the kernel's watch, when the lifeline's thread begins to watch."""
    descriptor = connection.fileno()
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~os.O_ASYNC)


def notice_silent_cut(connection: socket.socket) -> None:
    """Let the kernel close a connection whose other end does not answer any more."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", UNREACHABLE_AFTER // 2),
        ("TCP_KEEPINTVL", UNREACHABLE_AFTER // 6),
        ("TCP_KEEPCNT", 3),
    ):
        if (option := getattr(socket, name, None)) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _is_closed(connection: socket.socket) -> bool:
    """Whether the launcher closed the connection before the kernel watched it."""
    try:
        return connection.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
