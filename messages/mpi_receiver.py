"""Frames that come in over MPI, several at once.

A frame travels as one or more MPI messages on one tag. The first message holds at least the fixed
part of the header, so the receiver knows the length of the whole before it allocates. MPI holds
back the data of a large message until its receiver answers, and on a slow network each answer takes
a round trip. So every message is answered as soon as it is announced, whoever else is still
sending. Frames of one sender are passed on in the order in which they were sent.

*Memory.* The system gives memory to bytes that arrive, and not to those that are announced. What
all senders together have announced is no longer than the limit for a single frame: a frame that
would exceed it waits until others are complete.

*Buffers.* Buffers for large frames are kept, and used again once nobody refers to them. Page faults
of a fresh buffer of 16 MiB cost about as much as the transfer itself.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from .errors import MessageError, TimeoutExpired, role_name
from .frame import frame_length
from .wire import LOST

if TYPE_CHECKING:
    from mpi4py import MPI

    from .mpi_losses import Losses

__all__ = ["MIN_KEPT_BYTES", "TAG", "FrameReceiver"]

TAG: Final = 1
MAX_KEPT_BUFFERS: Final = 4
"""Number of large receive buffers that are kept."""
MIN_KEPT_BYTES: Final = 1 << 20
MAX_KEPT_BYTES: Final = 1 << 26
MAX_LOOK_SECONDS: Final = 1.0
"""Seconds between two looks that count at most against a sender: a role may compute for hours."""
MIN_BYTES_PER_SECOND: Final = 1000
"""Rate below which a frame uses up its receiver's patience, though a little of it still comes."""

Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class _Frame:
    """A frame of which not all has come."""

    buffer: Bytes
    size: int
    """Bytes that have come, or that MPI is receiving."""
    requests: list[tuple[MPI.Request, int]]
    """Messages that MPI is receiving, with their sizes."""
    granted: int
    """Bytes of the limit that the frame takes up."""
    length: int | None = None
    """Bytes of the whole; `None` until the first message is there."""
    stalled: float = 0.0
    """Seconds for which too little of the frame has come."""

    @property
    def lacks_room(self) -> bool:
        """Whether the buffer is too short for the whole frame."""
        return self.length is not None and self.length > len(self.buffer)


@dataclass(slots=True)
class _Edge:
    """What is unfinished from one sender."""

    frame: _Frame | None = None
    messages: deque[tuple[MPI.Message, int]] = field(default_factory=deque)
    """Announced messages, with their sizes, that MPI does not receive yet."""


