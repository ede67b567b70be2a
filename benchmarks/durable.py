"""Cost of the logs of durable runs: paired runs with and without `--durable`.

    python benchmarks/durable.py [PAIRS] [USERS] [FOLDER]
    python benchmarks/durable.py small [PAIRS] [FOLDER]

DP-SUBN runs with its defaults on the demo table, CALM with so many users (10 million by default).
Each is run over MPI by the command line, and on threads without start and results. With `small`
head-count, DP-SUBN and adaptive-pairs run over MPI, with 3 and 30 parties. The order within a pair
alternates, and both runs have the same seed: to find the primes of a Paillier key takes a time that
depends on it. The script prints seconds and processor time of each run, the bytes of all logs, and
the median of the ratios. The logs are in FOLDER, whose disk counts.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.role_places import remove_role_place, role_place
from sottovoce.runs.settings import settings
from sottovoce.runs.state_folder import STATE_VARIABLE
from sottovoce.runs.threads import run_on_threads


class Cost(NamedTuple):
    """Cost of one run."""

    seconds: float
    processor: float
    log_bytes: int


Play = Callable[[bool, int], Cost]
"""Play once, with logs or without, from a seed."""


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["small"]:
        measure_small(
            pairs=int(words[1]) if len(words) > 1 else 5,
            folder=words[2] if len(words) > 2 else None,
        )
        return
    pairs = int(words[0]) if words else 5
    users = int(float(words[1])) if len(words) > 1 else 10_000_000
    cases: dict[str, dict[str, Any]] = {
        "dp-subn": {"protocol": "dp-subn"},
        f"calm, {users:,} users": {"protocol": "calm", "set": {"users": users}},
    }
    with tempfile.TemporaryDirectory(dir=words[2] if len(words) > 2 else None) as state:
        os.environ[STATE_VARIABLE] = state
        for name, options in cases.items():
            job = settings(options).job
            compare(f"{name}, over MPI", partial(run_command, job, folder=state), pairs=pairs)
            compare(f"{name}, on threads", partial(run_here, job), pairs=pairs)


def measure_small(*, pairs: int, folder: str | None) -> None:
    """Compare runs of some seconds, for which a log is a larger part of the work."""
    with tempfile.TemporaryDirectory(dir=folder) as state:
        os.environ[STATE_VARIABLE] = state
        for protocol in ("head-count", "dp-subn", "adaptive-pairs"):
            for parties in (3, 30):
                job = settings({"protocol": protocol, "parties": parties}).job
                name = f"{protocol}, {parties} parties, over MPI"
                compare(name, partial(run_command, job, folder=state), pairs=pairs)


def compare(name: str, play: Play, *, pairs: int) -> None:
    """Measure pairs of runs, and print their ratios."""
    play(False, 0)  # noqa: FBT003 - it fills caches
    seconds, processor = [], []
    for pair in range(pairs):
        order = (False, True) if pair % 2 else (True, False)
        costs = {is_durable: play(is_durable, pair) for is_durable in order}
        plain, logged = costs[False], costs[True]
        seconds.append(logged.seconds / plain.seconds)
        processor.append(logged.processor / plain.processor)
        print(
            f"{name}: {plain.seconds:.2f} s and {logged.seconds:.2f} s with logs of "
            f"{logged.log_bytes / 1e6:.1f} MB (x {seconds[-1]:.3f}); processor time "
            f"{plain.processor:.2f} s and {logged.processor:.2f} s (x {processor[-1]:.3f})",
            flush=True,
        )
    print(
        f"{name}: median ratio {statistics.median(seconds):.3f} of seconds, "
        f"{statistics.median(processor):.3f} of processor time",
        flush=True,
    )


def run_here(job: Job, is_durable: bool, seed: int) -> Cost:  # noqa: FBT001 - as `Play` has it
    """Play a job once on threads, and remove its logs."""
    durable = DurableTask("benchmark") if is_durable else None
    started, processor = time.perf_counter(), time.process_time()
    run_on_threads(msgspec.structs.replace(job, seed=seed), durable=durable)
    cost = Cost(time.perf_counter() - started, time.process_time() - processor, 0)
    if durable is None:
        return cost
    ranks = range(job.parties + 1)
    size = sum((role_place(durable.run, rank) / "log").stat().st_size for rank in ranks)
    for rank in ranks:
        remove_role_place(durable.run, rank)
    return cost._replace(log_bytes=size)


def run_command(job: Job, is_durable: bool, seed: int, *, folder: str) -> Cost:  # noqa: FBT001 - as `Play` has it
    """Run a job once by the command line over MPI; the run removes its logs itself."""
    parameters = [f"{name}={value}" for name, value in job.parameters.items()]
    command = [sys.executable, "-m", "sottovoce", "run", job.protocol, "--no-judge", "--quiet"]
    command += [word for parameter in parameters for word in ("--set", parameter)]
    command += ["--out", f"{folder}/results", "--parties", str(job.parties)]
    command += ["--seed", str(seed)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command.append("--durable" if is_durable else "--no-durable")
    subprocess.run(command, check=True)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, used, 0)


if __name__ == "__main__":
    main()
