"""Memory of MPI ranks: what a rank has of its own, and what all ranks take together.

    python benchmarks/rank_memory.py [PROTOCOL ...] [ranks=9,33] [rows=20000]

While `sottovoce run` starts ranks through mpiexec, the script reads /proc of each. It prints the
largest figures: resident memory of a rank (with pages of libraries that ranks share), its private
memory, and the sum over ranks of proportional memory, which counts a shared page once. As the
alternative it starts as many processes that only import NumPy and mpi4py and call MPI_Init, and
prints ratios to their figures. Linux only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PROTOCOLS: Final = ("head-count", "dp-subn")
EVERY: Final = 0.2
"""Seconds between two looks."""
BARE: Final = (
    "import numpy, time; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); time.sleep(3); "
    "MPI.COMM_WORLD.Barrier()"
)
MEBIBYTE: Final = 1024


def descendants(root: int) -> list[int]:
    """List the processes that a process has started, and those that they have started."""
    parent_of: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent_of[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:  # it has ended meanwhile
            continue
    found, new = [], [root]
    while new:
        new = [process for process, parent in parent_of.items() if parent in new]
        found += new
    return found


def memory_of(process: int) -> tuple[float, float, float]:
    """Read resident, private and proportional memory of a process, in MB."""
    figures: dict[str, float] = {}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, amount = line.split()[:2]
        figures[name] = float(amount) / MEBIBYTE
    private = figures["Private_Clean:"] + figures["Private_Dirty:"]
    return figures["Rss:"], private, figures["Pss:"]


def watch(command: Sequence[str], *, mark: str, folder: str) -> tuple[float, float, float]:
    """Run a command; give a rank's largest resident and private memory, and the largest sum."""
    resident = private = together = 0.0
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ) as running:
        while running.poll() is None:
            ranks = []
            for process in descendants(running.pid):
                try:
                    line = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
                    if "python" in Path(line[0]).name and any(mark in word for word in line):
                        ranks.append(memory_of(process))
                except (OSError, KeyError):
                    continue
            if ranks:
                resident = max(resident, *(rank[0] for rank in ranks))
                private = max(private, *(rank[1] for rank in ranks))
                together = max(together, sum(rank[2] for rank in ranks))
            time.sleep(EVERY)
        assert running.stderr is not None
        complaint = running.stderr.read().decode()
    if running.returncode:
        sys.exit(f"{' '.join(command)} ended with status {running.returncode}: {complaint}")
    return resident, private, together


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    protocols = [word for word in sys.argv[1:] if "=" not in word] or [*PROTOCOLS]
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    print(f"{'':<24}{'ranks':>6}{'resident':>10}{'private':>10}{'together':>10}   MB (ratio)")
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (int(number) for number in settings.get("ranks", "9,33").split(",")):
            bare = watch(
                [mpiexec, "--oversubscribe", "-n", str(ranks), sys.executable, "-c", BARE],
                mark="MPI.COMM_WORLD",
                folder=folder,
            )
            print(
                f"{'NumPy and mpi4py alone':<24}{ranks:>6}" + "".join(f"{x:>10.0f}" for x in bare)
            )
            for protocol in protocols:
                command = [sys.executable, "-m", "sottovoce", "run", protocol, "--no-judge"]
                command += ["--parties", str(ranks - 1), "--rows", settings.get("rows", "20000")]
                figures = watch(command, mark="sottovoce.launch.rank", folder=folder)
                print(
                    f"{protocol:<24}{ranks:>6}"
                    + "".join(f"{figure:>10.0f}" for figure in figures)
                    + "   "
                    + " ".join(f"({x / y:.2f})" for x, y in zip(figures, bare, strict=True)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
