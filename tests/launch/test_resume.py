"""`sottovoce resume` after real kills: the files are those of a run that was never disturbed.

`SOTTOVOCE_KILLS` sets the number of kills over MPI, for runs by hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KILLS = int(os.environ.get("SOTTOVOCE_KILLS", "4"))
STARTING = 300.0
"""Seconds that ranks may take to start on a busy machine."""
SMALL = ["--rows", "200", "--columns", "sex,income,race", "--parties", "2", "--seed", "5"]
TEST_KEYS = ["--key-bits", "512", "--insecure-test-keys"]
PROTOCOLS: dict[str, list[str]] = {
    "dp-subn": TEST_KEYS,
    "jtree": TEST_KEYS,
    "calm": [],
    "privincr": [],
}
TIMES = ("sending_at", "sent_at", "awaited_at", "arrived_at", "received_at")

Start = Callable[..., "subprocess.Popen[str]"]


def command(*words: str, python: str = sys.executable) -> list[str]:
    return [python, "-m", "sottovoce", *words]


def run_words(protocol: str, *, out: Path, transport: str = "mpi") -> list[str]:
    options = [*SMALL, *PROTOCOLS[protocol], "--transcript", "--transport", transport]
    return ["run", protocol, *options, "--no-judge", "--quiet", "--out", str(out)]


def essence(folder: Path) -> dict[str, Any]:
    """Read everything of a run's files that does not depend on clocks, hosts or transports."""
    report = json.loads((folder / "report.json").read_text())
    header, *rows = (folder / "ledger.csv").read_text().splitlines()
    names = header.split(",")
    kept = [place for place, name in enumerate(names) if name not in TIMES]
    files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("report.json", "ledger.csv", "report.html")
    }
    return {
        "ledger": [[row.split(",")[place] for place in kept] for row in rows],
        "privacy": report["privacy"],
        "communication": report["communication"],
        "transcript": report.get("transcript"),
        "files": files,
    }


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """Play each protocol once on threads, without a log."""

    class Undisturbed(dict[str, dict[str, Any]]):
        def __missing__(self, protocol: str) -> dict[str, Any]:
            folder = tmp_path_factory.mktemp("undisturbed") / "out"
            words = run_words(protocol, out=folder, transport="threads")
            subprocess.run(command(*words), check=True, timeout=STARTING)
            self[protocol] = essence(folder)
            return self[protocol]

    return Undisturbed()


@dataclass
class Place:
    """Folders of a test, and its environment."""

    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SOTTOVOCE_STATE": str(self.state), "OMP_NUM_THREADS": "1"}

    def logs(self) -> dict[str, Path]:
        return {path.parent.name: path for path in self.state.glob("durable/*/[cp]*/log")}

    def play(self, *words: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words, python=python),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=STARTING,
        )

    def left(self) -> list[Path]:
        return [path for path in self.state.rglob("*") if path.is_file()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def rank_process(state: Path, rank: int) -> int | None:
    """Find the process of a rank of a run, by its environment."""
    marks = (f"SOTTOVOCE_STATE={state}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode())
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if all(mark in variables for mark in marks):
                return int(folder.name)
    return None


def await_logs(place: Place, process: subprocess.Popen[str], *, size: int = 0) -> None:
    """Wait until every role has a log, and the curator's has so many bytes."""
    until = time.monotonic() + STARTING
    while process.poll() is None and time.monotonic() < until:
        logs = place.logs()
        try:
            if len(logs) == 3 and logs["curator"].stat().st_size >= size:
                return
        except OSError:
            return  # It was removed: the run has ended.
        time.sleep(0.002)


@pytest.mark.mpi
@pytest.mark.parametrize("number", range(KILLS))
def test_killed_over_mpi_it_goes_on_to_the_same_end(
    number: int,
    place: Place,
    start: Start,
    undisturbed: Mapping[str, dict[str, Any]],
    record_property: Callable[[str, object], None],
) -> None:
    """One rank dies at a random moment, some runs lose two in a row."""
    protocol = [*PROTOCOLS][number % len(PROTOCOLS)]
    dice = random.Random(number)
    words = [*run_words(protocol, out=place.out), "--durable"]
    losses = dice.choice([1, 1, 2])
    for loss in range(losses):
        first = words if loss == 0 else ["resume", "out", "--quiet"]
        process = start(command(*first), cwd=place.folder, env=place.environment)
        await_logs(place, process, size=dice.choice([0, 400, 900, 2000]) * loss)
        time.sleep(dice.random() * dice.choice([0.05, 0.5]))
        rank = dice.randrange(3)
        pid = rank_process(place.state, rank)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, line = process.communicate(timeout=STARTING)
        if process.returncode == 0:
            break
        record_property("kill", f"{protocol} rank {rank}: {line.strip()}")
        assert process.returncode == 3, line
        assert line.count("\n") == 1
        if "go on with: sottovoce resume" not in line:
            assert not place.left(), line
            return  # It was killed before any role had begun.
    else:
        done = place.play("resume", "out", "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
    assert essence(place.out) == undisturbed[protocol]
    assert not place.left()
