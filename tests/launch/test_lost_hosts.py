"""A host that is lost is named by what mpiexec says, in whatever order its ranks' ends arrive."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import permutations
from queue import SimpleQueue
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from sottovoce.launch import supervise
from sottovoce.launch.failures import find_failure
from sottovoce.launch.mpiexec import Launcher
from sottovoce.launch.process_output import ProcessOutput
from sottovoce.launch.rank_events import (
    Event,
    Failure,
    LogOpened,
    Loss,
    Move,
    RoleBegins,
    Start,
)
from sottovoce.launch.rank_states import RankStates
from sottovoce.launch.waiting import RankLost
from sottovoce.messages import Position
from sottovoce.runs.failure import Cause
from sottovoce.runs.job import Job

HOSTS = ["ann", "ann", "bea.example.org", "bea.example.org", "eva"]
RULE = "-" * 60
NO_REPORT = f"""{RULE}
A daemon failed to report back after being spawned. This could
be due to several factors.

  Local host:    ann
  Remote host:   %s
  Daemon exit status: 0

{RULE}
"""
NO_CONTACT = f"""{RULE}
PRTE has lost communication with a remote daemon.

  HNP daemon   : [prterun-ann-1@0,0] on node ann
  Remote daemon: [prterun-ann-1@0,2] on node %s

