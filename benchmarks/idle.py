"""Cost of waiting: one rank computes while three wait, against one that computes alone.

    python benchmarks/idle.py

It is compared with MPI's own blocking receive, which spins.
"""

import os
import subprocess
import sys
import time

import numpy as np

from sottovoce.launch.mpiexec import find_launcher
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.mpi import MPIWire

ROUNDS = 7


def main() -> None:
    if "SOTTOVOCE_BENCH" in os.environ:
        measure()
        return
    launcher = find_launcher(None)
    for ranks in (1, 4):
        command = launcher.command(
            [sys.executable, __file__],
            ranks=ranks,
            variables=[],
            hosts=None,
            hostfile=None,
            extra=[],
        )
        subprocess.run(
            command, env={**launcher.environment(), "SOTTOVOCE_BENCH": "1"}, check=True, timeout=900
        )


def compute() -> float:
    """Do a fixed amount of work that keeps one core busy for about a second."""
    started = time.perf_counter()
    total = 0
    for number in range(6_000_000):
        total += number * number % 7
    return time.perf_counter() - started


def measure() -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.size == 1:
        compute()
        print(f"alone: {np.median([compute() for _ in range(ROUNDS)]):.3f} s (as one rank)")
        return
    ways = ("blocking receive", "sottovoce", "nobody waits")
    wire = MPIWire(comm.Dup())
    frame = [pack_header(Header(0, 0, 0, 0, 1, "bench", "idle", "Done"))]
    times: dict[str, list[float]] = {way: [] for way in ways}
    buffer = bytearray(1)
    for _ in range(ROUNDS):  # interleaved, because other load on the machine then affects all
        for way in ways:
            if comm.rank == 0:
                times[way].append(compute())
                for rank in range(1, comm.size):
                    if way == "blocking receive":
                        comm.Send([buffer, MPI.BYTE], rank, tag=5)
                    elif way == "sottovoce":
                        wire.send(frame, to=rank, timeout=60)
            elif way == "blocking receive":
                comm.Recv([buffer, MPI.BYTE], 0, tag=5)
            elif way == "sottovoce":
                while wire.arrive(timeout=60) is None:
                    pass
            else:
                time.sleep(0.5)  # no wait for most of the computation
            polite_barrier(comm)
    if comm.rank == 0:
        results = {way: float(np.median(times[way])) for way in ways}
        for way in ways:
            ratio = results[way] / results["nobody waits"]
            print(f"{way:>17}: {results[way]:.3f} s, {ratio:.3f} times as long")


def polite_barrier(comm: object) -> None:
    from sottovoce.messages.mpi import wait_until

    wait_until(comm.Ibarrier().Test, timeout=float("inf"))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