class FrameReceiver:
    """Takes in the frames of all ranks of a communicator."""

    def __init__(
        self, comm: MPI.Comm, *, limit: int, patience: float, losses: Losses | None = None
    ) -> None:
        """Begin with nothing under way.

        Args:
            comm: the communicator.
            limit: bytes that all senders together may announce, and so of the longest frame.
            patience: seconds in which the next message of a frame that has begun must arrive.
            losses: what MPI knows of lost ranks, where the others go on without them.
        """
        from mpi4py import MPI

        self.arrived: deque[tuple[int, memoryview]] = deque()
        """Whole frames with their senders, in the order in which they were completed."""
        self._comm = comm
        self._byte = MPI.BYTE
        self._any_source = MPI.ANY_SOURCE
        self._status = MPI.Status()
        self._limit = limit
        self._patience = patience
        self._edges: dict[int, _Edge] = {}
        self._granted = 0
        self._looked_at = 0.0
        self._kept: list[Bytes] = []
        self._losses = losses
        self._dead: list[_Frame] = []
        """Unfinished frames of lost ranks: MPI may still refer to their buffers."""

    @property
    def is_receiving(self) -> bool:
        """Whether a frame has begun and is not complete."""
        return bool(self._edges)

    def look(self) -> bool:
        """Take in what has come, and tell whether a whole frame is there.

        Raises:
            TimeoutExpired: a frame has begun and does not go on.
            MessageError: a frame is longer than it was to be, or than memory allows.
        """
        if self._losses is None:
            return self._look()
        with self._losses.noticing():
            self._look()
        if fresh := self._losses.fresh():
            with self._losses.noticing():
                self._look_for_the_rest()
        for rank in fresh:
            self._forget(rank)
            self.arrived.append((rank, LOST))
        return bool(self.arrived)

    def _look_for_the_rest(self) -> None:
        """Take in all that is there: what lost ranks have sent before comes before their loss."""
        before = -1
        while len(self.arrived) > before:
            before = len(self.arrived)
            self._look()

    def _forget(self, rank: int) -> None:
        """Drop what is unfinished from a rank that is lost, and grant its bytes to others."""
        edge = self._edges.pop(rank, None)
        if edge is None or edge.frame is None:
            return
        self._granted -= edge.frame.granted
        self._dead.append(edge.frame)

    def _look(self) -> bool:
        before = len(self.arrived)
        if self._edges:
            self._go_on()
        while len(self.arrived) == before:
            message = self._comm.Improbe(self._any_source, TAG, self._status)
            if message is None:
                break
            if not self._edges:
                self._looked_at = time.perf_counter()
            source, size = self._status.Get_source(), self._status.Get_count(self._byte)
            if not 0 <= size <= self._limit:  # MPI has no number for the longest ones
                raise MessageError(
                    f"expected messages of at most {self._limit} bytes from {role_name(source)}, "
                    "found a longer one announced"
                )
            edge = self._edges.setdefault(source, _Edge())
            edge.messages.append((message, size))
            self._advance(source, edge)
        return bool(self.arrived)

    def _go_on(self) -> None:
        """Look after all unfinished frames."""
        now = time.perf_counter()
        passed, self._looked_at = min(now - self._looked_at, MAX_LOOK_SECONDS), now
        for source, edge in [*self._edges.items()]:
            frame = edge.frame
            self._advance(source, edge)
            if frame is None or frame is not edge.frame or frame.lacks_room:
                continue
            frame.stalled += passed
            if frame.stalled > self._patience:
                raise TimeoutExpired(
                    f"expected the rest of a frame from {role_name(source)}, found nothing more, "
                    f"or next to nothing, in {self._patience:g} s: raise the timeout if that role "
                    "needs longer"
                )

    def _advance(self, source: int, edge: _Edge) -> None:
        """Receive what was announced by one sender, and pass on the frames that are complete."""
        while True:
            if edge.frame is None:
                if not edge.messages:
                    del self._edges[source]
                    return
                if not self._grant(edge.messages[0][1]):
                    return
                edge.frame = self._begin(*edge.messages.popleft(), source=source)
            frame = edge.frame
            self._test(frame)
            if frame.length is None:
                if frame.requests:
                    return
                self._read_length(frame)
            if frame.lacks_room and not self._make_room(frame, source):
                return
            while edge.messages and frame.size < (frame.length or 0):
                self._receive(frame, *edge.messages.popleft(), source=source)
            if frame.requests or frame.size != frame.length:
                return
            self.arrived.append((source, frame.buffer.data[: frame.size]))
            self._granted -= frame.granted
            edge.frame = None

    def _begin(self, message: MPI.Message, size: int, *, source: int) -> _Frame:
        buffer = self._buffer(size, source=source)
        return _Frame(buffer, size, [(message.Irecv([buffer, size, self._byte]), size)], size)

    def _receive(self, frame: _Frame, message: MPI.Message, size: int, *, source: int) -> None:
        """Receive a further message of a frame; MPI keeps the order on an edge."""
        start, end = frame.size, frame.size + size
        left = (frame.length or start) - start
        if size > left:
            raise MessageError(
                f"expected at most {left} bytes more of a frame from {role_name(source)}, "
                f"found {size}"
            )
        request = message.Irecv([frame.buffer[start:end], size, self._byte])
        frame.requests.append((request, size))
        frame.size = end

    @staticmethod
    def _test(frame: _Frame) -> None:
        """Note which messages have come. Few bytes give the sender little time for the next."""
        left = [each for each in frame.requests if not each[0].Test()]
        if len(left) < len(frame.requests):
            come = sum(size for _, size in frame.requests) - sum(size for _, size in left)
            frame.requests = left
            frame.stalled = max(0.0, frame.stalled - come / MIN_BYTES_PER_SECOND)

    def _read_length(self, frame: _Frame) -> None:
        """Read from the header how long the whole frame is."""
        try:
            length = frame_length(frame.buffer.data[: frame.size], limit=self._limit)
        except MessageError:
            length = frame.size  # Bytes that are no frame are passed on, for others to refuse.
        frame.length = max(length, frame.size)
        if frame.lacks_room:
            self._granted -= frame.granted
            frame.granted = 0

    def _make_room(self, frame: _Frame, source: int) -> bool:
        """Make a buffer for the whole frame, unless other frames must be complete before."""
        length = frame.length or 0
        if not self._grant(length):
            return False
        frame.granted = length
        whole = self._buffer(length, source=source)
        whole[: frame.size] = frame.buffer[: frame.size]
        frame.buffer = whole
        return True

    def _grant(self, size: int) -> bool:
        """Grant bytes of the limit, if so many are left; to one frame alone they always are."""
        if self._granted and self._granted + size > self._limit:
            return False
        self._granted += size
        return True

    def _buffer(self, size: int, *, source: int) -> Bytes:
        """Find a kept buffer that nobody refers to, or make one for a frame of this sender."""
        if not MIN_KEPT_BYTES <= size <= MAX_KEPT_BYTES:
            # The system gives memory to what is written, so a false length costs none.
            try:
                return np.empty(size, np.uint8)
            except MemoryError:
                raise MessageError(
                    f"expected a frame that fits in memory from {role_name(source)}, "
                    f"found one of {size} bytes"
                ) from None
        for kept in self._kept:
            # The references are the list's, the loop's, and that of getrefcount's argument.
            if size <= len(kept) < 2 * size and sys.getrefcount(kept) <= 3:
                return kept
        fresh = np.empty(size, np.uint8)
        self._kept.append(fresh)
        if len(self._kept) > MAX_KEPT_BUFFERS:
            self._kept.pop(0)
        return fresh
