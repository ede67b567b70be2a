"""What an MPI job that the user has started cannot go on with."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sottovoce.launch.commands import joining
from sottovoce.messages import CURATOR, UsageError
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement
from sottovoce.runs.unfinished import UnfinishedRun


def test_a_run_that_goes_on_without_lost_parties_is_not_resumed_within_an_mpirun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would keep the log of a lost party until the result is there."""

    def play(*_: Any, **__: Any) -> None:
        raise AssertionError("a role began")

    stopped = UnfinishedRun(
        run="stopped",
        folder=str(tmp_path),
        working_folder=str(tmp_path),
        began=datetime.now(UTC),
        job=Job(protocol="head-count", parties=3, on_loss="continue"),
        placement=Placement(transport="mpi"),
        classify=None,
    )
    monkeypatch.setattr(joining, "find_run", lambda _: stopped)
    monkeypatch.setattr(UnfinishedRun, "require_unfinished", lambda _: None)
    monkeypatch.setattr(joining, "this_rank", lambda: CURATOR)
    monkeypatch.setattr(joining, "_play", play)
    display: Any = None
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(UsageError, match="--on-loss continue without an MPI job"):
            joining.join_resumed("stopped", display=display)
    finally:
        signal.signal(signal.SIGTERM, before)
