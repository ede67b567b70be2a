"""A host or a network that hangs, or a peer that goes wrong, costs nothing where roles keep logs.

Over MPI a party's process is stopped, its frame breaks off, or it declares a length that no memory
holds. Its fault is gone when the run goes on, to the files of a run that was never disturbed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SECONDS = 200.0
"""Seconds that a command may take on a busy machine."""
PATIENCE = "8"
WORDS = ["--rows", "200", "--columns", "sex,income,race", "--parties", "2", "--seed", "5"]
WORDS += ["--key-bits", "512", "--insecure-test-keys", "--no-judge", "--quiet"]
FAULTY_WIRE = """
import os, sys, threading, time

def go_wrong() -> None:
    while not hasattr(sys.modules.get("sottovoce.messages.mpi"), "wait_until"):
        time.sleep(0.001)
    wire = sys.modules["sottovoce.messages.mpi"].MPIWire
    post = wire._post

    def faulty(self, parts, size, *, to):
        frame = b"".join(parts)
        if frame[3] or b"parameters" not in frame[:288]:
            return post(self, parts, size, to=to)
        FAULT

    wire._post = faulty

if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "2":
    threading.Thread(target=go_wrong, daemon=True).start()
"""
"""A module that Python imports at its start. Party 2's first message of a phase goes wrong."""
BREAKS_OFF = "post(self, [frame[:-8]], size - 8, to=to); time.sleep(600)"
DECLARES_TOO_MUCH = (
    "frame = frame[:8] + (1 << 60).to_bytes(8, 'little') + frame[16:]; "
    "post(self, [frame], size, to=to)"
)


def sottovoce(*words: str, folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-m", "sottovoce", *words],
        cwd=folder,
        env={
            **os.environ,
            "SOTTOVOCE_STATE": str(folder / "state"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def published(folder: Path) -> dict[str, Any]:
    """Read what a run publishes and claims."""
    report = json.loads((folder / "report.json").read_text())
    files = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    del files["ledger.csv"]  # It has times.
    return {"files": files, "privacy": report["privacy"], "sent": report["communication"]}


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    words = ["run", "dp-subn", *WORDS, "--transport", "threads", "--out", "out"]
    done = sottovoce(*words, folder=folder, python=sys.executable)
    assert done.returncode == 0, done.stderr
    return published(folder / "out")


def stop(*words: str, folder: Path, python: str) -> str:
    """Start a run in which party 2 goes wrong, and return the line with which it stops."""
    options = [*WORDS, "--durable", "--timeout", PATIENCE, "--out", str(folder / "out")]
    done = sottovoce("run", "dp-subn", *options, *words, folder=folder, python=python)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"go on with: sottovoce resume {folder / 'out'}" in done.stderr
    return done.stderr


def go_on(folder: Path, *, python: str) -> dict[str, Any]:
    """Let the run go on, and return what it publishes."""
    done = sottovoce("resume", "out", "--quiet", folder=folder, python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [path for path in (folder / "state").rglob("*") if path.is_file()]
    return published(folder / "out")


def test_a_stopped_party_costs_nothing(
    tmp_path: Path, mpi_python: str, undisturbed: dict[str, Any]
) -> None:
    fault = ["--fault", "party 2 falls silent in parameters"]
    line = stop(*fault, folder=tmp_path, python=mpi_python)
    assert "rank 2 (party 2) in dp-subn, " in line
    assert "no sign of life" in line
    assert go_on(tmp_path, python=mpi_python) == undisturbed


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (BREAKS_OFF, "expected the rest of a frame from party 2, found nothing more"),
        (DECLARES_TOO_MUCH, "expected frames of at most 68719476736 bytes, found"),
    ],
    ids=["breaks-off", "declares-too-much"],
)
def test_a_frame_that_goes_wrong_costs_nothing(
    tmp_path: Path, fault: str, expected: str, undisturbed: dict[str, Any]
) -> None:
    module = tmp_path / "sitecustomize.py"
    module.write_text(FAULTY_WIRE.replace("FAULT", fault))
    assert expected in stop(folder=tmp_path, python=sys.executable)
    module.unlink()
    assert go_on(tmp_path, python=sys.executable) == undisturbed