This is usually due to a failure of the TCP network.
{RULE}
"""


def begun(*, goes_on: bool = True, hosts: Sequence[str] = HOSTS) -> RankStates:
    """Make what the launcher knows while all ranks are in a phase."""
    states = RankStates("p", goes_on=goes_on)
    for rank, host in enumerate(hosts):
        states.note(Start(rank, 100 + rank, host, "t"))
        states.note(LogOpened(rank, 1))
        states.note(RoleBegins(rank))
        states.note(Move(rank, Position("work", 1, "", 0, 0, 0.0, 0.0)))
    return states


def failure(states: RankStates, host: str | None = None) -> RankLost:
    output: Any = SimpleNamespace(lost_rank=lambda: None, lost_host=lambda: host)
    failed = find_failure(1, states, output, launcher=Launcher("mpiexec", "openmpi", "5"))
    assert isinstance(failed, RankLost)
    return failed


@pytest.mark.parametrize("host", ["eva", "eva.example.org"])
def test_the_host_that_mpiexec_names_was_lost_in_whatever_order_losses_arrive(host: str) -> None:
    for order in permutations(range(5)):
        states = begun()
        for rank in order:
            states.note(Loss(rank))
        failed = failure(states, host)
        assert failed.rank == 4
        assert str(failed).startswith("rank 4 (party 4) in p, phase work, step 1: its host was ")
        assert "add --without 4, and --hosts for all ranks" in str(failed)


def test_all_parties_of_the_host_are_given_up_and_the_one_lost_last_is_named() -> None:
    """Party 3 had been lost before, and others have gone on without it."""
    states = begun()
    for rank in (3, 0, 1, 2, 4):
        states.note(Loss(rank))
    failed = failure(states, "bea")
    assert failed.rank == 2
    assert "add --without 2 --without 3, and --hosts for all ranks" in str(failed)


def test_without_the_end_of_all_ranks_mpiexec_is_believed_as_well() -> None:
    states = begun()
    for rank in (0, 1):
        states.note(Loss(rank))
    assert failure(states, "eva").rank == 4


@pytest.mark.parametrize(
    ("host", "cause", "start"),
    [("eva", "loss", "rank 4"), (None, "loss", "rank 2"), ("eva", "mistake", "rank 2")],
)
def test_a_rank_that_misses_the_curator_does_not_hide_the_loss_of_a_host(
    host: str | None, cause: Cause, start: str
) -> None:
    """Open MPI ended the curator, and a rank has noticed that before it was ended itself."""
    states = begun()
    line = "rank 2 (party 2) in p, phase work, step 1: expected Word from the curator, found none"
    states.note(Failure(2, 3, line, cause=cause))
    for rank in range(5):
        states.note(Loss(rank))
    output: Any = SimpleNamespace(lost_host=lambda: host)
    failed = find_failure(1, states, output, launcher=Launcher("mpiexec", "openmpi", "5"))
    assert failed is not None
    assert str(failed).startswith(start)


def test_a_run_that_does_not_go_on_names_the_host_without_options() -> None:
    states = begun(goes_on=False)
    for rank in (1, 0, 2, 3, 4):
        states.note(Loss(rank))
    failed = failure(states, "eva")
    assert failed.rank == 4
    assert "its host was lost" in str(failed)
    assert "--without" not in str(failed)


def test_the_curator_on_the_host_that_is_lost_is_not_given_up() -> None:
    states = begun(hosts=["bea", "eva", "bea"])
    for rank in (1, 2, 0):
        states.note(Loss(rank))
    failed = failure(states, "bea")
    assert failed.rank == 0
    assert "--without" not in str(failed)


@pytest.mark.parametrize("hosts", [HOSTS, ["ann"] * 5])
def test_a_process_that_is_lost_on_its_own_is_no_host(hosts: list[str]) -> None:
    """On one host what mpiexec says of a host names nobody."""
    states = begun(goes_on=False, hosts=hosts)
    for rank in (3, 0, 1, 2, 4):
        states.note(Loss(rank))
    failed = failure(states, None if len(set(hosts)) > 1 else "ann")
    assert failed.rank == 3
    assert "the process was lost" in str(failed)


@pytest.mark.parametrize(
    ("hosts", "rank"), [(["ann", "ann", "ann", "ann", "eva"], 4), (HOSTS, None)]
)
def test_where_mpiexec_names_nobody_the_only_other_host_is_named(
    hosts: list[str], rank: int | None
) -> None:
    """The order of losses does not tell which of two it was."""
    states = begun(hosts=hosts)
    for lost_rank in (0, 4, 1, 2, 3):
        states.note(Loss(lost_rank))
    failed = failure(states)
    assert failed.rank == rank
    if rank is None:
        assert "the host of another rank was lost, or MPI's daemon there" in str(failed)
        assert "add --without for each party there, and --hosts for all" in str(failed)
    else:
        assert "add --without 4, and --hosts for all ranks" in str(failed)


def test_losses_that_come_late_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curator's end comes first, and those of other hosts more than a second later."""
    monkeypatch.setattr(supervise, "StartWatch", lambda *_, **__: SimpleNamespace())
    states = begun()
    server: Any = SimpleNamespace(
        events=SimpleQueue[Event](), address=SimpleNamespace(token="t"), acknowledge=lambda _: None
    )
    process: Any = SimpleNamespace(pid=1, poll=lambda: 1)
    progress: Any = SimpleNamespace(show=lambda _: None)

    def arrive() -> None:
        for rank, pause in [(0, 0.0), (1, 0.1), (4, 1.3), (2, 0.1), (3, 0.0)]:
            time.sleep(pause)
            server.events.put(Loss(rank))

    arriving = Thread(target=arrive)
    arriving.start()
    before = time.monotonic()
    supervise._follow(
        process,
        server,
        states,
        job=Job(protocol="p", parties=4),
        progress=progress,
        durable=None,
        absence=None,
        ranks_here=None,
    )
    seconds = time.monotonic() - before
    arriving.join()
    assert states.are_all_lost
    assert seconds < supervise.HOSTS_END_WITHIN
    assert failure(states, "eva").rank == 4


@pytest.mark.parametrize("words", [NO_REPORT, NO_CONTACT])
@pytest.mark.parametrize("has_started", [True, False])
def test_words_on_a_lost_daemon_are_read_and_shown_only_if_no_rank_has_started(
    words: str, has_started: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    text = f"before\n{RULE}\na table of a plug-in\n{RULE}\n{words % 'eva'}after\n{RULE}\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"print({text!r}, end='')"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = ProcessOutput(process)
    assert process.wait(timeout=60) == 0
    assert output.lost_host() == "eva"
    output.pass_on(everything=False, daemon_messages=not has_started)
    shown = capfd.readouterr().err
    assert shown.startswith(f"before\n{RULE}\na table of a plug-in\n")
    assert shown.replace(words % "eva", "") == text.replace(words % "eva", "")
    assert ("Remote" in shown) is not has_started
