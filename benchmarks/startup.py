"""Start-up: help, import, and whole runs of head-count over MPI, beside what cannot be avoided.

    python benchmarks/startup.py [REPEATS] [parties=3,31]

The alternative is Python itself: an interpreter that imports numpy, and as many ranks that import
mpi4py, exchange nothing and end. Minimum and median of some repeats, and the ratio of the minima;
then the least CPU time of all processes together, which other work on the machine changes little.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import NamedTuple

from sottovoce.launch.mpiexec import find_launcher


class Times(NamedTuple):
    """The times of some repeats."""

    wall: list[float]
    cpu: list[float]


def measure(command: Sequence[str], *, repeats: int, environment: dict[str, str] | None) -> Times:
    times = Times([], [])
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            before, started = cpu_seconds(), time.perf_counter()
            subprocess.run(
                command, check=True, capture_output=True, cwd=folder, env=environment, timeout=300
            )
            times.wall.append(time.perf_counter() - started)
            times.cpu.append(cpu_seconds() - before)
    return times


def cpu_seconds() -> float:
    """The CPU time of all processes that have ended below this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compare(title: str, ours: Times, least: Times) -> None:
    print(
        f"{title:<28} {min(ours.wall):6.2f} s (median {statistics.median(ours.wall):.2f}); "
        f"unavoidable {min(least.wall):.2f} s: {min(ours.wall) / min(least.wall):.1f} times; "
        f"CPU {min(ours.cpu):.2f} s beside {min(least.cpu):.2f} s",
        flush=True,
    )


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    repeats = int(next((word for word in sys.argv[1:] if "=" not in word), 5))
    python, launcher = sys.executable, find_launcher(None)
    bare = measure([python, "-c", "pass"], repeats=repeats, environment=None)
    numpy = measure([python, "-c", "import numpy"], repeats=repeats, environment=None)
    ours = measure([python, "-m", "sottovoce", "--help"], repeats=repeats, environment=None)
    compare("--help, beside python", ours, bare)
    ours = measure(
        [python, "-c", "import sottovoce; sottovoce.Protocol"], repeats=repeats, environment=None
    )
    compare("import, beside numpy's", ours, numpy)
    for parties in map(int, words.get("parties", "3,31").split(",")):
        code = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
        ranks = launcher.command(
            [python, "-c", code],
            ranks=parties + 1,
            variables=[],
            hosts=None,
            hostfile=None,
            extra=[],
        )
        least = measure(ranks, repeats=repeats, environment=launcher.environment())
        run = [python, "-m", "sottovoce", "run", "head-count", "--parties", str(parties), "--quiet"]
        ours = measure(run, repeats=repeats, environment=None)
        compare(f"head-count, {parties} parties, MPI", ours, least)


if __name__ == "__main__":
    main()
