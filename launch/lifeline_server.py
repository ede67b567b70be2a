"""The launcher's end of the lifelines of all ranks (`launch.lifeline`).

A connection speaks for the rank that it has named first, and for no other: one that says anything
of another rank is closed, which is the loss of its own. The first connection of a rank counts. So a
rank cannot send a result, or a sign of life, in another one's name, once that one has connected.
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
from typing import Final

import msgspec

from .lifeline import KEPT, LOCALHOST, Address
from .rank_events import Event, Failure, Loss, RankEvent, Start

__all__ = ["LifelineServer"]

MAX_FRAME: Final = 1 << 40
"""Bytes of an event of a rank that has sent the token."""
MAX_FIRST_FRAME: Final = 4096
"""Bytes of the first event, which brings the token."""
RETRY_AFTER: Final = 0.05
"""Seconds until a connection is tried again that could not be taken."""
SIOCGIFADDR: Final = 0x8915
"""Linux's request for an interface's IPv4 address."""


class LifelineServer:
    """The launcher's end: a thread that turns connections into events."""

    def __init__(self, *, token: str, everywhere: bool, ranks: int) -> None:
        """Begin to listen.

        Args:
            token: the run's token.
            everywhere: whether ranks may be on other hosts.
            ranks: the number of ranks.
        """
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._token = token
        self._everywhere = everywhere
        # On one machine no other host needs to reach the launcher.
        self._listener = socket.create_server(("" if everywhere else LOCALHOST[0], 0), backlog=512)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._alarm, self._asleep = socket.socketpair()  # A byte wakes the thread up to end.
        self._selector.register(self._asleep, selectors.EVENT_READ)
        self._buffers: dict[socket.socket, bytearray] = {}
        self._ranks: dict[socket.socket, int] = {}
        self._unconnected = {*range(ranks)}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lifeline", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        hosts = (
            LOCALHOST if not self._everywhere else (*_host_addresses(), platform.node(), *LOCALHOST)
        )
        return Address(hosts, self._listener.getsockname()[1], self._token)

    def acknowledge(self, ranks: set[int]) -> None:
        """Let ranks know that the run's result is kept, and take them from the set."""
        for connection, rank in list(self._ranks.items()):
            if rank in ranks:
                with contextlib.suppress(OSError):
                    connection.send(KEPT)
        ranks.clear()

    def close(self) -> None:
        """Close all connections: every rank that still lives ends itself."""
        self._over.set()
        self._alarm.send(b"\0")
        self._thread.join()
        for connection in (*self._buffers, self._alarm, self._asleep):
            connection.close()
        self._listener.close()
        self._selector.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._buffers:
                    self._read(key.fileobj)

    def _accept(self) -> None:
        """Take a connection, unless its end has gone or no further file can be open now.

        Those which are there are still read. A new one waits, as it will be tried again.
        """
        try:
            connection, _ = self._listener.accept()
        except OSError:
            self._over.wait(RETRY_AFTER)
            return
        self._buffers[connection] = bytearray()
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 20)
        except OSError:
            data = b""
        if not data or not self._handle(connection, data):
            self._selector.unregister(connection)
            connection.close()
            del self._buffers[connection]
            if connection in self._ranks:
                self.events.put(Loss(self._ranks.pop(connection)))

    def _handle(self, connection: socket.socket, data: bytes) -> bool:
        """Put complete events into the queue; return whether the connection may stay open."""
        buffer = self._buffers[connection]
        buffer += data
        while len(buffer) >= 8:
            length = int.from_bytes(buffer[:8], "little")
            is_admitted = connection in self._ranks
            if length > (MAX_FRAME if is_admitted else MAX_FIRST_FRAME):
                return False
            if len(buffer) < 8 + length:
                return True
            try:
                event = _DECODER.decode(memoryview(buffer)[8 : 8 + length])
            except msgspec.MsgspecError:
                return False
            del buffer[: 8 + length]
            may_say = self._may_say if is_admitted else self._admits
            if not may_say(connection, event):
                return False
            self.events.put(event)
        return True

    def _admits(self, connection: socket.socket, event: RankEvent) -> bool:
        """Take in a connection whose first event names a rank that has none yet."""
        if not isinstance(event, Start) or not hmac.compare_digest(event.token, self._token):
            return False
        if event.rank not in self._unconnected:
            return False
        self._unconnected.remove(event.rank)
        self._ranks[connection] = event.rank
        return True

    def _may_say(self, connection: socket.socket, event: RankEvent) -> bool:
        """Tell whether a connection speaks for its own rank, which starts once.

        Only the launcher finds a loss.
        """
        is_own = event.rank == self._ranks[connection] and not isinstance(event, Start)
        return is_own and not (isinstance(event, Failure) and event.is_loss)


_DECODER: Final = msgspec.msgpack.Decoder(RankEvent)


def _host_addresses() -> tuple[str, ...]:
    """List this host's IPv4 addresses, beginning with SOTTOVOCE_HOST.

    A rank on another host takes the first that answers.
    """
    chosen = os.environ.get("SOTTOVOCE_HOST")
    addresses = [chosen] if chosen else []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                addresses.append(socket.inet_ntoa(answer[20:24]))
    return tuple(address for address in dict.fromkeys(addresses) if not address.startswith("127."))
