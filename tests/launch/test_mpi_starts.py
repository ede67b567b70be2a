"""Tests that start mpiexec themselves start it again when its daemon does not come up."""

import subprocess
from pathlib import Path

import pytest
from mpi_starts import MAX_STARTS, with_daemon

from sottovoce.launch.failures import NOT_LISTENING

BANNER = f"[host:7] PMIX ERROR in file x.c\\n-----\\nThe {NOT_LISTENING}. We cannot\\ncontinue."


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    return tmp_path / "attempts"


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a made-up mpiexec, again where its daemon fails; the script knows which start it is."""
    program = folder / "mpiexec"
    program.write_text(
        f"#!/bin/sh\necho start >> {folder}/attempts\nstart=$(wc -l < {folder}/attempts)\n{script}"
    )
    program.chmod(0o755)
    return with_daemon(
        lambda: subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    )


@pytest.mark.parametrize("stream", ["&1", "&2"])
def test_a_daemon_that_comes_up_at_last(tmp_path: Path, attempts: Path, stream: str) -> None:
    script = f'test $start = 3 && exit 0; printf "{BANNER}" >{stream}; exit 213'
    assert run(tmp_path, script).returncode == 0
    assert len(attempts.read_text().split()) == 3


def test_a_daemon_that_never_comes_up(tmp_path: Path, attempts: Path) -> None:
    assert run(tmp_path, f'printf "{BANNER}" >&2; exit 213').returncode == 213
    assert len(attempts.read_text().split()) == MAX_STARTS


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo another failure >&2; exit 1", id="another failure"),
        pytest.param(f'printf "{BANNER}" >&2', id="a job that succeeded"),
        pytest.param(f'echo a rank; printf "{BANNER}" >&2; exit 3', id="a rank that had begun"),
    ],
)
def test_nothing_else_is_started_again(tmp_path: Path, attempts: Path, script: str) -> None:
    run(tmp_path, script)
    assert attempts.read_text() == "start\n"
