"""The laws of a transport; every role runs each of them at once, on its end of the wire.

Under pytest the roles are threads. Started by mpiexec, this file runs all laws on MPI and prints a
line for each.
"""

import hashlib
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable

from sottovoce.messages import Wire
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.wire import Buffer

SMALL_CHUNK = 1000
MEDIUM_CHUNK = 1 << 18
"""Chunk for laws about megabytes, which thousands of small chunks would make last minutes."""


def frame(payload: bytes, *, sender: int, to: int, sequence: int = 0) -> list[Buffer]:
    header = pack_header(Header(0, len(payload), sequence, sender, to, "laws", "all", "Bytes"))
    return [header, payload[: len(payload) // 3], memoryview(payload)[len(payload) // 3 :]]


def payload(size: int, *, sender: int, to: int, sequence: int = 0) -> bytes:
    block = hashlib.sha256(f"{sender} {to} {sequence}".encode()).digest()
    return (block * (size // len(block) + 1))[:size]


def take(wire: Wire) -> tuple[int, memoryview]:
    until = wire.clock() + 60
    while wire.clock() < until:
        arrived = wire.arrive(timeout=1)
        if arrived is not None:
            return arrived
    raise AssertionError("nothing came in a minute")


def exchange(wire: Wire, sizes: list[int]) -> None:
    """Send frames of these sizes to all others, and check that all frames arrive in order."""
    others = [rank for rank in range(wire.size) if rank != wire.rank]
    for sequence, size in enumerate(sizes):
        for to in others:
            data = payload(size, sender=wire.rank, to=to, sequence=sequence)
            wire.send(frame(data, sender=wire.rank, to=to, sequence=sequence), to=to, timeout=60)
    heard: dict[int, int] = defaultdict(int)
    for _ in range(len(sizes) * len(others)):
        source, arrived = take(wire)
        sequence, heard[source] = heard[source], heard[source] + 1
        expected = payload(sizes[sequence], sender=source, to=wire.rank, sequence=sequence)
        assert arrived == b"".join(frame(expected, sender=source, to=wire.rank, sequence=sequence))


def law_small_frames_arrive_in_order(wire: Wire) -> None:
    exchange(wire, [n % 50 for n in range(200)])


def law_sizes_around_every_border(wire: Wire) -> None:
    borders = [SMALL_CHUNK, 4096, 1 << 16]
    exchange(
        wire,
        [0, 1, *[border + step for border in borders for step in (-64, -33, -32, -1, 0, 1, 31)]],
    )


def law_large_frames_cross_without_deadlock(wire: Wire) -> None:
    exchange(wire, [6 << 20, 3, 2 << 20])


def law_a_shorter_frame_may_follow_a_longer_one(wire: Wire) -> None:
    """A kept buffer may be longer than the frame; bytes past its end belong to nobody."""
    to, source = (wire.rank + 1) % wire.size, (wire.rank - 1) % wire.size
    for sequence, size in enumerate((3 << 20, 2 << 20, (2 << 20) - 77, 5 << 19, 1 << 20, 3 << 19)):
        data = payload(size, sender=wire.rank, to=to, sequence=sequence)
        wire.send(frame(data, sender=wire.rank, to=to, sequence=sequence), to=to, timeout=60)
        heard, arrived = take(wire)
        expected = payload(size, sender=source, to=wire.rank, sequence=sequence)
        assert heard == source
        assert arrived == b"".join(frame(expected, sender=source, to=wire.rank, sequence=sequence))
        del arrived


def law_everybody_sends_to_one(wire: Wire) -> None:
    if wire.rank:
        data = payload(3 << 20, sender=wire.rank, to=0)
        wire.send(frame(data, sender=wire.rank, to=0), to=0, timeout=60)
        return
    seen = {take(wire)[0] for _ in range(wire.size - 1)}
    assert seen == set(range(1, wire.size))


def law_the_sender_may_change_its_buffer(wire: Wire) -> None:
    """When `send` returns, the buffer may be changed without changing the frame."""
    mine = bytearray(1 << 18)
    to = (wire.rank + 1) % wire.size
    for sequence in range(5):
        mine[:] = bytes([sequence]) * len(mine)
        header = pack_header(Header(0, len(mine), sequence, wire.rank, to, "laws", "all", "Bytes"))
        wire.send([header, mine], to=to, timeout=60)
    for sequence in range(5):
        _, data = take(wire)
        assert data[-len(mine) :] == bytes([sequence]) * len(mine)


def law_a_broadcast_leaves_at_once(wire: Wire) -> None:
    """Frames to several receivers are sent together; each may be changed after its own call."""
    others = [rank for rank in range(wire.size) if rank != wire.rank]
    mine = bytearray(3 << 20)
    for sequence in range(3):
        for to in others:
            mine[:] = bytes([16 * sequence + to]) * len(mine)
            header = Header(0, len(mine), sequence, wire.rank, to, "laws", "all", "Bytes")
            more = to != others[-1]
            wire.send([pack_header(header), mine], to=to, timeout=60, more=more)
        mine[:] = bytes(len(mine))
    heard: dict[int, int] = defaultdict(int)
    for _ in range(3 * len(others)):
        source, data = take(wire)
        expected = bytes([16 * heard[source] + wire.rank]) * len(mine)
        assert data[-len(mine) :] == expected
        heard[source] += 1


def law_received_frames_stay_as_they_are(wire: Wire) -> None:
    """A buffer is not used again while anything refers to a part of it."""
    to = (wire.rank + 1) % wire.size
    kept = []
    for sequence in range(8):
        data = payload(2 << 20, sender=wire.rank, to=to, sequence=sequence)
        wire.send(frame(data, sender=wire.rank, to=to, sequence=sequence), to=to, timeout=60)
        source, arrived = take(wire)
        kept.append((source, sequence, arrived[-(2 << 20) :]))
    for source, sequence, arrived in kept:
        assert arrived == payload(2 << 20, sender=source, to=wire.rank, sequence=sequence)


def law_malformed_bytes_are_passed_on(wire: Wire) -> None:
    """The layer above refuses malformed bytes; the transport passes them on."""
    to = (wire.rank + 1) % wire.size
    for junk in (b"x", b"junk" * 100, bytes(40)):
        wire.send([junk], to=to, timeout=60)
    assert [bytes(take(wire)[1]) for _ in range(3)] == [b"x", b"junk" * 100, bytes(40)]


def law_a_wait_has_an_end(wire: Wire) -> None:
    started = wire.clock()
    assert wire.arrive(timeout=0.2) is None
    assert wire.clock() - started >= 0.19


LAWS: dict[str, Callable[[Wire], None]] = {
    name.removeprefix("law_"): law
    for name, law in list(globals().items())
    if name.startswith("law_")
}


LARGE = frozenset(
    [
        "large_frames_cross_without_deadlock",
        "a_shorter_frame_may_follow_a_longer_one",
        "everybody_sends_to_one",
        "a_broadcast_leaves_at_once",
        "received_frames_stay_as_they_are",
    ]
)


def chunk_for(name: str) -> int:
    """Choose the chunk that cuts the frames of a law."""
    return MEDIUM_CHUNK if name in LARGE else SMALL_CHUNK


def main() -> None:
    """Run every law on MPI: with the usual chunk, with a smaller one, and between hosts."""
    from mpi4py import MPI

    from sottovoce.messages.mpi import MAX_CHUNK_BYTES, MPIWire

    world = MPI.COMM_WORLD
    for name, law in LAWS.items():
        for label, chunk, distant in (
            ("whole", MAX_CHUNK_BYTES, ()),
            ("chunked", chunk_for(name), ()),
            ("distant", MAX_CHUNK_BYTES, range(world.size)),
        ):
            comm = world.Dup()
            try:
                law(MPIWire(comm, chunk=chunk, distant=distant))
            except BaseException:
                traceback.print_exc()
                world.Abort(1)
            comm.Barrier()
            if world.rank == 0:
                sys.stdout.write(f"kept {name} {label}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
