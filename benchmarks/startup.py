"""Start-up: help, import, and whole runs of head-count over MPI, beside what cannot be avoided.

    python benchmarks/startup.py [REPEATS] [parties=3,31]

The alternative is Python itself: an interpreter that imports numpy, and as many ranks that import
mpi4py, exchange nothing and end. Minimum and median of some repeats, and the ratio of the minima.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from sottovoce.launch.mpiexec import find_launcher


def seconds(
    command: Sequence[str], *, repeats: int, environment: dict[str, str] | None
) -> list[float]:
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            started = time.perf_counter()
            subprocess.run(
                command, check=True, capture_output=True, cwd=folder, env=environment, timeout=300
            )
            times.append(time.perf_counter() - started)
    return times


def compare(title: str, ours: list[float], least: list[float]) -> None:
    print(
        f"{title:<28} {min(ours):6.2f} s (median {statistics.median(ours):.2f}); "
        f"unavoidable {min(least):.2f} s: {min(ours) / min(least):.1f} times",
        flush=True,
    )


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    repeats = int(next((word for word in sys.argv[1:] if "=" not in word), 5))
    python, launcher = sys.executable, find_launcher(None)
    bare = seconds([python, "-c", "pass"], repeats=repeats, environment=None)
    numpy = seconds([python, "-c", "import numpy"], repeats=repeats, environment=None)
    ours = seconds([python, "-m", "sottovoce", "--help"], repeats=repeats, environment=None)
    compare("--help, beside python", ours, bare)
    ours = seconds(
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
        least = seconds(ranks, repeats=repeats, environment=launcher.environment())
        run = [python, "-m", "sottovoce", "run", "head-count", "--parties", str(parties), "--quiet"]
        ours = seconds(run, repeats=repeats, environment=None)
        compare(f"head-count, {parties} parties, MPI", ours, least)


if __name__ == "__main__":
    main()
