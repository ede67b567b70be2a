"""What runs have left on a host: all of it is listed, and can be removed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sottovoce.crypto.role_log import RoleLog
from sottovoce.launch.commands import log_notices, resuming
from sottovoce.launch.commands.finishing import Display
from sottovoce.messages import UsageError
from sottovoce.runs.durable import DurableRole
from sottovoce.runs.job import Job
from sottovoce.runs.left_runs import forget_roles, left_runs, old_runs
from sottovoce.runs.log_header import LogHeader
from sottovoce.runs.one_writer import one_writer
from sottovoce.runs.placement import Placement
from sottovoce.runs.role_logs import make_role_place
from sottovoce.runs.role_places import run_place
from sottovoce.runs.unfinished import UnfinishedRun, begin_run

ELSEWHERE = "20250301-120000-4f1a2b3c"
"""A run that another host has started."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def role() -> Iterator[DurableRole]:
    """The place of a party whose run was started on another host."""
    role = make_role_place(LogHeader(run=ELSEWHERE, rank=3, job="", is_own=True))
    yield role
    role.close()


def begin(folder: Path) -> UnfinishedRun:
    placement = Placement(transport="threads", durable=True)
    return begin_run(Job(protocol="calm"), placement, folder=folder, classify=None)


def test_nothing_is_left_where_nothing_ran(state: Path) -> None:
    assert left_runs() == []
    assert not state.exists()


def test_runs_of_this_host_and_of_others_are_listed(tmp_path: Path, role: DurableRole) -> None:
    run = begin(tmp_path / "out")
    role.close()
    first, second = left_runs()
    assert (first.run, first.roles, first.version, first.is_running) == (
        ELSEWHERE,
        ["party-3"],
        "",
        False,
    )
    assert first.began == datetime(2025, 3, 1, 12, tzinfo=UTC)
    assert first.size == sum(path.stat().st_size for path in run_place(ELSEWHERE).glob("*/*"))
    assert second.run == run.run
    assert second.description is not None
    assert second.description.job.protocol == "calm"
    assert not second.is_running
    with one_writer(tmp_path / "out"):
        assert left_runs()[1].is_running


def test_a_run_of_another_version_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begin(tmp_path / "out")
    description = run_place(run.run) / "run.json"
    text = description.read_text()
    description.write_text(text.replace(f'"version":"{run.version}"', '"version":"0.0.1"'))
    resuming.resume_command()
    assert "stopped, of version 0.0.1" in capsys.readouterr().out


def test_roles_of_another_hosts_run_are_removed_unless_they_are_at_work(
    role: DurableRole, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not forget_roles(ELSEWHERE), "it is at work"
    with pytest.raises(UsageError, match="expected a durable run that has stopped, found none"):
        resuming.resume_command(ELSEWHERE, forget=True)
    role.close()
    resuming.resume_command()
    assert "party-3 of a run from another host" in capsys.readouterr().out
    resuming.resume_command(ELSEWHERE, forget=True)
    assert left_runs() == []
    assert not run_place(ELSEWHERE).exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "missing"])
def test_nothing_else_is_removed(name: str, state: Path, role: DurableRole) -> None:
    role.close()
    (state / "calibration.json").write_text("{}")
    before = sorted(state.rglob("*"))
    assert not forget_roles(name)
    assert sorted(state.rglob("*")) == before


def test_what_the_starter_described_is_not_removed_as_another_hosts(tmp_path: Path) -> None:
    run = begin(tmp_path / "out")
    assert not forget_roles(run.run)
    assert run.is_there


def test_old_runs_are_named_when_a_run_begins(
    tmp_path: Path, role: DurableRole, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "out")
    now = datetime.now(UTC)
    assert old_runs(before=now - timedelta(days=7)) == [], "the old one is at work"
    role.close()
    assert [run.run for run in old_runs(before=now - timedelta(days=7))] == [ELSEWHERE]
    log_notices.tell_of_old_runs(Display(quiet=True))
    assert capsys.readouterr().err == ""
    log_notices.tell_of_old_runs(Display())
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "logs of a run that began more than 7 days ago" in line
    assert str(run_place(ELSEWHERE).parent) in line


def test_looking_at_a_log_does_not_keep_its_role_from_it(role: DurableRole) -> None:
    role.close()
    left_runs()
    key = (run_place(ELSEWHERE) / "party-3" / "key").read_bytes()
    assert len(key) == 32
    log = run_place(ELSEWHERE) / "party-3" / "log"
    with pytest.raises(UsageError, match="its key is another one"):
        RoleLog(log, key=key)  # It could be opened, though it needs a key that follows from this.
