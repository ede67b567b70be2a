"""What ranks of a run that goes on tell each other of their logs, and of parties that stay lost.

Each rank sends its word to every other one by itself. In an exchange of all with all a rank may
pass on what others have sent, and could tell two of them different things. Then all compare what
they have heard, each with each. So all that is decided of it, such as which parties stay lost
(`runs.lost_parties`), is the same at all ranks that follow the protocol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import CURATOR, UsageError, role_name
from ..messages.wire import Buffer
from ..runs.lost_releases import valid_releases
from .rank_setup import await_all, together

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["agree_on", "collect_releases"]

T = TypeVar("T")

LENGTH, WORD, DIGEST, SIZE, FRAMES = range(5)
"""Tags of MPI. Only the set-up uses this communicator, up to here."""
MAX_WORD: Final = 1 << 24
"""Bytes of what a rank says of its log."""
MAX_RELEASED: Final = 1 << 30
"""Bytes of releases of a lost party. For more it is charged all that it may spend."""
UNREADABLE: Final = [b""]
"""What stands for releases of which nobody knows what they have cost."""


def agree_on(comm: MPI.Comm, timeout: float, word: T, *, kind: Any, run: str) -> list[T]:
    """Learn the word of each rank from itself, and that all have heard the same of all.

    All ranks call it together.

    Args:
        comm: the communicator of the set-up.
        timeout: seconds that any wait may last.
        word: what this rank says.
        kind: the type of what ranks say.
        run: name of the run.

    Returns:
        The words of all ranks.

    Raises:
        UsageError: a rank has sent two others different words, or something else than a word.
    """
    words = _send_to_each(comm, timeout, msgspec.json.encode(word))
    digest = hashlib.sha256(msgspec.msgpack.encode(words)).digest()
    digests = _swap(comm, timeout, np.frombuffer(digest, np.uint8), tag=DIGEST)

    def compare() -> list[T]:
        for other, heard in enumerate(digests):
            if heard.tobytes() != digest:
                raise UsageError(
                    f"expected that all ranks have heard the same of all logs of run {run}, found "
                    f"that {role_name(other)} has heard something else: a rank tells others "
                    "different things of its log"
                )
        return [_decoded(word, rank, kind=kind) for rank, word in enumerate(words)]

    return together(comm, timeout, compare)


def collect_releases(
    comm: MPI.Comm, timeout: float, lost: Collection[int], *, left: Sequence[Buffer]
) -> dict[int, list[bytes]]:
    """Send the curator's rank what lost parties have released, from each of them alone.

    All ranks call it together.

    Args:
        comm: the communicator of the set-up.
        timeout: seconds that any wait may last.
        lost: the parties that stay lost.
        left: frames of the releases that this rank has sent to the curator.

    Returns:
        At the curator's rank, these frames of each lost party.
    """
    rank = comm.Get_rank()
    if rank in lost:
        encoded = msgspec.msgpack.encode([bytes(frame) for frame in left])
        if len(encoded) > MAX_RELEASED:
            encoded = msgspec.msgpack.encode(UNREADABLE)
        packed = np.frombuffer(encoded, np.uint8)
        length = np.array([len(packed)], np.int64)
        requests = [
            comm.Isend(length, dest=CURATOR, tag=SIZE),
            comm.Isend(packed, dest=CURATOR, tag=FRAMES),
        ]
        await_all(requests, timeout)

    def collect() -> dict[int, list[bytes]]:
        if rank != CURATOR:
            return {}
        return {party: _receive_releases(comm, timeout, party) for party in sorted(lost)}

    return together(comm, timeout, collect)


def _receive_releases(comm: MPI.Comm, timeout: float, party: int) -> list[bytes]:
    """Receive the frames of a lost party; for what is no such frame all is charged it may spend."""
    length = np.zeros(1, np.int64)
    await_all([comm.Irecv(length, source=party, tag=SIZE)], timeout)
    if not 0 < length[0] <= MAX_RELEASED:
        return valid_releases(UNREADABLE, party=party)
    packed: npt.NDArray[np.uint8] = np.zeros(int(length[0]), np.uint8)
    await_all([comm.Irecv(packed, source=party, tag=FRAMES)], timeout)
    try:
        frames = msgspec.msgpack.decode(packed.tobytes(), type=list[bytes])
    except msgspec.MsgspecError:
        frames = UNREADABLE
    return valid_releases(frames, party=party)


def _send_to_each(comm: MPI.Comm, timeout: float, word: bytes) -> list[bytes]:
    """Send bytes to every other rank by itself, and receive theirs; one's own are among them."""
    lengths = _swap(comm, timeout, np.array([len(word)], np.int64), tag=LENGTH)

    def refuse_too_long() -> None:
        for rank, (length,) in enumerate(lengths):
            if not 0 <= length <= MAX_WORD:
                raise UsageError(
                    f"expected at most {MAX_WORD} bytes of {role_name(rank)} on its log, found more"
                )

    together(comm, timeout, refuse_too_long)
    sizes = [int(length) for (length,) in lengths]
    words = _swap(comm, timeout, np.frombuffer(word, np.uint8), tag=WORD, sizes=sizes)
    return [each.tobytes() for each in words]


def _swap(
    comm: MPI.Comm,
    timeout: float,
    mine: npt.NDArray[Any],
    *,
    tag: int,
    sizes: Sequence[int] | None = None,
) -> list[npt.NDArray[Any]]:
    """Send an array to each other rank, and receive one of each, as long as this or of `sizes`."""
    size, rank = comm.Get_size(), comm.Get_rank()
    arrays = [
        np.zeros(len(mine) if sizes is None else sizes[other], mine.dtype) for other in range(size)
    ]
    arrays[rank] = mine
    others = [number for number in range(size) if number != rank]
    requests = [comm.Irecv(arrays[other], source=other, tag=tag) for other in others]
    requests += [comm.Isend(mine, dest=other, tag=tag) for other in others]
    await_all(requests, timeout)
    return arrays


def _decoded(word: bytes, rank: int, *, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(word, type=kind)
    except msgspec.MsgspecError:
        raise UsageError(
            f"expected what {role_name(rank)} says of its log, found other bytes"
        ) from None
