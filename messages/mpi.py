"""Roles as MPI ranks. The communicator is an argument; this module never initialises MPI.

A frame travels as one or more MPI messages on one tag: small parts are joined, large ones leave
from where they lie, and nothing larger than `chunk` is handed to MPI at once (its counts are 32
bits in many builds). The first message holds at least the fixed part of the header, so the receiver
knows the length of the whole before it allocates.

Waiting. MPI's own blocking calls spin: three ranks that wait would take two cores from the one that
computes. Here a wait spins for `SPIN` seconds, so that small messages are quick, and then sleeps,
longer each time, up to `NAP` seconds. While a send waits for its receiver, arriving frames are
taken in: two roles that send each other large frames both get on.

Buffers for large frames are kept and used again once nobody refers to them: a fresh 16 MiB costs
about as much in page faults as the transfer itself.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import numpy.typing as npt

from .errors import MessageError
from .frame import frame_length
from .wire import MAX_FRAME_BYTES, Buffer, WireTimeout

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["MPIWire", "wait_until"]

TAG: Final = 1
CHUNK: Final = 1 << 30
JOIN: Final = 1 << 16
"""Parts up to this size together are joined: one short copy is cheaper than a second MPI
message.
"""
TRIES: Final = 64
"""How often a wait looks before it begins to look at the clock as well."""
SPIN: Final = 500e-6
NAP: Final = 1e-3
KEPT: Final = 4
"""How many large receive buffers are kept for use again."""
LARGE: Final = 1 << 20
LARGEST_KEPT: Final = 1 << 26


class MPIWire:
    """One rank's end of a communicator that only sottovoce uses."""

    def __init__(self, comm: MPI.Comm, *, chunk: int = CHUNK, limit: int = MAX_FRAME_BYTES) -> None:
        from mpi4py import MPI

        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._comm = comm
        self._byte = MPI.BYTE
        self._anyone = MPI.ANY_SOURCE
        self._status = MPI.Status()
        self._chunk = chunk
        self._limit = limit
        self._taken: deque[tuple[int, memoryview]] = deque()
        self._kept: list[npt.NDArray[np.uint8]] = []
        self._failure: MessageError | None = None

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        size = sum(map(len, parts))
        if size <= min(JOIN, self._chunk):
            request = self._comm.Isend(
                [parts[0] if len(parts) == 1 else b"".join(parts), size, self._byte], to, TAG
            )
            if request.Test():
                return
            requests = [request]
        else:
            requests = [
                self._comm.Isend([piece, len(piece), self._byte], to, TAG)
                for piece in _pieces(parts, chunk=self._chunk)
            ]

        def sent() -> bool:
            while requests and requests[-1].Test():
                requests.pop()
            if not requests:
                return True
            self._take()
            return False

        if not wait_until(sent, timeout=timeout):
            raise WireTimeout

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        if not self._taken:
            for _ in range(TRIES):
                if self._take():
                    break
            else:
                wait_until(self._take, timeout=timeout)
        if self._taken:
            return self._taken.popleft()
        if self._failure is not None:
            raise self._failure
        return None

    def abort(self, status: int) -> NoReturn:
        self._comm.Abort(status)
        raise SystemExit(status)  # for a library whose Abort returns

    def _take(self) -> bool:
        """Take in one frame if one has come."""
        found = self._comm.Improbe(self._anyone, TAG, self._status)
        if found is None:
            return self._failure is not None
        size = self._status.Get_count(self._byte)
        source = self._status.Get_source()
        first = self._buffer(size)
        if size < LARGE:
            found.Recv([first, size, self._byte])
        else:
            _finish(found.Irecv([first, size, self._byte]))
        try:
            whole = frame_length(first.data[:size], limit=self._limit)
        except MessageError:
            whole = size  # not a frame of ours: passed on as it is, for the conversation to refuse
        if whole > size:
            whole_frame = self._buffer(whole)
            whole_frame[:size] = first[:size]
            del first
            self._rest(whole_frame[:whole], size, source)  # a buffer that was kept may be longer
            first = whole_frame
            size = whole
        self._taken.append((source, first.data[:size]))
        return True

    def _rest(self, frame: npt.NDArray[np.uint8], start: int, source: int) -> None:
        """Receive what follows the first message of a frame; MPI keeps the order on an edge."""
        while start < len(frame):
            length = min(self._chunk, len(frame) - start)
            request = self._comm.Irecv(
                [frame[start : start + length], length, self._byte], source, TAG
            )
            _finish(request, self._status)
            start += self._status.Get_count(self._byte)

    def _buffer(self, size: int) -> npt.NDArray[np.uint8]:
        if not LARGE <= size <= LARGEST_KEPT:
            return np.empty(size, np.uint8)
        for kept in self._kept:
            # Two references: the list's and the loop's (and getrefcount's own argument). No message
            # refers to it any more.
            if size <= len(kept) < 2 * size and sys.getrefcount(kept) <= 3:
                return kept
        fresh = np.empty(size, np.uint8)
        self._kept.append(fresh)
        if len(self._kept) > KEPT:
            self._kept.pop(0)
        return fresh


def _pieces(parts: Sequence[Buffer], *, chunk: int) -> list[memoryview]:
    """Cut the parts so that the first piece holds the fixed header and none is longer than a
    chunk.
    """
    views = [memoryview(part) for part in parts]
    return [view[at : at + chunk] for view in views for at in range(0, len(view), chunk)]


def _finish(request: MPI.Request, status: MPI.Status | None = None) -> None:
    """Wait for bytes that are on their way: the peer has begun to send, and only its death can stop
    it.
    """
    wait_until(lambda: bool(request.Test(status)), timeout=float("inf"))


def wait_until(done: Callable[[], bool], *, timeout: float) -> bool:
    """Spin, then sleep with growing naps, until `done` or the time is up."""
    if timeout <= 0:
        return done()
    start = time.perf_counter()
    nap = 20e-6
    while not done():
        waited = time.perf_counter() - start
        if waited >= timeout:
            return False
        if waited > SPIN:
            time.sleep(min(nap, timeout - waited))
            nap = min(nap * 1.5, NAP)
    return True
