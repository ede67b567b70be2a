"""Runs that go on without lost parties: kill parties at random moments, and check every sum.

    python benchmarks/losses.py threads [RUNS] [PARTIES] [SEED]
    python benchmarks/losses.py mpi [RUNS] [PARTIES] [SEED]

On threads a third of the parties (128 by default) dies after random numbers of messages, half of
them among the last five, where tables and keys are sent. Over MPI one party (of 3 by default) is
killed by SIGKILL, in every second run at a random moment between the start of its process and the
usual end of a run, else after a random number of messages, as most of a short run is its start.
The table has no noise, but with a chance of e**-500, so each sum must be exactly that of the
parties that the report names as members. The script prints each run, and at the end how many went
on, with whose records, how many ended with a reason and how soon, and the time against a run that
nobody disturbed. On threads that one goes just before it, as others may use the machine, and its
processor time is compared, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sottovoce.messages import SottovoceError
from sottovoce.parties import DEMO_SCHEMA, Records, TableNote
from sottovoce.runs.job import Job
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings
from sottovoce.runs.setup import load_all_records
from sottovoce.runs.threads import run_on_threads

TABLE = ["age", "occupation", "education", "marital-status"]
SILENT = {"epsilon": 1000.0, "noise": "laplace", "aggregator": "masks"}
MARK = "SOTTOVOCE_LOSSES"
"""The variable by which the processes of a run are found."""
MAX_END = 5.0
"""Seconds after a kill within which a run goes on, or has ended."""


def job_of(parties: int, *, fault: list[str], attributes: list[str]) -> Job:
    return settings(
        {
            "protocol": "noisy-marginals",
            "parties": parties,
            "rows": 20 * parties,
            "seed": 1,
            "fault": fault,
            "on_loss": "continue",
            "min_parties": 2,
            "set": {**SILENT, "marginals": "*".join(attributes)},
        }
    ).job


def records_of(job: Job) -> dict[int, Records]:
    notes = {party: TableNote() for party in range(1, job.parties + 1)}
    return load_all_records(job, schema=DEMO_SCHEMA, notes=notes)


def is_exact(
    records: dict[int, Records], without: set[int], counts: Any, attributes: list[str]
) -> bool:
    tables = [
        np.asarray(records[party].marginal(attributes), np.int64)
        for party in records
        if party not in without
    ]
    return bool(np.array_equal(np.ravel(sum(tables)), np.asarray(counts)))


class Seconds(NamedTuple):
    """Seconds of a run, or their ratio to those of another one."""

    wall: float
    processor: float
    """Of all threads of this process."""


def timed(job: Job) -> tuple[Seconds, RunRecord]:
    wall, processor = time.perf_counter(), time.process_time()
    record = run_on_threads(job)
    return Seconds(time.perf_counter() - wall, time.process_time() - processor), record


def on_threads(runs: int, parties: int, seed: int) -> None:
    attributes = ["age", "sex"]
    records = records_of(job_of(parties, fault=[], attributes=attributes))
    run_on_threads(job_of(3, fault=[], attributes=attributes))  # imports
    undisturbed = run_on_threads(job_of(parties, fault=[], attributes=attributes))
    messages = max(sum(act.sent for act in notes.acts) for notes in undisturbed.roles[1:])
    print(f"undisturbed: {undisturbed.seconds:.2f} s, {messages} messages of a party")
    rng, outcomes, ratios = random.Random(seed), Counter[str](), list[Seconds]()
    for number in range(runs):
        usual, _ = timed(job_of(parties, fault=[], attributes=attributes))
        dying = rng.sample(range(1, parties + 1), parties // 3)
        fault = [
            f"party {party} dies after "
            f"{rng.randrange(messages - 5 if place % 2 else 0, messages)} messages"
            for place, party in enumerate(dying)
        ]
        began = time.perf_counter()
        try:
            taken, record = timed(job_of(parties, fault=fault, attributes=attributes))
        except SottovoceError as error:
            outcomes[f"ended: {str(error)[:80]}"] += 1
            print(number, f"{time.perf_counter() - began:.2f} s", error)
            continue
        without = {loss.party for loss in record.losses if not loss.batches_with}
        published = record.outcome.marginals
        assert published is not None
        exact = is_exact(records, without, published.frame()["count"], attributes)
        spent = {len([r for r in notes.releases if r.epsilon]) for notes in record.roles[1:]}
        outcomes["exact" if exact and spent <= {0, 1} else "WRONG"] += 1
        ratio = Seconds(taken.wall / usual.wall, taken.processor / usual.processor)
        ratios.append(ratio)
        with_records = len(record.losses) - len(without)
        print(
            number,
            f"{taken.wall:.2f} s, {len(record.losses)} lost, {with_records} of them with "
            f"records in the sum, asked {record.attempts[0]} times, exact: {exact}; against the "
            f"run before: {ratio.wall:.2f} times, of the processor {ratio.processor:.2f} times",
        )
    print(dict(outcomes))
    for name, values in zip(("time", "processor time"), zip(*ratios, strict=True), strict=False):
        print(
            f"{name} against undisturbed: {statistics.median(values):.2f}, {max(values):.2f} most"
        )


def rank_process(mark: str, rank: int) -> int | None:
    """Find the process of a rank by the variables that it was started with."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            wanted = {f"{MARK}={mark}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode()}
            if wanted <= set(variables):
                return int(folder.name)
    return None


