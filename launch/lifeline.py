"""The lifeline: one TCP connection from every rank to the process that launched it.

It carries typed events: the start of a rank, its position, its failure, its result. While it is
open, both ends live. A rank whose launcher is gone ends itself. The launcher sees at once which
rank is lost, whatever mpiexec prints. A rank sends the run's token first, and a connection without
the token is closed.

A frame is a length of 8 bytes (little-endian) and then msgpack. Of a protocol's data only what is
published passes here.
"""

from __future__ import annotations

import contextlib
import os
import platform
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from ..messages import Position
from .hold import hold_to, let_go, notice_silent_cut
from .rank_events import Beat, Event, Move, Start

__all__ = ["KEPT", "LOCALHOST", "Address", "Lifeline"]

LOCALHOST: Final = ("127.0.0.1",)
"""Where the launcher listens if all ranks are on its host."""
CHECK_EVERY: Final = 0.2
"""Seconds between two checks of the role's position, and of mpiexec."""
BEAT_EVERY: Final = 1.0
"""Seconds between two signs of life of a rank that stays where it is."""
KEPT: Final = b"k"
"""The only byte that a launcher sends: the run's result is kept."""


class Address(msgspec.Struct, frozen=True):
    """Where the launcher listens, and the token that proves that a rank belongs to this run."""

    hosts: tuple[str, ...]
    port: int
    token: str


def _pack(event: Event) -> bytes:
    data = msgspec.msgpack.encode(event)
    return len(data).to_bytes(8, "little") + data


class Lifeline:
    """A rank's end: a thread that sends the role's position and watches the launcher.

    It ends the process when the launcher or mpiexec is gone.
    """

    def __init__(
        self,
        address: Address | None,
        *,
        rank: int,
        die: Callable[[], None],
        held: socket.socket | None = None,
    ) -> None:
        """Connect to the launcher, or take over a connection that the rank has held so far."""
        self._rank = rank
        self._die = die
        self._parent = os.getppid()
        self._lock = threading.Lock()
        self._socket = None if address is None else held or _connect(address)
        self._is_near = address is None or address.hosts == LOCALHOST
        if held is not None:
            let_go(held)
        self.position: Callable[[], Position] | None = None
        if address is not None:
            self.send(Start(rank, os.getpid(), platform.node(), address.token))
        self._is_kept = False
        self._alarm, self._asleep = socket.socketpair()  # To close it ends the thread.
        self._thread = threading.Thread(target=self._watch, name="lifeline", daemon=True)
        self._thread.start()

    def send(self, event: Event) -> None:
        """Send an event. If the launcher is gone, the thread notices it."""
        if self._socket is not None:
            with self._lock, contextlib.suppress(OSError):
                self._socket.sendall(_pack(event))

    def close(self) -> None:
        """Stop watching: from now on the rank outlives its launcher."""
        with contextlib.suppress(OSError):  # It is closed already.
            self._alarm.shutdown(socket.SHUT_RDWR)
        self._alarm.close()
        self._thread.join()

    def hold(self) -> None:
        """Let the kernel watch at the end, where ranks of other hosts may be waited for in vain.

        On one host any rank that dies ends the others (`rank_ends.die`).
        """
        self.close()
        if self._socket is not None and not self._is_near:
            self._socket.settimeout(None)
            hold_to(self._socket)
            self._socket.detach()  # It stays open until the process has ended.

    def await_keeping(self, *, meanwhile: Callable[[], object] = lambda: None) -> bool:
        """Wait until the launcher has kept the run's result, and tell whether it has.

        The rank watches no longer: it does not end when its launcher does. The wait lasts until the
        launcher closes the connection, or its host has not answered for some time. `meanwhile` is
        called again and again.
        """
        self.close()
        if self._socket is None:
            return False
        notice_silent_cut(self._socket)
        self._socket.settimeout(CHECK_EVERY)
        while not self._is_kept:
            try:
                return self._socket.recv(1) == KEPT
            except TimeoutError as error:
                if error.errno is not None:  # The kernel's, about the connection.
                    return False
                meanwhile()
            except OSError:
                return False
        return True

    def _watch(self) -> None:
        """Wait on the connection, so that the rank notices at once that its launcher has ended.

        It then removes its shared memory (`rank_ends.die`), which on another host than the
        launcher's nobody else does. mpiexec ends its ranks within milliseconds.
        """
        last: Position | None = None
        sent = time.monotonic()
        with selectors.DefaultSelector() as selector, self._asleep:
            selector.register(self._asleep, selectors.EVENT_READ)
            if self._socket is not None:
                selector.register(self._socket, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(CHECK_EVERY)]
                if self._asleep in ready:
                    return
                # The parent was mpiexec, or its daemon on this host. A new one means it is gone.
                if os.getppid() != self._parent or self._closed():
                    self._die()
                position = self.position() if self.position is not None else None
                if position is not None and position != last:
                    last = position
                    self.send(Move(self._rank, position))
                elif time.monotonic() - sent >= BEAT_EVERY:
                    self.send(Beat(self._rank))
                else:
                    continue
                sent = time.monotonic()

    def _closed(self) -> bool:
        if self._socket is None:
            return False
        try:
            data = self._socket.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self._is_kept |= data == KEPT
        return data == b""


def _connect(address: Address) -> socket.socket:
    refused: list[str] = []
    for host in address.hosts:
        try:
            connection = socket.create_connection((host, address.port), timeout=5)
        except OSError as error:
            refused.append(f"{host}:{address.port} ({error.strerror or error})")
        else:
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise ConnectionError(", ".join(refused))
