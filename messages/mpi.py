"""Roles as MPI ranks. The communicator is an argument; this module never initialises MPI.

A frame travels as one or more MPI messages on one tag. Small parts are joined, and large ones leave
from where they are. No piece is longer than `chunk`, because MPI's counts have 32 bits in many
builds. The first message holds at least the fixed part of the header, so the receiver knows the
length of the whole before it allocates.

*Waiting.* MPI's own blocking calls spin: three ranks that wait would take two cores from the one
that computes. Here a wait spins for `SPIN_SECONDS`, so that small messages are quick. Then it
sleeps, longer each time, up to `MAX_NAP_SECONDS`. While a send waits for its receiver, arriving
frames are taken in. So two roles that send each other large frames both get on.

*Buffers.* Buffers for large frames are kept, and used again once nobody refers to them. Page faults
of a fresh buffer of 16 MiB cost about as much as the transfer itself.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import numpy.typing as npt

from .errors import MessageError, TimeoutExpired, role_name
from .frame import frame_length
from .wire import MAX_FRAME_BYTES, Buffer, WireTimeout

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["MPIWire", "wait_until"]

TAG: Final = 1
MAX_CHUNK_BYTES: Final = 1 << 30
MAX_JOINED_BYTES: Final = 1 << 16
"""Parts of at most this size together are joined.

One short copy is cheaper than a second MPI message.
"""
POLLS: Final = 64
"""Number of polls before a wait begins to look at the clock as well."""
SPIN_SECONDS: Final = 500e-6
MIN_NAP_SECONDS: Final = 20e-6
MAX_NAP_SECONDS: Final = 1e-3
MAX_KEPT_BUFFERS: Final = 4
"""Number of large receive buffers that are kept."""
MIN_KEPT_BYTES: Final = 1 << 20
MAX_KEPT_BYTES: Final = 1 << 26

Bytes = npt.NDArray[np.uint8]


class MPIWire:
    """One rank's end of a communicator that sottovoce uses alone."""

    def __init__(
        self,
        comm: MPI.Comm,
        *,
        chunk: int = MAX_CHUNK_BYTES,
        limit: int = MAX_FRAME_BYTES,
        patience: float = float("inf"),
    ) -> None:
        """Make this rank's end.

        Args:
            comm: the communicator.
            chunk: the longest MPI message, in bytes.
            limit: the longest frame that is accepted, in bytes.
            patience: seconds in which the next piece of a frame that has begun must arrive.
        """
        from mpi4py import MPI

        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._comm = comm
        self._byte = MPI.BYTE
        self._any_source = MPI.ANY_SOURCE
        self._status = MPI.Status()
        self._chunk = chunk
        self._limit = limit
        self._patience = patience
        self._frames: deque[tuple[int, memoryview]] = deque()
        self._kept: list[Bytes] = []

    def clock(self) -> float:
        return time.perf_counter()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        size = sum(map(len, parts))
        if size <= min(MAX_JOINED_BYTES, self._chunk):
            joined = parts[0] if len(parts) == 1 else b"".join(parts)
            request = self._comm.Isend([joined, size, self._byte], to, TAG)
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
            self._take_in()
            return False

        if not wait_until(sent, timeout=timeout):
            raise WireTimeout

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        if not self._frames:
            for _ in range(POLLS):
                if self._take_in():
                    break
            else:
                wait_until(self._take_in, timeout=timeout)
        return self._frames.popleft() if self._frames else None

    def abort(self, status: int) -> NoReturn:
        self._comm.Abort(status)
        raise SystemExit(status)  # A library's Abort may return.

    def _take_in(self) -> bool:
        """Take in one frame if one has come, and tell whether it has."""
        incoming = self._comm.Improbe(self._any_source, TAG, self._status)
        if incoming is None:
            return False
        size = self._status.Get_count(self._byte)
        source = self._status.Get_source()
        frame = self._buffer(size)
        # Of a message that is not short, the rest comes when its sender has heard of the receiver.
        self._finish(incoming.Irecv([frame, size, self._byte]), source)
        try:
            length = frame_length(frame.data[:size], limit=self._limit)
        except MessageError:
            length = size  # Bytes that are no frame are passed on, for the exchange to refuse.
        if length > size:
            # The system gives memory to what is written, so a false length costs none.
            try:
                whole = self._buffer(length)
            except MemoryError:
                raise MessageError(
                    f"expected a frame that fits in memory from {role_name(source)}, "
                    f"found one of {length} bytes"
                ) from None
            whole[:size] = frame[:size]
            # A kept buffer may be longer than the frame.
            self._receive_rest(whole[:length], size, source)
            frame, size = whole, length
        self._frames.append((source, frame.data[:size]))
        return True

    def _receive_rest(self, frame: Bytes, start: int, source: int) -> None:
        """Receive what follows the first message of a frame; MPI keeps the order on an edge."""
        while start < len(frame):
            length = min(self._chunk, len(frame) - start)
            request = self._comm.Irecv(
                [frame[start : start + length], length, self._byte], source, TAG
            )
            self._finish(request, source)
            start += self._status.Get_count(self._byte)

    def _finish(self, request: MPI.Request, source: int) -> None:
        """Wait for a piece of a frame; its sender may stop, or lose its network."""
        if not wait_until(lambda: bool(request.Test(self._status)), timeout=self._patience):
            raise TimeoutExpired(
                f"expected the rest of a frame from {role_name(source)}, found nothing more in "
                f"{self._patience:g} s: raise the timeout if that role needs longer"
            )

    def _buffer(self, size: int) -> Bytes:
        """Find a kept buffer that nobody refers to, or make one."""
        if not MIN_KEPT_BYTES <= size <= MAX_KEPT_BYTES:
            return np.empty(size, np.uint8)
        for kept in self._kept:
            # The references are the list's, the loop's, and that of getrefcount's argument.
            if size <= len(kept) < 2 * size and sys.getrefcount(kept) <= 3:
                return kept
        fresh = np.empty(size, np.uint8)
        self._kept.append(fresh)
        if len(self._kept) > MAX_KEPT_BUFFERS:
            self._kept.pop(0)
        return fresh


def _pieces(parts: Sequence[Buffer], *, chunk: int) -> list[memoryview]:
    """Cut the parts into pieces of at most a chunk; the first one holds the fixed header."""
    views = [memoryview(part) for part in parts]
    return [view[start : start + chunk] for view in views for start in range(0, len(view), chunk)]


def wait_until(condition: Callable[[], bool], *, timeout: float) -> bool:
    """Poll until the condition holds or the time is up: first spinning, then with growing naps."""
    if timeout <= 0:
        return condition()
    start = time.perf_counter()
    nap = MIN_NAP_SECONDS
    while not condition():
        waited = time.perf_counter() - start
        if waited >= timeout:
            return False
        if waited > SPIN_SECONDS:
            time.sleep(min(nap, timeout - waited))
            nap = min(nap * 1.5, MAX_NAP_SECONDS)
    return True
