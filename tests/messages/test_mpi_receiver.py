"""Frames of many senders that come in over MPI at once, on a communicator that is made up.

The referee is what was sent: every frame arrives whole, in its sender's order, however MPI divides
and delays its messages.
"""

import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.messages import MessageError
from sottovoce.messages.errors import TimeoutExpired
from sottovoce.messages.frame import MIN_HEADER_BYTES, FrameKind, Header, pack_header
from sottovoce.messages.mpi_receiver import FrameReceiver
from sottovoce.messages.wire import LOST

HEAD = 64
"""Bytes of a first message that holds the header."""


class SlowRequest:
    """A message that MPI receives; it is there when its sender's turn has come."""

    def __init__(self, comm: "SlowComm", source: int, data: bytes, buffer: Any) -> None:
        self._comm, self._source, self._data, self._buffer = comm, source, data, buffer

    def Test(self) -> bool:  # noqa: N802 - names of mpi4py
        if self._comm.is_late(self._source, len(self._data)):
            return False
        self._buffer[0][: len(self._data)] = np.frombuffer(self._data, np.uint8)
        return True


class SlowComm:
    """A communicator on which announced messages arrive late, in random order between senders."""

    def __init__(self, status: SimpleNamespace, *, seed: int) -> None:
        self.queues: dict[int, deque[bytes]] = defaultdict(deque)
        self.asked: list[tuple[int, int]] = []
        """Senders that were answered, and the sizes of their messages."""
        self.blocked: set[int] = set()
        """Senders of whose frames no more than the beginning arrives."""
        self._random = Random(seed)
        self._status = status

    def is_late(self, source: int, size: int) -> bool:
        return (source in self.blocked and size > HEAD) or self._random.random() < 0.5

    def Improbe(self, _source: int, _tag: int, status: SimpleNamespace) -> Any:  # noqa: N802 - names of mpi4py
        waiting = sorted(source for source, queue in self.queues.items() if queue)
        if not waiting or self._random.random() < 0.3:
            return None
        source = self._random.choice(waiting)
        data = self.queues[source].popleft()
        status.source, status.count = source, len(data)

        def answer(buffer: Any) -> SlowRequest:
            self.asked.append((source, len(data)))
            return SlowRequest(self, source, data, buffer)

        return SimpleNamespace(Irecv=answer)


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    status = SimpleNamespace(source=0, count=0)
    status.Get_source = lambda: status.source
    status.Get_count = lambda _kind: status.count
    module = SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=lambda: status)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=module))
    return status


def frame(size: int, *, source: int, number: int) -> bytes:
    header = pack_header(Header(FrameKind.MESSAGE, size, number, source, 0, "p", "work", "Word"))
    return header + Random(1000 * source + number).randbytes(size)


def cut(data: bytes, random: Random) -> list[bytes]:
    """Cut a frame into messages, the first of which holds the fixed part of the header."""
    borders = sorted(
        random.randrange(MIN_HEADER_BYTES, len(data)) for _ in range(random.choice((0, 1, 1, 4)))
    )
    ends = [*borders, len(data)]
    return [data[start:end] for start, end in zip([0, *borders], ends, strict=True)]


def take_all(receiver: FrameReceiver, number: int) -> dict[int, list[bytes]]:
    heard: dict[int, list[bytes]] = defaultdict(list)
    for _ in range(100_000):
        if receiver.look():
            source, data = receiver.arrived.popleft()
            heard[source].append(bytes(data))
            if sum(map(len, heard.values())) == number:
                break
    return heard


@pytest.mark.parametrize("limit", [5000, 1 << 30])
@pytest.mark.parametrize("seed", range(20))
def test_every_frame_arrives_in_its_senders_order(
    status: SimpleNamespace, seed: int, limit: int
) -> None:
    random, comm = Random(seed), SlowComm(status, seed=seed)
    sent: dict[int, list[bytes]] = {}
    for source in range(1, 6):
        sizes = [random.choice((0, 1, 300, 2000, 4000)) for _ in range(6)]
        sent[source] = [frame(size, source=source, number=n) for n, size in enumerate(sizes)]
        for data in sent[source]:
            comm.queues[source] += cut(data, random)
    receiver = FrameReceiver(comm, limit=limit, patience=60)  # type: ignore[arg-type]
    assert take_all(receiver, 30) == sent
    assert not receiver.is_receiving
    assert not receiver.look()


def test_large_frames_are_all_asked_for_at_once(status: SimpleNamespace) -> None:
    comm = SlowComm(status, seed=1)
    for source in (1, 2, 3):
        data = frame(100_000, source=source, number=0)
        comm.queues[source] += [data[:HEAD], data[HEAD:50_000], data[50_000:]]
    comm.queues[4].append(frame(10, source=4, number=0))
    comm.blocked = {1, 2, 3}
    receiver = FrameReceiver(comm, limit=1 << 30, patience=60)  # type: ignore[arg-type]
    assert [*take_all(receiver, 1)] == [4], "a frame waits for those of other senders"
    for _ in range(500):
        assert not receiver.look()
    assert len(comm.asked) == 10, "a message was not answered while others are on their way"
    comm.blocked = set()
    assert sorted(take_all(receiver, 3)) == [1, 2, 3]


