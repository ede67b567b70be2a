"""The sender of a broadcast is held until all its frames have left, whatever becomes of the last.

A sender that went on would not answer MPI while it computes, and its receivers would wait for it.
"""

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from sottovoce.crypto.durable import DurableWire
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import Role, message
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.mpi import MPIWire
from sottovoce.messages.wire import LOST, Buffer
from sottovoce.runs.faulty_network import with_network_faults
from sottovoce.runs.settings import settings


@message
class Word:
    number: int


class NotingWire:
    """A wire that notes who is sent a frame, and whether another one follows."""

    rank, size = 0, 4

    def __init__(self) -> None:
        self.sent: list[tuple[int, bool]] = []
        self.arrivals = deque([(3, LOST)])

    def clock(self) -> float:
        return 0.0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self.sent.append((to, more))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return self.arrivals.popleft() if self.arrivals else None

    def abort(self, status: int) -> NoReturn:
        raise SystemExit(status)


def frame(to: int, *, number: int) -> list[Buffer]:
    return [pack_header(Header(0, 0, number, 0, to, "p", "work", "Word"))]


def test_the_last_receiver_is_lost() -> None:
    wire = NotingWire()
    role = Role(wire, protocol="p", kinds=[Word], timeout=5)
    role.min_parties = 2
    with role.phase("work"):
        assert role.gather_living(Word, sources=[3]) == {}
        role.broadcast(Word(1))
    assert wire.sent == [(1, True), (2, False)]


def test_the_last_receiver_has_its_frame_in_its_log(tmp_path: Path) -> None:
    """Frames are held one by one until all that receivers have were left out."""
    noting = NotingWire()
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    wire = DurableWire(noting, log, received={1: 0, 2: 1, 3: 2}, syncs=False)
    for number in range(3):
        for to in (1, 2, 3):
            wire.send(frame(to, number=number), to=to, timeout=1, more=to < 3)
    first, second = [(1, False)], [(1, False), (2, False)]
    assert noting.sent == [*first, *second, (1, True), (2, True), (3, False)]


def test_the_network_may_drop_the_last_frame() -> None:
    noting = NotingWire()
    fault = "the network drops 50 % of messages"
    job = settings({"protocol": "head-count", "fault": fault, "seed": 1}).job
    wire = with_network_faults(noting, job, is_resumed=False)
    for to in (1, 2, 3):
        wire.send(frame(to, number=0), to=to, timeout=1, more=to < 3)
    assert {more for _, more in noting.sent} == {False}


class LossError(Exception):
    """What MPI raises where a rank is lost."""


class SlowSend:
    """A message that leaves after some looks at it, or whose receiver is lost."""

    def __init__(self, to: int, lost: set[int]) -> None:
        self.has_left = False
        self._is_lost = to in lost
        self._looks = 0

    def Test(self) -> bool:  # noqa: N802 - names of mpi4py
        self._looks += 1
        if self._is_lost:
            raise LossError
        self.has_left = self._looks > 20
        return self.has_left


class LossyComm:
    """A communicator some of whose ranks are lost. MPI tells of it at an operation."""

    def __init__(self, lost: set[int], *, refused: set[int]) -> None:
        self.lost = lost
        self.refused = refused
        """Lost ranks to which nothing can even begin to be sent."""
        self.requests: dict[int, SlowSend] = {}
        self.ranks: set[int] = set()
        self._is_noticed = False

    def Get_rank(self) -> int:  # noqa: N802
        return 0

    def Get_size(self) -> int:  # noqa: N802
        return 4

    def Isend(self, _content: Any, to: int, _tag: int) -> SlowSend:  # noqa: N802
        if to in self.refused:
            raise LossError
        return self.requests.setdefault(to, SlowSend(to, self.lost))

    def Improbe(self, *_: Any) -> None:  # noqa: N802
        return None

    @contextmanager
    def noticing(self) -> Iterator[None]:
        with suppress(LossError):
            yield
            return
        self._is_noticed = True

    def fresh(self) -> list[int]:
        new = self.lost - self.ranks if self._is_noticed else set()
        self.ranks |= new
        return sorted(new)


@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("is_refused", [False, True])
def test_a_loss_ends_no_wait_for_others(
    lost: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the caller could change what has not left yet."""
    mpi = SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=lambda: None)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=mpi))
    comm = LossyComm({lost}, refused={lost} if is_refused else set())
    wire = MPIWire(comm, losses=comm)  # type: ignore[arg-type]
    for to in (1, 2, 3):
        wire.send(frame(to, number=0), to=to, timeout=60, more=to < 3)
    left = {to for to, request in comm.requests.items() if request.has_left}
    assert left == {1, 2, 3} - {lost}
