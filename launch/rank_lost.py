"""What ranks of a run that goes on tell each other of parties that stay lost (`runs.lost_parties`).

Each rank sends its list to every other one by itself. In an exchange of all with all a rank may
pass on what others have sent, and could tell two of them different things.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import CURATOR, UsageError, role_name
from ..messages.wire import Buffer
from .rank_setup import await_all, together

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["agree_on_lost"]

LIST, SIZE, FRAMES = range(3)
"""Tags of MPI. Only the set-up uses this communicator, up to here."""
MAX_RELEASED: Final = 1 << 30
"""Bytes of releases that a lost party may have sent."""


def agree_on_lost(
    comm: MPI.Comm,
    timeout: float,
    lost: Collection[int],
    *,
    left: Sequence[Buffer],
    run: str,
) -> dict[int, list[bytes]]:
    """Refuse to go on unless all ranks have this list of lost parties. All call it together.

    Args:
        comm: the communicator of the set-up.
        timeout: seconds that any wait may last.
        lost: the parties that stay lost.
        left: frames of the releases that this rank has sent to the curator.
        run: name of the run.

    Returns:
        At the curator's rank, these frames of each lost party.

    Raises:
        UsageError: a rank has another list.
    """
    size, rank = comm.Get_size(), comm.Get_rank()
    mine = np.array([number in lost for number in range(size)], np.uint8)
    lists = np.zeros((size, size), np.uint8)
    lists[rank] = mine
    others = [number for number in range(size) if number != rank]
    requests = [comm.Irecv(lists[other], source=other, tag=LIST) for other in others]
    requests += [comm.Isend(mine, dest=other, tag=LIST) for other in others]
    await_all(requests, timeout)

    def compare() -> None:
        for other in others:
            if not np.array_equal(lists[other], mine):
                raise UsageError(
                    f"expected the same lost parties at all ranks in run {run}, found others at "
                    f"{role_name(other)}: a rank has sent others another list"
                )

    together(comm, timeout, compare)
    return _collect(comm, timeout, lost, left=left)


def _collect(
    comm: MPI.Comm, timeout: float, lost: Collection[int], *, left: Sequence[Buffer]
) -> dict[int, list[bytes]]:
    """Send the curator's rank what lost parties have released, from each of them alone."""
    rank = comm.Get_rank()
    if rank in lost:
        packed = np.frombuffer(msgspec.msgpack.encode([bytes(frame) for frame in left]), np.uint8)
        length = np.array([len(packed)], np.int64)
        requests = [
            comm.Isend(length, dest=CURATOR, tag=SIZE),
            comm.Isend(packed, dest=CURATOR, tag=FRAMES),
        ]
        await_all(requests, timeout)
    if rank != CURATOR:
        return {}
    released: dict[int, list[bytes]] = {}
    for party in sorted(lost):
        length = np.zeros(1, np.int64)
        await_all([comm.Irecv(length, source=party, tag=SIZE)], timeout)
        if not 0 < length[0] <= MAX_RELEASED:
            raise UsageError(
                f"expected releases of at most {MAX_RELEASED} bytes from {role_name(party)}, "
                "found more"
            )
        frames: npt.NDArray[np.uint8] = np.zeros(int(length[0]), np.uint8)
        await_all([comm.Irecv(frames, source=party, tag=FRAMES)], timeout)
        try:
            released[party] = msgspec.msgpack.decode(frames.tobytes(), type=list[bytes])
        except msgspec.MsgspecError:
            raise UsageError(
                f"expected frames of releases from {role_name(party)}, found other bytes"
            ) from None
    return released