def play_mpi(
    parties: int, folder: Path, *, kill: tuple[int, float] | None, fault: str = ""
) -> dict[str, Any]:
    """Run once; kill a party so many seconds after its process is there, or let it kill itself."""
    mark = secrets.token_hex(8)
    words = ["run", "noisy-marginals", "--parties", str(parties), "--rows", str(20 * parties)]
    words += ["--seed", "1", "--on-loss", "continue", "--min-parties", "2", "--no-judge", "--quiet"]
    words += ["--set", f"marginals={'*'.join(TABLE)}", "--out", str(folder)]
    words += [word for name, value in SILENT.items() for word in ("--set", f"{name}={value}")]
    words += ["--fault", fault] if fault else []
    process = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", *words],
        env={**os.environ, MARK: mark},
        stderr=subprocess.PIPE,
        text=True,
    )
    began = killed = time.perf_counter()
    if kill is not None:
        party, delay = kill
        while process.poll() is None and (pid := rank_process(mark, party)) is None:
            time.sleep(0.02)
        began = time.perf_counter()
        time.sleep(delay)
        if process.poll() is None and pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed = time.perf_counter()
    else:
        while process.poll() is None and rank_process(mark, 1) is None:
            time.sleep(0.02)
        began = time.perf_counter()
    _, errors = process.communicate(timeout=120)
    ended = time.perf_counter()
    return {
        "status": process.returncode,
        "line": errors.strip().splitlines()[-1] if errors.strip() else "",
        "seconds": ended - began,
        "after": ended - killed,
    }


def over_mpi(runs: int, parties: int, seed: int) -> None:
    records = records_of(job_of(parties, fault=[], attributes=TABLE))
    rng, outcomes = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="losses-") as base:
        usual = [play_mpi(parties, Path(base) / f"u{number}", kill=None) for number in range(3)]
        length = statistics.median(run["seconds"] for run in usual)
        print(f"undisturbed: {length:.2f} s from the first rank's start to the end")
        times, ends = list[float](), list[float]()
        kill: tuple[int, float] | None
        for number in range(runs):
            folder = Path(base) / str(number)
            party = rng.randrange(1, parties + 1)
            if number % 2:
                kill, fault = (party, rng.uniform(0, length)), ""
                where = f"party {party} killed after {kill[1]:.2f} s"
            else:
                kill, fault = None, f"party {party} dies after {rng.randrange(8)} messages"
                where = fault
            run = play_mpi(parties, folder, kill=kill, fault=fault)
            if run["status"]:
                ends += [run["after"]] if kill else []
                outcomes[f"ended with a reason: {run['line'].partition(': ')[2][:60]}"] += 1
                print(
                    number, where, f"status {run['status']} {run['after']:.2f} s later", run["line"]
                )
                assert not folder.exists()
                continue
            report = json.loads((folder / "report.json").read_text())
            without = {loss["party"] for loss in report["losses"] if not loss["batches_with"]}
            counts = pd.read_csv(folder / "marginals.csv")["count"]
            exact = is_exact(records, without, counts, TABLE)
            how = (
                "nobody lost"
                if not report["losses"]
                else ("without its records" if without else "with its records")
            )
            outcomes[f"{'exact' if exact else 'WRONG'}, {how}"] += 1
            times.append(run["seconds"] / length)
            print(number, where, f"{run['seconds']:.2f} s, {how}, exact: {exact}")
    print(dict(outcomes))
    if times:
        print(f"time against undisturbed: {statistics.median(times):.2f}, at most {max(times):.2f}")
    if ends:
        print(f"runs that ended did so {max(ends):.2f} s after the kill at most")


if __name__ == "__main__":
    transport, *numbers = sys.argv[1:] or ["threads"]
    counts = [*map(int, numbers)]
    if transport == "mpi":
        over_mpi(*counts, *[10, 3, 2][len(counts) :])
    else:
        on_threads(*counts, *[10, 128, 1][len(counts) :])
