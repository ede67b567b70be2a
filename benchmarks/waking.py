"""How late a waiting role notices a frame: over TCP and over shared memory, on one host.

    python benchmarks/waking.py

A role sends a frame after a pause of random length, with the time, and the other one compares. Both
read one clock, as they are on one host.
"""

import os
import struct
import subprocess
import sys
import time

import numpy as np

from sottovoce.launch.mpiexec import find_launcher
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.mpi import MPIWire

FRAMES = 200
PAUSES = ((0.0, 0.0004), (0.005, 0.015), (0.05, 0.08))
"""Seconds between frames: while the receiver spins, and while it naps."""


def main() -> None:
    if "SOTTOVOCE_BENCH" in os.environ:
        measure()
        return
    launcher = find_launcher(None)
    for name, variables in (("tcp", {"OMPI_MCA_btl": "tcp,self"}), ("shared memory", {})):
        command = launcher.command(
            [sys.executable, __file__],
            ranks=2,
            variables=[],
            hosts=None,
            hostfile=None,
            extra=[],
        )
        environment = {**launcher.environment(), **variables, "SOTTOVOCE_BENCH": name}
        subprocess.run(command, env=environment, check=True, timeout=300)


def measure() -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    wire = MPIWire(comm.Dup())
    generator = np.random.default_rng(1)
    for shortest, longest in PAUSES:
        late = []
        for sequence in range(FRAMES):
            if comm.rank == 0:
                time.sleep(generator.uniform(shortest, longest))
                content = struct.pack("<d", time.monotonic())
                header = pack_header(Header(0, len(content), sequence, 0, 1, "bench", "a", "Time"))
                wire.send([header, content], to=1, timeout=60)
                while wire.arrive(timeout=60) is None:  # The other one is ready for the next.
                    pass
            else:
                while (arrival := wire.arrive(timeout=60)) is None:
                    pass
                now = time.monotonic()
                late.append(now - struct.unpack("<d", bytes(arrival[1][-8:]))[0])
                reply = pack_header(Header(0, 0, sequence, 1, 0, "bench", "a", "Ready"))
                wire.send([reply], to=0, timeout=60)
        if late:
            low, middle, high = 1e3 * np.quantile(late, (0.1, 0.5, 0.9))
            print(
                f"{os.environ['SOTTOVOCE_BENCH']}, pauses of {1e3 * shortest:g} to "
                f"{1e3 * longest:g} ms: {middle:.2f} ms late in the median, 10 % below {low:.2f}, "
                f"10 % above {high:.2f}, mean {1e3 * np.mean(late):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
