"""An mpiexec whose daemon does not come up is started once more, and nothing else is."""

import sys
from pathlib import Path

import pytest

from sottovoce.launch.failures import NOT_LISTENING
from sottovoce.launch.mpiexec import Launcher, find_launcher
from sottovoce.launch.supervise import run_with_mpi
from sottovoce.report.progress import Progress
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement

BANNER = f"""
--------------------------------------------------------------------------
The {NOT_LISTENING}.
We cannot continue.
--------------------------------------------------------------------------
"""
START_A_RANK = """
import os, sys, time
from sottovoce.launch.lifeline import Lifeline
from sottovoce.launch.hold import JOB_VARIABLE
from sottovoce.launch.rank import RankTask
import msgspec
task = msgspec.json.decode(os.environ[JOB_VARIABLE], type=RankTask)
Lifeline(task.lifeline, rank=1, die=sys.exit).close()
time.sleep(0.5)
"""


def fake_mpiexec(folder: Path, *, first: str, then: str) -> tuple[Launcher, Path]:
    """Make an mpiexec with one script for the first start and one for all later starts."""
    starts, program = folder / "starts", folder / "mpiexec"
    (folder / "banner").write_text(BANNER)
    program.write_text(
        f"#!/bin/sh\necho start >> {starts}\n"
        f"if test $(wc -l < {starts}) = 1; then\n{first}\nelse\n{then}\nfi\n"
    )
    program.chmod(0o755)
    return Launcher(str(program), "openmpi", "mpiexec (Open MPI) 5.0.11"), starts


def failing(folder: Path) -> str:
    return f"cat {folder}/banner >&2; exit 213"


def head_count(launcher: Launcher) -> int:
    job = Job(protocol="head-count", parties=2, rows=40, seed=1)
    placement = Placement(transport="mpi", mpiexec=launcher.path)
    record = run_with_mpi(
        job, launcher=launcher, placement=placement, progress=Progress(shown=False)
    )
    return len(record.entries)


def starts_of(file: Path) -> int:
    return len(file.read_text().splitlines())


def test_a_daemon_that_does_not_come_up_is_started_once_more(tmp_path: Path) -> None:
    launcher, starts = fake_mpiexec(tmp_path, first=failing(tmp_path), then=failing(tmp_path))
    with pytest.raises(RunFailed, match=rf"status 213 before the run had begun: .*{NOT_LISTENING}"):
        head_count(launcher)
    assert starts_of(starts) == 2


def test_another_failure_is_not_tried_again(tmp_path: Path) -> None:
    script = "echo no such host >&2; exit 1"
    launcher, starts = fake_mpiexec(tmp_path, first=script, then=script)
    with pytest.raises(RunFailed, match=r"status 1 before the run had begun: .*no such host"):
        head_count(launcher)
    assert starts_of(starts) == 1


def test_a_run_of_which_a_rank_has_started_is_not_tried_again(tmp_path: Path) -> None:
    """It may have read or sent something."""
    (tmp_path / "rank.py").write_text(START_A_RANK)
    script = f"{sys.executable} {tmp_path}/rank.py; {failing(tmp_path)}"
    launcher, starts = fake_mpiexec(tmp_path, first=script, then=script)
    with pytest.raises(RunFailed, match="rank 1 "):
        head_count(launcher)
    assert starts_of(starts) == 1


@pytest.mark.mpi
def test_the_second_start_may_run_to_its_end(tmp_path: Path) -> None:
    real = find_launcher(None)
    if real.flavour != "openmpi":
        pytest.skip("this failure is Open MPI's")
    launcher, starts = fake_mpiexec(
        tmp_path, first=failing(tmp_path), then=f'exec {real.path} "$@"'
    )
    assert head_count(launcher) > 0
    assert starts_of(starts) == 2
