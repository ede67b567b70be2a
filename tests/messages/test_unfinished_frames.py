"""A frame that has begun and does not end, or that declares a length that no memory holds."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.messages import MessageError
from sottovoce.messages.errors import TimeoutExpired
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.mpi import MPIWire
from sottovoce.messages.mpi_receiver import MIN_KEPT_BYTES


class StoppingComm:
    """A communicator on which another rank sends the first bytes of a frame, and then nothing."""

    def __init__(self, start: bytes, *, stops_at: int) -> None:
        self._start, self._stops_at = start, stops_at
        self._is_probed = False

    def Get_rank(self) -> int:  # noqa: N802 - names of mpi4py
        return 0

    def Get_size(self) -> int:  # noqa: N802 - names of mpi4py
        return 3

    def Improbe(self, _source: int, _tag: int, _status: object) -> "StoppingComm | None":  # noqa: N802 - names of mpi4py
        self._is_probed, before = True, self._is_probed
        return None if before else self

    def Recv(self, buffer: Any) -> None:  # noqa: N802 - names of mpi4py
        buffer[0][:] = np.frombuffer(self._start, np.uint8)

    def Irecv(self, buffer: Any, *_edge: int) -> SimpleNamespace:  # noqa: N802 - names of mpi4py
        arrives = self._stops_at >= len(buffer[0])
        if arrives:
            self.Recv(buffer)
        return SimpleNamespace(Test=lambda: arrives)


@pytest.fixture(autouse=True)
def mpi(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    status = SimpleNamespace(Get_source=lambda: 2, count=0)
    status.Get_count = lambda _kind: status.count
    module = SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=lambda: status)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=module))
    return status


def start_of_frame(payload: int) -> bytes:
    return pack_header(Header(FrameKind.MESSAGE, payload, 0, 2, 0, "p", "work", "Word"))


def test_a_frame_that_does_not_go_on(mpi: SimpleNamespace) -> None:
    start = start_of_frame(1000)
    mpi.count = len(start)
    wire = MPIWire(StoppingComm(start, stops_at=len(start)), patience=0.01)  # type: ignore[arg-type]
    with pytest.raises(TimeoutExpired, match=r"rest of a frame from party 2, found nothing more"):
        wire.arrive(timeout=60)


@pytest.mark.parametrize("size", [1 << 13, MIN_KEPT_BYTES])
def test_a_first_piece_that_does_not_arrive(mpi: SimpleNamespace, size: int) -> None:
    """MPI lets a receiver wait for the rest of a message from a few thousand bytes on."""
    mpi.count = size
    wire = MPIWire(StoppingComm(b"", stops_at=0), patience=0.01)  # type: ignore[arg-type]
    with pytest.raises(TimeoutExpired, match="from party 2"):
        wire.arrive(timeout=60)


def test_a_length_that_no_memory_holds(mpi: SimpleNamespace) -> None:
    start = start_of_frame(1 << 60)
    mpi.count = len(start)
    wire = MPIWire(StoppingComm(start, stops_at=len(start)), limit=1 << 62)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match=r"fits in memory from party 2, found one of 11529"):
        wire.arrive(timeout=60)


def test_a_message_that_no_memory_holds(mpi: SimpleNamespace) -> None:
    """Not the header declares the length, but MPI itself: its sender has announced it."""
    mpi.count = 1 << 60
    wire = MPIWire(StoppingComm(b"", stops_at=0), limit=1 << 62)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match=r"fits in memory from party 2, found one of 11529"):
        wire.arrive(timeout=60)


def test_a_false_length_costs_no_memory(mpi: SimpleNamespace) -> None:
    """Memory is given to bytes that arrive, and not to those that are declared."""
    start = start_of_frame(1 << 33)
    mpi.count = len(start)
    wire = MPIWire(StoppingComm(start, stops_at=len(start)), patience=0.01)  # type: ignore[arg-type]
    before = resident_bytes()
    with pytest.raises((TimeoutExpired, MessageError)):
        wire.arrive(timeout=60)
    assert resident_bytes() - before < 1 << 28


def resident_bytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
