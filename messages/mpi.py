"""Roles as MPI ranks. The communicator is an argument; this module never initialises MPI.

A frame travels as one or more MPI messages on one tag. Small parts are joined, and large ones leave
from where they are. No piece is longer than `chunk`, because MPI's counts have 32 bits in many
builds. The first message holds at least the fixed part of the header. `mpi_receiver` takes frames
in.

*Distance.* MPI announces a message of more than about 64 KiB, and its data leave once the receiver
has answered. Between hosts that is a round trip for each frame, for which the sender is held. So a
frame to another host is cut into messages that leave at once, unless it is so long that a round
trip matters little.

*Broadcasts.* The frames of a broadcast are handed to MPI together, and its sender waits for all of
them. Otherwise each receiver would wait until the one before has taken its frame in.

*Waiting.* MPI's own blocking calls spin: three ranks that wait would take two cores from the one
that computes. Here a wait spins for `SPIN_SECONDS`, so that small messages are quick. Then it
sleeps, longer each time, up to `MAX_NAP_SECONDS`. While a send waits for its receiver, arriving
frames are taken in. So two roles that send each other large frames both get on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from .mpi_receiver import TAG, FrameReceiver
from .wire import MAX_FRAME_BYTES, Buffer, WireTimeout

if TYPE_CHECKING:
    from mpi4py import MPI

    from .mpi_losses import Losses

__all__ = ["MPIWire", "wait_until"]

MAX_CHUNK_BYTES: Final = 1 << 30
MAX_JOINED_BYTES: Final = 1 << 16
"""Parts of at most this size together are joined.

One short copy is cheaper than a second MPI message.
"""
MAX_EAGER_BYTES: Final = 60 << 10
"""Longest message that MPI surely sends without an answer: Open MPI over TCP allows 64 KiB."""
MAX_CUT_BYTES: Final = 4 << 20
"""Longest frame that is cut: MPI copies each of these messages before it leaves."""
MAX_POSTED_BYTES: Final = 1 << 26
"""Bytes of a broadcast that are on their way to several receivers at once."""
POLLS: Final = 64
"""Number of polls before a wait begins to look at the clock as well."""
SPIN_SECONDS: Final = 500e-6
MIN_NAP_SECONDS: Final = 20e-6
MAX_NAP_SECONDS: Final = 1e-3


@dataclass(slots=True)
class _PostedFrame:
    """A frame that has not left as a whole."""

    receiver: int
    size: int
    requests: list[MPI.Request] = field(default_factory=list)


class MPIWire:
    """One rank's end of a communicator that sottovoce uses alone."""

    def __init__(
        self,
        comm: MPI.Comm,
        *,
        chunk: int = MAX_CHUNK_BYTES,
        limit: int = MAX_FRAME_BYTES,
        patience: float = float("inf"),
        distant: Container[int] = (),
        losses: Losses | None = None,
    ) -> None:
        """Make this rank's end.

        Args:
            comm: the communicator.
            chunk: the longest MPI message, in bytes.
            limit: the longest frame that is accepted, in bytes.
            patience: seconds in which the next message of a frame that has begun must arrive.
            distant: the ranks on other hosts.
            losses: what MPI knows of lost ranks, where the others go on without them. Otherwise the
                launcher ends the run.
        """
        from mpi4py import MPI

        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._comm = comm
        self._byte = MPI.BYTE
        self._chunk = chunk
        self._distant = distant
        self._losses = losses
        self._noticing = nullcontext if losses is None else losses.noticing
        self._posted: list[_PostedFrame] = []
        self._receiver = FrameReceiver(comm, limit=limit, patience=patience, losses=losses)

    def clock(self) -> float:
        return time.perf_counter()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        size = sum(map(len, parts))
        is_posted = more and sum(each.size for each in self._posted) + size <= MAX_POSTED_BYTES
        if is_posted:
            parts = [b"".join(parts)]  # The caller may change what it has sent.
        with self._noticing():  # what is for a lost rank is lost with it
            self._post(parts, size, to=to)
        if not is_posted:
            self._wait_until_sent(timeout)

    def _post(self, parts: Sequence[Buffer], size: int, *, to: int) -> None:
        """Hand a frame to MPI."""
        chunk = self._chunk
        if size <= MAX_CUT_BYTES and to in self._distant:
            chunk = min(chunk, MAX_EAGER_BYTES)
        if size <= min(MAX_JOINED_BYTES, chunk):
            pieces: Sequence[Buffer] = [parts[0] if len(parts) == 1 else b"".join(parts)]
        else:
            pieces = _pieces(parts, chunk=chunk)
        frame = _PostedFrame(to, size)
        self._posted.append(frame)
        for piece in pieces:
            request = self._comm.Isend([piece, len(piece), self._byte], to, TAG)
            frame.requests.append(request)

    def _wait_until_sent(self, timeout: float) -> None:
        """Wait until all frames that were posted have left; take frames in meanwhile."""

        def sent() -> bool:
            lost = () if self._losses is None else self._losses.ranks
            for frame in self._posted:
                with self._noticing():  # a loss ends no wait for frames to others
                    while frame.requests and frame.requests[-1].Test():
                        frame.requests.pop()
            self._posted = [
                frame for frame in self._posted if frame.requests and frame.receiver not in lost
            ]
            if not self._posted:
                return True
            self._receiver.look()
            return False

        if not wait_until(sent, timeout=timeout):
            raise WireTimeout(self._posted[0].receiver)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        receiver = self._receiver
        if not receiver.arrived:
            for _ in range(POLLS):
                if receiver.look():
                    break
            else:
                wait_until(receiver.look, timeout=timeout)
                if timeout > 0 and receiver.is_receiving:
                    # What has begun arrives, or the receiver loses its patience.
                    wait_until(receiver.look, timeout=float("inf"))
        return receiver.arrived.popleft() if receiver.arrived else None

    def abort(self, status: int) -> NoReturn:
        self._comm.Abort(status)
        raise SystemExit(status)  # A library's Abort may return.


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
            # MPI reads from its sockets after it has looked: what came meanwhile is seen at the
            # second look, which would otherwise be after another nap.
            if condition():
                break
    return True
