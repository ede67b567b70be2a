"""A rank that is stopped is named, whoever waits for it; what ranks started ends with them."""

import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sottovoce.launch import rank_processes, rank_states
from sottovoce.launch.failures import find_failure
from sottovoce.launch.mpiexec import Launcher
from sottovoce.launch.rank_events import Beat, Failure, Loss, Move, Start
from sottovoce.launch.rank_setup import _wait
from sottovoce.launch.supervise import run_with_mpi
from sottovoce.messages import Position
from sottovoce.messages.errors import TimeoutExpired
from sottovoce.report.progress import Progress
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement

STARTING = 10.0
"""Seconds in which a process surely starts, and after which it is silent, in these tests."""
RANK = """
import os, signal, subprocess, sys, time
import msgspec
from sottovoce.launch.lifeline import Lifeline
from sottovoce.launch.rank_events import Failure
from sottovoce.launch.lifeline import Address
from sottovoce.messages import Position
from sottovoce.messages.errors import TimeoutExpired

class Task(msgspec.Struct):
    lifeline: Address

# sottovoce.launch.rank is what the command line of a rank has
rank, fate, notes = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if fate == "is away":
    time.sleep(600)
task = msgspec.json.decode(os.environ["SOTTOVOCE_JOB"], type=Task)
lifeline = Lifeline(task.lifeline, rank=rank, die=lambda: os._exit(3))
open(f"{notes}-{rank}", "w").close()
if fate == "works":
    lifeline.position = lambda: Position("work", 1, "", 0, 0, 0.0, 0.0)
if fate == "starts a child":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                             start_new_session=True)
    with open(notes, "w") as file:
        file.write(str(child.pid))
    sys.exit()
if fate.startswith("times out"):
    while not all(os.path.exists(f"{notes}-{other}") for other in range(3)):
        time.sleep(0.05)
    time.sleep(4 if fate == "times out" else 10)
    line = "rank 0 (curator) in p, phase work, step 1: expected Word from party 1, found nothing"
    lifeline.send(Failure(rank, 3, line, cause="time-out"))
if fate == "is alone":
    os.kill(os.getppid(), signal.SIGKILL)
    lifeline.send(Failure(rank, 2, "expected 2 ranks, found 1", before_start=True))
if fate == "fails":
    lifeline.send(Failure(rank, 3, "rank 1 fails"))
if fate == "stops":
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(600)
"""


def line_of(folder: Path, *fates: str, timeout: float = 2.0, status: int = 3) -> str:
    """Run ranks with these fates, beginning with the curator's, and return the line for the user.

    The processes have no MPI; they hold the lifeline as ranks do.
    """
    script, mpiexec = folder / "rank.py", folder / "mpiexec"
    script.write_text(RANK)
    ranks = [
        f"{sys.executable} {script} {rank} '{fate}' {folder}/notes &"
        for rank, fate in enumerate(fates)
    ]
    mpiexec.write_text("\n".join(["#!/bin/sh", *ranks, "wait"]))
    mpiexec.chmod(0o755)
    with pytest.raises(RunFailed) as caught:
        run_with_mpi(
            Job(protocol="head-count", parties=len(fates) - 1, rows=40, seed=1, timeout=timeout),
            launcher=Launcher(str(mpiexec), "openmpi", "mpiexec (Open MPI) 5.0.11"),
            placement=Placement(transport="mpi", mpiexec=str(mpiexec)),
            progress=Progress(shown=False),
        )
    assert caught.value.status == status
    return str(caught.value)


def test_a_rank_that_stops_before_its_first_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_states, "MIN_SILENCE", STARTING)
    line = line_of(tmp_path, "waits", "stops", "waits")
    assert line.startswith(
        "rank 1 (party 1) in head-count, before its first phase: no sign of life"
    )
    assert "its process is stopped" in line


def test_a_rank_that_never_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_states, "MIN_SILENCE", STARTING)
    line = line_of(tmp_path, "waits", "is away", "waits")
    assert line.startswith(
        "rank 1 (party 1) in head-count, before its first phase: no sign of life"
    )


def test_the_silent_rank_is_named_and_not_the_one_that_waited(tmp_path: Path) -> None:
    line = line_of(tmp_path, "times out", "stops", "works")
    assert line.startswith(
        "rank 1 (party 1) in head-count, before its first phase: no sign of life"
    )
    assert line.endswith("; the curator: expected Word from party 1, found nothing")


def test_a_rank_that_lives_is_not_blamed_for_a_time_out(tmp_path: Path) -> None:
    line = line_of(tmp_path, "times out later", "works", "works", timeout=60)
    assert line.startswith("rank 0 (curator) in p, phase work, step 1: expected Word from party 1")