def test_what_is_announced_together_stays_below_the_limit(status: SimpleNamespace) -> None:
    """Three frames of 400 bytes are announced; the limit is for two, so one waits."""
    comm = SlowComm(status, seed=2)
    for source in (1, 2, 3):
        data = frame(400, source=source, number=0)
        comm.queues[source] += [data[:HEAD], data[HEAD:]]
    length = len(frame(400, source=1, number=0))
    comm.blocked = {1, 2, 3}
    receiver = FrameReceiver(comm, limit=2 * length, patience=60)  # type: ignore[arg-type]
    for _ in range(500):
        receiver.look()
    assert sum(size > HEAD for _, size in comm.asked) == 2
    comm.blocked = set()
    take_all(receiver, 3)
    assert sum(size > HEAD for _, size in comm.asked) == 3


def test_more_bytes_than_the_frame_was_to_have_are_refused(status: SimpleNamespace) -> None:
    comm = SlowComm(status, seed=3)
    data = frame(100, source=2, number=0)
    comm.queues[2] += [data[:HEAD], data[HEAD:] + b"x"]
    receiver = FrameReceiver(comm, limit=1 << 20, patience=60)  # type: ignore[arg-type]
    with pytest.raises(
        MessageError, match="at most 84 bytes more of a frame from party 2, found 85"
    ):
        take_all(receiver, 1)


def test_frames_are_taken_in_while_nobody_reads_them(status: SimpleNamespace) -> None:
    """A role that is held by a send takes in what others send, or both would be held for ever."""
    comm = SlowComm(status, seed=4)
    comm.queues[1] += [frame(10, source=1, number=number) for number in range(10)]
    receiver = FrameReceiver(comm, limit=1 << 20, patience=60)  # type: ignore[arg-type]
    for _ in range(500):
        receiver.look()
    assert len(receiver.arrived) == 10


@pytest.mark.parametrize("count", [-32766, 1001])
def test_a_message_above_the_limit_is_refused_when_it_is_announced(
    status: SimpleNamespace, count: int
) -> None:
    """Of the longest messages MPI says that their size is undefined, by a negative number."""
    comm = SlowComm(status, seed=5)
    comm.queues[2].append(b"x")
    status.Get_count = lambda _kind: count
    receiver = FrameReceiver(comm, limit=1000, patience=60)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match=r"at most 1000 bytes from party 2, found a longer one"):
        take_all(receiver, 1)
    assert not comm.asked


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock of the receiver that goes on when a test says so."""
    clock = SimpleNamespace(seconds=0.0)
    timer = SimpleNamespace(perf_counter=lambda: clock.seconds)
    monkeypatch.setattr("sottovoce.messages.mpi_receiver.time", timer)
    return clock


@pytest.mark.parametrize("drop", [b"", b"x"])
def test_a_sender_that_drips_uses_up_the_patience(
    status: SimpleNamespace, clock: SimpleNamespace, drop: bytes
) -> None:
    """Empty messages, or single bytes now and then, hold nobody for ever."""
    comm = SlowComm(status, seed=6)
    comm.queues[2].append(frame(1 << 20, source=2, number=0)[:HEAD])
    receiver = FrameReceiver(comm, limit=1 << 30, patience=10)  # type: ignore[arg-type]
    with pytest.raises(TimeoutExpired, match="or next to nothing"):
        for _ in range(1000):
            comm.queues[2].append(drop)
            receiver.look()
            clock.seconds += 0.1


def test_a_frame_that_comes_slowly_but_steadily_is_taken_in(
    status: SimpleNamespace, clock: SimpleNamespace
) -> None:
    """The frame lasts for longer than the patience, and each of its messages comes in time."""
    comm = SlowComm(status, seed=7)
    data = frame(100_000, source=2, number=0)
    receiver = FrameReceiver(comm, limit=1 << 30, patience=10)  # type: ignore[arg-type]
    for start in range(0, len(data), 10_000):
        comm.queues[2].append(data[start : start + 10_000])
        for _ in range(20):  # A message may need some looks.
            receiver.look()
            clock.seconds += 0.3
    assert clock.seconds > 50
    assert take_all(receiver, 1) == {2: [data]}


class Announced:
    """What MPI knows of lost ranks, as a test says it."""

    def __init__(self) -> None:
        self.next: list[int] = []

    def noticing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fresh(self) -> list[int]:
        lost, self.next = self.next, []
        return lost


def test_what_a_lost_rank_has_sent_comes_before_its_loss(status: SimpleNamespace) -> None:
    comm, losses = SlowComm(status, seed=0), Announced()
    comm.is_late = lambda source, size: False  # type: ignore[method-assign]
    comm._random = SimpleNamespace(random=lambda: 1.0, choice=max)  # type: ignore[assignment]
    receiver = FrameReceiver(comm, limit=1 << 20, patience=60, losses=losses)  # type: ignore[arg-type]
    comm.queues[2] += [frame(10, source=2, number=number) for number in range(3)]
    comm.queues[3].append(frame(10, source=3, number=0))
    losses.next = [2]
    assert receiver.look()
    heard = [(source, data is LOST) for source, data in receiver.arrived]
    assert heard[-1] == (2, True)
    assert heard[:-1].count((2, False)) == 3


def test_a_lost_rank_leaves_room_for_others(status: SimpleNamespace) -> None:
    """A rank announces a frame that takes the whole limit, and is lost: others have room again."""
    comm, losses = SlowComm(status, seed=5), Announced()
    receiver = FrameReceiver(comm, limit=500, patience=60, losses=losses)  # type: ignore[arg-type]
    for source in (2, 3):
        data = frame(300, source=source, number=0)
        comm.queues[source] += [data[:HEAD], data[HEAD:]]
        comm.blocked.add(source)
        for _ in range(200):
            receiver.look()
    losses.next = [2]
    comm.blocked = {2}
    heard = take_all(receiver, 2)
    assert heard == {2: [b""], 3: [frame(300, source=3, number=0)]}
