"""Runs over MPI that go on without a party whose process is really killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STARTING = 300.0
"""Seconds that a run may take on a busy machine."""


def run(*words: str, out: Path) -> subprocess.CompletedProcess[str]:
    options = ["--rows", "60", "--seed", "1", "--no-judge", "--quiet", "--out", str(out)]
    options += ["--set", "aggregator=masks", "--set", "marginals=sex", "--min-parties", "2"]
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", "noisy-marginals", *options, *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=STARTING,
    )


@pytest.mark.parametrize(("phase", "is_in"), [("keys", False), ("count after 8 messages", True)])
def test_a_killed_party_is_left_out(tmp_path: Path, phase: str, is_in: bool) -> None:
    """The party kills itself by SIGKILL before or after its table has left."""
    done = run("--on-loss", "continue", "--fault", f"party 2 dies in {phase}", out=tmp_path / "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (loss,) = report["losses"]
    assert loss["party"] == 2
    assert (loss["batches_with"], loss["batches_without"]) == ((1, 0) if is_in else (0, 1))
    assert report["rows"] == (60 if is_in else 40)
    spent = {party: views["curator"] for party, views in report["privacy"]["by_party"].items()}
    assert spent == {"1": 1.0, "2": 1.0 if is_in else 0.0, "3": 1.0}


@pytest.mark.parametrize(("phase", "is_in"), [("keys", False), ("count after 8 messages", True)])
def test_a_silent_party_is_given_up(tmp_path: Path, phase: str, is_in: bool) -> None:
    """The party's process is stopped, as by a host that hangs; signs of life show it."""
    fault = f"party 2 falls silent in {phase}"
    done = run("--on-loss", "continue", "--timeout", "24", "--fault", fault, out=tmp_path / "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (loss,) = report["losses"]
    assert (loss["party"], loss["was_silent"]) == (2, True)
    assert (loss["batches_with"], loss["batches_without"]) == ((1, 0) if is_in else (0, 1))
    assert any("silent until its process was ended" in text for text in report["warnings"])


def test_a_silent_curator_ends_the_run(tmp_path: Path) -> None:
    fault = "the curator falls silent in count"
    done = run("--on-loss", "continue", "--timeout", "10", "--fault", fault, out=tmp_path / "out")
    assert done.returncode == 3
    assert "rank 0 (curator) in noisy-marginals, " in done.stderr  # its last sign may be older
    assert "no sign of life" in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_the_curator_the_run_ends(tmp_path: Path) -> None:
    done = run("--on-loss", "continue", "--fault", "curator dies in count", out=tmp_path / "out")
    assert done.returncode == 3
    assert "curator" in done.stderr
    assert "process was lost" in done.stderr
    assert not (tmp_path / "out").exists()


def test_mpich_is_refused(tmp_path: Path) -> None:
    mpich = Path(os.environ.get("SOTTOVOCE_MPICH", "")) / "bin" / "mpiexec"
    if not mpich.exists():
        pytest.skip("no MPICH: SOTTOVOCE_MPICH names no environment with it")
    done = run("--on-loss", "continue", "--mpiexec", str(mpich), out=tmp_path / "out")
    assert done.returncode == 2
    assert "expected Open MPI from version 5 on for --on-loss continue" in done.stderr


def test_a_simulated_network_is_refused(tmp_path: Path) -> None:
    virtual = ["--transport", "virtual", "--network", "lan"]
    done = run("--on-loss", "continue", *virtual, out=tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert "found virtual" in done.stderr


OTHERS: list[tuple[str, str, tuple[int, int, int], bool]] = [
    ("head-count", "count", (0, 1, 0), False),
    ("mst", "pairs after 11 messages", (1, 1, 1), True),
    ("privincr", "round 2", (1, 2, 0), True),
]
"""What is killed where, the batches with and without its records and its turns, and whether its
records cost it something."""


@pytest.mark.parametrize(("protocol", "phase", "batches", "is_spent"), OTHERS)
def test_answers_turns_and_reports_of_a_killed_party(
    protocol: str, phase: str, batches: tuple[int, int, int], is_spent: bool, tmp_path: Path
) -> None:
    """The party kills itself by SIGKILL; its account is known from what it has sent ahead."""
    words = ["run", protocol, "--parties", "4", "--rows", "400", "--columns", "sex,race,income"]
    words += ["--seed", "1", "--no-judge", "--quiet", "--on-loss", "continue", "--epsilon", "20"]
    words += ["--fault", f"party 2 dies in {phase}", "--out", str(tmp_path / "out")]
    words += ["--set", "aggregator=masks"] if protocol == "mst" else []
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=STARTING,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (loss,) = report["losses"]
    assert loss["party"] == 2
    assert (loss["batches_with"], loss["batches_without"], loss["turns"]) == batches
    spent = float(report["privacy"]["by_party"]["2"]["curator"])
    assert 0 < spent <= 20 if is_spent else spent == 0


AFTER = ["--fault", "party 2 dies after its part"]


@pytest.mark.mpi
@pytest.mark.parametrize("protocol", ["calm", "dp-subn"])
@pytest.mark.parametrize("transport", ["mpi", "threads"])
def test_a_party_that_is_lost_after_its_part_is_not_missed(
    tmp_path: Path, protocol: str, transport: str
) -> None:
    """It has nothing left to send: result and epsilon are those of an undisturbed run."""
    words = [protocol, "--rows", "200", "--columns", "sex,income,race", "--seed", "5"]
    words += ["--key-bits", "512", "--insecure-test-keys", "--no-judge", "--quiet"]
    folders = [tmp_path / "lost", tmp_path / "whole"]
    for folder, fault, where in zip(folders, [AFTER, []], [transport, "threads"], strict=True):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "sottovoce", "run", *words, *fault),
                *("--transport", where, "--out", str(folder)),
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=STARTING,
        )
        assert done.returncode == 0, done.stderr
    reports = [json.loads((folder / "report.json").read_text()) for folder in folders]
    (loss,) = reports[0]["losses"]
    assert loss["party"] == 2
    assert loss["batches_without"] == 0
    (text,) = [text for text in reports[0]["warnings"] if "was lost" in text]
    assert "party 2 was lost after its part, and nothing of it is missing" in text
    for name in ("privacy", "communication", "rows"):
        assert reports[0][name] == reports[1][name]
    for path in folders[1].glob("*.csv"):
        if path.name != "ledger.csv":
            assert (folders[0] / path.name).read_bytes() == path.read_bytes()


def rank_2(folder: Path) -> int | None:
    """Find the process of rank 2 of a run with this temporary folder."""
    marks = {b"OMPI_COMM_WORLD_RANK=2", f"TMPDIR={folder}".encode()}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marks <= {*(path / "environ").read_bytes().split(b"\0")}:
                return int(path.name)
    return None


def test_a_rank_that_is_killed_as_soon_as_it_is_there_ends_the_run(tmp_path: Path) -> None:
    """The others wait for it inside MPI, and the launcher may not have seen it before."""
    words = ["head-count", "--rows", "20", "--on-loss", "continue", "--transport", "mpi"]
    with subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "run", *words, "--out", str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        while (pid := rank_2(tmp_path)) is None and running.poll() is None:
            time.sleep(0.001)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        try:
            _, line = running.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            running.terminate()
            raise
    assert running.returncode == 3
    assert "a rank's process was lost before it had started" in line
    assert line.count("\n") == 1
    assert not [*tmp_path.iterdir()]
