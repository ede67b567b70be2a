"""A connection of the lifeline speaks for its own rank alone, whatever others send."""

from __future__ import annotations

import errno
import queue
import random
import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest

from sottovoce.launch.lifeline_server import LifelineServer
from sottovoce.launch.rank_events import (
    Beat,
    Event,
    Failure,
    LogOpened,
    Loss,
    PartEnded,
    RankResult,
    RoleBegins,
    Start,
)

TOKEN = "t" * 32
RANKS = 4


@pytest.fixture
def server() -> Iterator[LifelineServer]:
    opened = LifelineServer(token=TOKEN, everywhere=False, ranks=RANKS)
    yield opened
    opened.close()


def connect(server: LifelineServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.address.port), timeout=30)


def pack(event: msgspec.Struct) -> bytes:
    data = msgspec.msgpack.encode(event)
    return len(data).to_bytes(8, "little") + data


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server has closed a connection that has said too much."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def arrived(server: LifelineServer) -> list[Event]:
    """Take all events of what was sent until now.

    The server reads a connection that comes after that only when it has read all others.
    """
    with connect(server) as last:
        last.sendall(pack(Start(0, 1, "host", "wrong")))
        assert is_closed(last)
    events = []
    while True:
        try:
            events.append(server.events.get_nowait())
        except queue.Empty:
            return events


FORGED: list[Event] = [
    Beat(0),
    Failure(2, 2, "nothing was spent", before_start=True),
    Failure(1, 3, "a rank was lost", is_loss=True),
    LogOpened(0, 7),
    PartEnded(2),
    RankResult(0, awaits_keeping=True),
    RoleBegins(3),
    Start(1, 1, "host", TOKEN),
    Start(2, 1, "host", TOKEN),
    Loss(2),
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda event: type(event).__name__)
def test_a_rank_that_speaks_for_another_is_lost(server: LifelineServer, forged: Event) -> None:
    """Also a loss is found by the launcher alone, and a rank starts once."""
    with connect(server) as connection:
        connection.sendall(pack(Start(1, 1, "host", TOKEN)) + pack(Beat(1)))
        connection.sendall(pack(forged) + pack(Beat(1)))
        assert is_closed(connection)
        assert arrived(server) == [Start(1, 1, "host", TOKEN), Beat(1), Loss(1)]


@pytest.mark.parametrize("rank", [1, -1, RANKS, 1 << 40])
def test_a_connection_for_no_free_rank_is_closed(server: LifelineServer, rank: int) -> None:
    """The first one of a rank counts, also after its loss."""
    with connect(server) as first:
        first.sendall(pack(Start(1, 1, "host", TOKEN)))
        assert arrived(server) == [Start(1, 1, "host", TOKEN)]
        for _ in range(2):
            with connect(server) as second:
                second.sendall(pack(Start(rank, 1, "host", TOKEN)))
                assert is_closed(second)
            first.close()
    assert arrived(server) == [Loss(1)]


def test_ranks_are_heard_while_no_connection_can_be_opened(
    server: LifelineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens as many connections as the launcher may have does not silence the ranks."""
    accept, refused = socket.socket.accept, threading.Event()
    is_full = threading.Event()

    def accept_unless_full(listener: socket.socket) -> object:
        if is_full.is_set():
            refused.set()
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listener)

    with connect(server) as rank:
        rank.sendall(pack(Start(1, 1, "host", TOKEN)))
        assert arrived(server) == [Start(1, 1, "host", TOKEN)]
        monkeypatch.setattr(socket.socket, "accept", accept_unless_full)
        is_full.set()
        with connect(server) as late:
            late.sendall(pack(Start(2, 1, "host", TOKEN)))
            assert refused.wait(30)
            rank.sendall(pack(Beat(1)))
            assert server.events.get(timeout=30) == Beat(1)
            is_full.clear()
            assert server.events.get(timeout=30) == Start(2, 1, "host", TOKEN)


def test_no_event_of_a_rank_is_another_ones(server: LifelineServer) -> None:
    """Ranks and liars send at once, on many connections, whatever they like.

    Every event names its sender in a number that only this sender uses.
    """
    genuine: dict[int, socket.socket] = {}
    for rank in range(RANKS):
        genuine[rank] = connect(server)
        genuine[rank].sendall(pack(Start(rank, rank, "host", TOKEN)))
    assert len(arrived(server)) == RANKS

    def lie(seed: int) -> None:
        drawn = random.Random(seed)
        with connect(server) as liar:
            for _ in range(drawn.randrange(1, 6)):
                token = drawn.choice([TOKEN, "wrong"])
                rank = drawn.randrange(-1, RANKS + 2)
                event = drawn.choice([Start(rank, 99, "x", token), LogOpened(rank, 1000 + seed)])
                try:
                    liar.sendall(pack(event)[: drawn.choice([-1, 1 << 20])])
                except OSError:
                    return

    def speak(rank: int) -> None:
        for _ in range(200):
            genuine[rank].sendall(pack(LogOpened(rank, rank)))

    threads = [threading.Thread(target=speak, args=(rank,)) for rank in range(RANKS)]
    threads += [threading.Thread(target=lie, args=(seed,)) for seed in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = [server.events.get(timeout=30) for _ in range(200 * RANKS)]
    events += arrived(server)
    assert all(isinstance(event, LogOpened) and event.records == event.rank for event in events)
    assert len(events) == 200 * RANKS
    for connection in genuine.values():
        connection.close()
