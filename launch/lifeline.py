"""The lifeline: one TCP connection from every rank to the process that launched it.

It carries typed events (who I am, where I am, why I failed, what is published) and, by being open,
the fact that both ends live. A rank whose launcher is gone ends itself; the launcher sees at once
which rank is lost, whatever mpiexec says. Ranks say the run's token first; a connection without it
is closed.

Frames: 8 bytes length (little-endian), then msgpack. No protocol data passes here but what is
published.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import platform
import queue
import selectors
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from ..messages import Position
from ..runs.record import RunRecord

__all__ = ["Address", "At", "Event", "Failed", "Finished", "Hello", "Lifeline", "Lost", "Server"]

BEAT: Final = 0.2
"""Seconds between looks at where a role is."""
LONGEST: Final = 1 << 40
SIOCGIFADDR: Final = 0x8915
"""Linux's request for an interface's IPv4 address."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    """A rank has started."""

    rank: int
    pid: int
    host: str
    token: str


class At(msgspec.Struct, frozen=True, tag=True):
    """Where a rank is."""

    rank: int
    position: Position


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A rank failed: one line for the person, and the traceback where the line cannot say it
    all.
    """

    rank: int
    status: int
    line: str
    traceback: str = ""


class Finished(msgspec.Struct, frozen=True, tag=True):
    """A rank has done its part; the curator brings the record of the run."""

    rank: int
    record: RunRecord | None = None


class Lost(msgspec.Struct, frozen=True, tag=True):
    """A rank's connection is closed (noted by the launcher's side)."""

    rank: int


Event: TypeAlias = Hello | At | Failed | Finished | Lost


class Address(msgspec.Struct, frozen=True):
    """Where the launcher listens, and the token that proves a rank is of this run."""

    hosts: tuple[str, ...]
    port: int
    token: str


def _pack(event: Event) -> bytes:
    data = msgspec.msgpack.encode(event)
    return len(data).to_bytes(8, "little") + data


class Server:
    """The launcher's end: a thread that turns connections into events."""

    def __init__(self, *, token: str, everywhere: bool) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._token = token
        self._everywhere = everywhere
        # Ranks on other hosts must be able to reach us; on one machine nobody else needs to.
        self._listener = socket.create_server(("" if everywhere else "127.0.0.1", 0), backlog=512)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._buffers: dict[socket.socket, bytearray] = {}
        self._ranks: dict[socket.socket, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lifeline", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        hosts = (
            ("127.0.0.1",)
            if not self._everywhere
            else (*_own_addresses(), platform.node(), "127.0.0.1")
        )
        return Address(hosts, self._listener.getsockname()[1], self._token)

    def close(self) -> None:
        """Let go: every rank that still lives ends itself."""
        self._over.set()
        self._thread.join()
        for connection in list(self._buffers):
            connection.close()
        self._listener.close()
        self._selector.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(timeout=0.1):
                if key.fileobj is self._listener:
                    connection, _ = self._listener.accept()
                    self._buffers[connection] = bytearray()
                    self._selector.register(connection, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self._read(key.fileobj)

    def _read(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 20)
        except OSError:
            data = b""
        if not data or not self._understand(connection, data):
            self._selector.unregister(connection)
            connection.close()
            del self._buffers[connection]
            if connection in self._ranks:
                self.events.put(Lost(self._ranks.pop(connection)))

    def _understand(self, connection: socket.socket, data: bytes) -> bool:
        buffer = self._buffers[connection]
        buffer += data
        while len(buffer) >= 8:
            length = int.from_bytes(buffer[:8], "little")
            known = connection in self._ranks
            if length > (LONGEST if known else 4096):
                return False
            if len(buffer) < 8 + length:
                return True
            try:
                event = _DECODER.decode(memoryview(buffer)[8 : 8 + length])
            except msgspec.MsgspecError:
                return False
            del buffer[: 8 + length]
            if not known:
                if not isinstance(event, Hello) or not hmac.compare_digest(
                    event.token, self._token
                ):
                    return False
                self._ranks[connection] = event.rank
            self.events.put(event)
        return True


_DECODER: Final = msgspec.msgpack.Decoder(Hello | At | Failed | Finished)


def _own_addresses() -> tuple[str, ...]:
    """List this host's IPv4 addresses, SOTTOVOCE_HOST's first: a rank elsewhere takes the first
    that answers.
    """
    found = [listed] if (listed := os.environ.get("SOTTOVOCE_HOST")) else []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                answer = fcntl.ioctl(asker, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                found.append(socket.inet_ntoa(answer[20:24]))
    return tuple(address for address in dict.fromkeys(found) if not address.startswith("127."))


class Lifeline:
    """A rank's end: a thread that says where the role is and ends the process when it should not
    live on.
    """

    def __init__(self, address: Address | None, *, rank: int, die: Callable[[], None]) -> None:
        self._rank = rank
        self._die = die
        self._parent = os.getppid()
        self._lock = threading.Lock()
        self._socket = None if address is None else _connect(address)
        self.where: Callable[[], Position] | None = None
        if address is not None:
            self.say(Hello(rank, os.getpid(), platform.node(), address.token))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lifeline", daemon=True)
        self._thread.start()

    def say(self, event: Event) -> None:
        """Send an event; a launcher that is gone is noticed by the watch."""
        if self._socket is not None:
            with self._lock, contextlib.suppress(OSError):
                self._socket.sendall(_pack(event))

    def close(self) -> None:
        """Stop watching: from here on the end of the launcher is no reason to die."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last: Any = None
        while not self._over.wait(BEAT):
            # mpiexec (or its daemon on this host) was our parent; a new parent means that it is
            # gone.
            if os.getppid() != self._parent or self._closed():
                self._die()
            now = self.where() if self.where is not None else None
            if now is not None and now != last:
                last = now
                self.say(At(self._rank, now))

    def _closed(self) -> bool:
        if self._socket is None:
            return False
        try:
            return self._socket.recv(1, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


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