def test_a_launcher_that_was_stopped_itself_blames_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life wait to be read when it goes on. Silence in its presence counts as ever."""
    now = 0.0
    monkeypatch.setattr(rank_states, "time", SimpleNamespace(monotonic=lambda: now))
    states = rank_states.RankStates("head-count", begun=now, last_look=now)
    for rank in range(2):
        states.note(Beat(rank))
    now += 1000
    assert states.silence(ranks=2, timeout=2) == ""
    for _ in range(59):
        now += 1
        states.note(Beat(0))
        assert states.silence(ranks=2, timeout=2) == ""
    now += 1
    assert "rank 1 (party 1)" in states.silence(ranks=2, timeout=2)
    assert states.silent == 1


@pytest.mark.parametrize("goes_on", [True, False])
def test_only_a_silent_party_of_this_host_in_a_run_that_goes_on_is_given_up(
    monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    """The curator, a party that gives signs of life, and one on another host are not."""
    now = 0.0
    monkeypatch.setattr(rank_states, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(rank_states, "carries", lambda pid, token: token == "t")
    states = rank_states.RankStates("p", goes_on=goes_on, begun=now, last_look=now)
    here = platform.node()
    for rank, host in enumerate([here, here, here, "elsewhere"]):
        states.note(Start(rank, 100 + rank, host, "t"))
    given_up = []
    for second in range(1, 12):
        now = float(second)
        states.note(Beat(1))
        if second == 1:
            states.note(Move(1, Position("work", 1, "", 0, 0, 0.0, 0.0)))
        if second < 3:
            states.note(Beat(3))
        given_up.append(states.give_up(timeout=20))
        if given_up[-1] is not None:
            states.note(Loss(2))
    silent = [102] if goes_on else []
    assert [pid for pid in given_up if pid is not None] == silent
    assert states.given_up == ({2} if goes_on else set())
    assert given_up[:9] == [None] * 9


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_loss_in_the_set_up_ends_also_a_run_that_would_go_on(has_begun: bool) -> None:
    """The set-up needs all parties; nothing is spent before the first phase."""
    states = rank_states.RankStates("p", goes_on=True)
    for rank in range(3):
        states.note(Start(rank, 100 + rank, "elsewhere", "t"))
    if has_begun:
        states.note(Move(1, Position("work", 1, "", 0, 0, 0.0, 0.0)))
    states.note(Loss(2))
    assert states.is_stopped is not has_begun
    assert states.place(2) == "rank 2 (party 2) in p, before its first phase"


@pytest.mark.parametrize("status", [-9, -15, 1, None])
def test_a_rank_that_is_alone_since_mpiexec_was_killed_is_not_blamed(status: int | None) -> None:
    states = rank_states.RankStates("p", goes_on=False)
    states.note(Start(0, 100, "elsewhere", "t"))
    line = "rank 0: expected 3 ranks (a curator and 2 parties), found 1"
    states.note(Failure(0, 2, line, before_start=True))
    output: Any = SimpleNamespace(lost_rank=lambda: None, lost_host=lambda: None)
    failed = find_failure(status, states, output, launcher=Launcher("mpiexec", "openmpi", "5"))
    if status in {-9, -15}:
        place = "rank 0 (curator) in p, before its first phase"
        assert str(failed) == f"{place}: mpiexec was killed by signal {abs(status)}"
    else:
        assert str(failed) == line


def test_a_rank_that_is_alone_is_not_blamed_though_another_has_not_ended(tmp_path: Path) -> None:
    """What it says of the set-up is not said by all, but it follows from the end of mpiexec."""
    line = line_of(tmp_path, "is alone", "is away")
    assert line.endswith("before its first phase: mpiexec was killed by signal 9")


def test_a_wait_of_the_set_up_ends() -> None:
    request: Any = SimpleNamespace(Test=lambda: False)
    with pytest.raises(TimeoutExpired, match="expected all ranks to be set up"):
        _wait(request, 0.1)


def test_an_interruption_while_processes_are_ended_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_all = rank_processes._end_all
    processes: list[subprocess.Popen[str]] = []

    def end_all_interrupted(process: subprocess.Popen[str], **options: Any) -> None:
        processes.append(process)
        signal.raise_signal(signal.SIGINT)
        end_all(process, **options)

    monkeypatch.setattr(rank_processes, "_end_all", end_all_interrupted)
    line = line_of(tmp_path, "stops", "fails", status=130)
    assert "interrupted; all roles were ended" in line
    assert processes[0].returncode is not None


def test_what_a_rank_started_ends_with_it(tmp_path: Path) -> None:
    """Its child has a session of its own, so that neither its group nor its parent leads to it."""
    line = line_of(tmp_path, "starts a child", "works")
    assert "lost" in line
    child = int((tmp_path / "notes").read_text())
    status = Path(f"/proc/{child}/status")
    assert not status.exists() or "\nState:\tZ" in status.read_text()


def test_processes_that_ignore_their_end_have_the_same_time_all_together() -> None:
    """mpiexec and a rank that is in a long call: both are killed, and the run ends within 5 s."""
    token = "a-token-of-this-test"
    stays = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    environment = {**os.environ, "SOTTOVOCE_JOB": token}
    mpiexec, rank = (
        subprocess.Popen(
            [sys.executable, "-c", f"{stays}  # {mark}"],
            env=environment,
            start_new_session=True,
            text=True,
        )
        for mark in ("mpiexec", "sottovoce.launch.rank")
    )
    try:
        time.sleep(1)  # Both ignore SIGTERM by now, or the test is easier than it should be.
        before = time.monotonic()
        rank_processes._end_all(mpiexec, token=token, segments=[])
        assert time.monotonic() - before < 1.5 * rank_processes.PATIENCE
        assert mpiexec.poll() == -signal.SIGKILL
        assert rank.wait(timeout=10) == -signal.SIGKILL
    finally:
        for process in (mpiexec, rank):
            process.kill()
            process.wait()
