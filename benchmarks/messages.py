"""The message layer against raw mpi4py: latency, bandwidth, and the codec against copies.

    python benchmarks/messages.py

It starts two ranks of itself. The alternative sends raw buffers.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sottovoce.launch.mpiexec import find_launcher
from sottovoce.messages import Role, message
from sottovoce.messages.message import decode, encode
from sottovoce.messages.mpi import MPIWire

ROUNDS = 9


@message
class Block:
    data: NDArray[np.uint8]


def main() -> None:
    if "SOTTOVOCE_BENCH" in os.environ:
        measure()
        return
    launcher = find_launcher(None)
    command = launcher.command(
        [sys.executable, __file__], ranks=2, variables=[], hosts=None, hostfile=None, extra=[]
    )
    subprocess.run(
        command, env={**launcher.environment(), "SOTTOVOCE_BENCH": "1"}, check=True, timeout=600
    )


def measure() -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    me, other = comm.rank, 1 - comm.rank
    role = Role(MPIWire(comm.Dup()), protocol="bench", kinds=[Block])

    def ping_pong(repeats: int, send: Callable[[], object], receive: Callable[[], object]) -> float:
        """Return the median of half a round trip in seconds, without the first round."""
        times = []
        for _ in range(ROUNDS + 1):
            comm.Barrier()
            started = time.perf_counter()
            for _ in range(repeats):
                if me == 0:
                    send()
                    receive()
                else:
                    receive()
                    send()
            times.append((time.perf_counter() - started) / repeats / 2)
        return float(np.median(times[1:]))

    if me == 0:
        print(f"{'':>10} {'raw mpi4py':>14} {'sottovoce':>14}  ratio of times")
    for label, size, repeats in (
        ("1 KiB", 1 << 10, 2000),
        ("64 KiB", 1 << 16, 500),
        ("16 MiB", 1 << 24, 12),
    ):
        out, into = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        send, receive = (
            partial(comm.Send, [out, MPI.BYTE], other),
            partial(comm.Recv, [into, MPI.BYTE], other),
        )
        raw = ping_pong(repeats, send, receive)
        with role.phase(label):
            ours = ping_pong(
                repeats,
                partial(send_block, role, out, other),
                partial(role.receive, Block, source=other),
            )
        if me == 0:
            print(
                f"{label:>10} {raw * 1e6:>11.1f} us {ours * 1e6:>11.1f} us  "
                f"{ours / raw:.2f} (bandwidth {raw / ours:.0%})"
            )
    if me == 0:
        codec()


def send_block(role: Role, data: NDArray[np.uint8], other: int) -> None:
    """Make a new message each time, as a protocol does."""
    role.send(Block(data), to=other)


def codec() -> None:
    """Time encoding and decoding of a 16 MiB array against two copies of it."""
    data, target = np.zeros(1 << 24, np.uint8), np.ones(1 << 24, np.uint8)
    frame = memoryview(b"".join(encode(Block(data)).parts()))

    def best(act: Callable[[], object]) -> float:
        times = []
        for _ in range(15):
            started = time.perf_counter()
            act()
            times.append(time.perf_counter() - started)
        return min(times)

    def copy_twice() -> None:
        target[:] = data
        data[:] = target

    copies = best(copy_twice)
    ours = best(lambda: encode(Block(data)).parts()) + best(lambda: decode(Block, frame))
    print(
        f"encode + decode of 16 MiB: {ours * 1e6:.0f} us, two copies {copies * 1e6:.0f} us, "
        f"ratio {ours / copies:.4f}"
    )


if __name__ == "__main__":
    main()
