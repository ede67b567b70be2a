"""What a launcher keeps of a durable run until its results are written."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Curator
from sottovoce.launch.commands import finishing, resuming
from sottovoce.launch.commands.finishing import Display
from sottovoce.launch.jobs import start_run
from sottovoce.messages import Position, SottovoceError, UsageError
from sottovoce.parties import Party
from sottovoce.runs import role_threads, threads
from sottovoce.runs.budget_file import create_budget, read_budget
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.finding_runs import find_run, refuse_stopped, unfinished_runs
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import LogHeader
from sottovoce.runs.placement import Placement
from sottovoce.runs.role_logs import make_role_place, may_have_released
from sottovoce.runs.role_places import run_place
from sottovoce.runs.settings import settings
from sottovoce.runs.unfinished import UnfinishedRun, begin_run


class StopError(Exception):
    """The run is stopped here."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state"


def job_of(**options: Any) -> Job:
    return settings({"protocol": "head-count", "rows": 50, "seed": 1, **options}).job


def begin(job: Job, *, out: str = "out", budget: Path | None = None) -> UnfinishedRun:
    placement = Placement(
        transport="threads", durable=True, budget=None if budget is None else str(budget)
    )
    return begin_run(job, placement, folder=Path(out), classify=None)


def finish(run: UnfinishedRun) -> None:
    finishing.finish_run(
        run.job,
        run.placement,
        folder=Path(run.folder),
        classify=run.classify,
        unfinished=run,
        display=Display(quiet=True),
    )


def stop(*_: object, **__: object) -> None:
    raise StopError


def test_the_record_is_kept_until_the_results_are_written(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(finishing, "write_run", stop)
        with pytest.raises(StopError):
            finish(begin(job_of()))
    assert not Path("out").exists()
    with monkeypatch.context() as patch:
        patch.setattr(threads, "play_role", stop)  # No role is played any more.
        finish(find_run("out"))
    assert json.loads(Path("out/report.json").read_text())["parameters"]["epsilon"] == 1.0
    assert json.loads(Path("out/report.json").read_text())["seed"] == 1
    assert not [path for path in state.rglob("*") if path.is_file()]
    with pytest.raises(UsageError, match="found a finished one in out: its results are there"):
        find_run("out")


def test_the_line_of_a_failure_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        make_role_place(LogHeader(run=run.run, rank=1, job="", is_own=True)).close()
        raise SottovoceError("rank 1 (party 1) in head-count: the process was lost")

    run = begin(job_of(), out="a folder")
    with monkeypatch.context() as patch:
        patch.setattr(finishing, "run_job", fail)
        with pytest.raises(
            RunFailed, match=r"lost; go on with: sottovoce resume 'a folder'$"
        ) as it:
            finishing.finish_run(
                job_of(),
                Placement(durable=True),
                folder=Path("a folder"),
                classify=None,
                unfinished=run,
                display=Display(quiet=True),
            )
    assert it.value.status == 3
    assert find_run("a folder").run == run.run


def test_a_run_that_never_began_leaves_nothing(state: Path) -> None:
    job = job_of(data="missing.csv")
    with pytest.raises(UsageError, match=r"expected a data file, found none at missing\.csv"):
        finish(begin(job))
    assert not [path for path in state.rglob("*") if path.is_file()]


def test_a_run_spends_its_budget_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its budget would not suffice for the run a second time."""
    budget = tmp_path / "budget.json"
    create_budget(budget, epsilon=1.0, neighbours="add-or-remove-one")
    run = begin(job_of(), budget=budget)
    with monkeypatch.context() as patch:
        patch.setattr(threads, "play_on_threads", stop)
        with pytest.raises(StopError):
            finish(run)
    assert [entry.state for entry in read_budget(budget).spending] == ["started"]
    # The table is gone: going on fails before a role begins, but an earlier attempt had begun.
    with monkeypatch.context() as patch:
        patch.setattr(threads, "_set_up", _fail_before_start)
        with pytest.raises(UsageError):
            finish(find_run("out"))
    assert [entry.state for entry in read_budget(budget).spending] == ["started"]
    finish(find_run("out"))
    (entry,) = read_budget(budget).spending
    assert (entry.state, entry.epsilon, entry.run) == ("ended", 1.0, run.run)


def _fail_before_start(*_: object, **__: object) -> None:
    raise UsageError("expected a data file, found none")


def _other_version(run: UnfinishedRun) -> None:
    path = run_place(run.run) / "run.json"
    path.write_text(path.read_text().replace(f'"version":"{run.version}"', '"version":"0.0.1"'))


def _other_content(run: UnfinishedRun) -> None:
    path = run_place(run.run) / "run.json"
    path.write_text(path.read_text().replace('"placement":{', '"placement":[{'))


def _other_record(run: UnfinishedRun) -> None:
    (run_place(run.run) / "record").write_bytes(b"other")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (_other_version, "found one of 0.0.1: resume with that version"),
        (_other_content, "found none of out"),
        (_other_record, "expected the record of a run in"),
    ],
)
def test_what_was_changed_is_refused(change: Callable[[UnfinishedRun], None], line: str) -> None:
    run = begin(job_of())
    change(run)
    with pytest.raises(UsageError, match=line):
        finish(find_run("out"))


def test_a_run_is_found_by_its_folder_and_by_its_name(state: Path) -> None:
    first, second = begin(job_of()), begin(job_of(), out="other")
    assert find_run(first.run).folder == find_run("out").folder == str(Path("out").absolute())
    assert [run.run for run in unfinished_runs()] == sorted([first.run, second.run])
    again = begin(job_of())
    with pytest.raises(UsageError, match="found 2: name one of ") as raised:
        find_run("out")
    assert again.run in str(raised.value)
    assert stat.S_IMODE((run_place(first.run) / "run.json").stat().st_mode) == 0o600
    for run in (first, second, again):
        run.remove()
    assert not [path for path in state.rglob("*") if path.is_file()]
    with pytest.raises(UsageError, match="found none of out: `sottovoce resume` lists them"):
        find_run("out")


def test_a_folder_that_a_stopped_run_waits_for_is_refused() -> None:
    """Who starts the same command again would spend the same epsilon again."""
    run = begin(job_of())
    with pytest.raises(UsageError, match=f"go on with `sottovoce resume {run.run}`, forget it"):
        refuse_stopped(Path("out"))
    refuse_stopped(Path("other"))
    run.remove()
    refuse_stopped(Path("out"))


def test_a_run_that_finished_meanwhile_is_not_played_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second of two resumes read the description, then waited until the first had finished."""
    run = begin(job_of())
    description = find_run("out")
    finish(description)
    monkeypatch.setattr(resuming, "find_run", lambda _: description)
    monkeypatch.setattr(resuming, "finish_run", stop)
    with pytest.raises(UsageError, match=f"found that {run.run} has finished meanwhile"):
        resuming.resume_command("out")
    assert not description.is_there


def test_a_run_goes_on_on_other_hosts_only_over_mpi() -> None:
    run = begin(job_of())
    with pytest.raises(UsageError, match="expected --hosts or --hostfile for a run over MPI"):
        resuming.resume_command("out", hosts="a:2,b:1")
    assert find_run("out").placement == run.placement
    over_mpi = msgspec.structs.replace(
        run, placement=Placement(transport="mpi", hosts="a:2,b:2", durable=True)
    )
    moved = over_mpi.on_hosts(hosts=None, hostfile=Path("hosts"))
    assert moved.placement.hosts is None
    assert find_run("out").placement == moved.placement
    assert moved.placement.hostfile == str(Path.cwd() / "hosts")
    assert find_run("out").job == run.job
    for options in ({"run": None}, {"run": "out", "forget": True}):
        with pytest.raises(UsageError, match="beside the name of a run that goes on"):
            resuming.resume_command(hosts="a:2,b:1", **options)
    assert find_run("out").is_there


def test_a_role_at_work_is_noted_and_no_role_begins_anew_then(state: Path) -> None:
    run = begin(job_of())
    idle = Position("", 0, "", 0, 0, 0.0, 0.0)
    run.watch({0: idle})
    assert not find_run("out").task.has_begun
    run.watch({0: idle, 1: idle._replace(phase="count")})
    assert find_run("out").task.has_begun
    with pytest.raises(UsageError, match="expected the logs of all roles of run"):
        finish(find_run("out"))
    find_run("out").remove()
    assert not [path for path in state.rglob("*") if path.is_file()]


def stop_once(patch: pytest.MonkeyPatch) -> None:
    """Let the next run end as if its curator were lost, after all roles had begun."""
    play = role_threads.play_on_threads

    def play_and_stop(*arguments: Any, **options: Any) -> Any:
        patch.setattr(threads, "play_on_threads", play)
        play(*arguments, **options)
        raise RunFailed("curator in head-count: the process was lost", status=3)

    patch.setattr(threads, "play_on_threads", play_and_stop)


def test_from_python_a_run_goes_on(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"rows": 50, "transcript": True, "judge": False, "parties": 2}
    stop_once(monkeypatch)
    with pytest.raises(
        RunFailed, match=r"lost; go on with: sottovoce\.resume\('(.*)'\)$"
    ) as raised:
        sottovoce.run("head-count", durable=True, **options)
    name = str(raised.value).split("'")[1]
    (waiting,) = unfinished_runs()
    assert waiting.run == name
    assert waiting.folder.startswith(str(Path("runs/head-count-").absolute()))
    monkeypatch.chdir(state)
    done = sottovoce.resume(name, judge=False)
    assert Path.cwd() == state, "the working folder is that of before"
    assert not [path for path in state.rglob("*") if path.is_file()]
    with pytest.raises(UsageError, match="expected a durable run that has stopped"):
        sottovoce.resume(name)
    assert done.report["parties"] == 2
    # The curator's record was on the disk, so no role was played again.
    assert done.report["resumed"] == []
    assert sottovoce.run("head-count", durable=True, **options).report["parties"] == 2
    assert not unfinished_runs()


def test_a_table_in_memory_cannot_be_durable(state: Path) -> None:
    table = pd.DataFrame({"age": ["1", "2"] * 20})
    with pytest.raises(
        UsageError, match="expected files for a durable run, found a table in memory"
    ):
        sottovoce.run("head-count", table, durable=True)
    assert not state.exists()


def test_a_run_of_a_sweep_that_has_stopped_goes_on(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placement = Placement(transport="threads", durable=True)
    stop_once(monkeypatch)
    with pytest.raises(RunFailed, match="go on with"):
        start_run(job_of(seed=2), placement)
    (waiting,) = unfinished_runs()
    other = start_run(job_of(seed=3), placement)
    assert [run.run for run in unfinished_runs()] == [waiting.run], "another run's job differs"
    with monkeypatch.context() as patch:
        patch.setattr(threads, "play_role", stop)  # The record is there: no role is played.
        record = start_run(job_of(seed=2), placement)
    assert record.job == job_of(seed=2)
    assert other.job == job_of(seed=3)
    assert not unfinished_runs()
    # One that cannot go on any more is not begun anew: it may have released something.
    stop_once(monkeypatch)
    with pytest.raises(RunFailed):
        start_run(job_of(seed=2), placement)
    (waiting,) = unfinished_runs()
    for log in run_place(waiting.run).rglob("key"):
        log.write_bytes(b"")
    forget = rf"has the same options and may have .* say `sottovoce resume {waiting.run} --forget`"
    with pytest.raises(RunFailed, match=forget) as refused:
        start_run(job_of(seed=2), placement)
    assert refused.value.status == 2
    assert [run.run for run in unfinished_runs()] == [waiting.run]
    resuming.resume_command(waiting.run, forget=True)
    assert start_run(job_of(seed=2), placement).job == record.job
    assert not [path for path in state.rglob("*") if path.is_file()]


def test_a_party_is_given_up_only_where_enough_are_left() -> None:
    run = begin(job_of())
    with pytest.raises(UsageError, match=r"--without for a run with --on-loss continue, found .*p"):
        resuming.resume_command("out", without=[2])
    run.remove()
    begin(job_of(on_loss="continue", parties=4, min_parties=2))
    for parties, line in (([5], "parties from 1 to 4 after"), ([1, 2, 3], "at least 2 parties")):
        with pytest.raises(UsageError, match=line):
            resuming.resume_command("out", without=parties)
        with pytest.raises(UsageError, match=line):
            sottovoce.resume("out", without=parties)
    for options in ({"run": None}, {"run": "out", "forget": True}):
        with pytest.raises(UsageError, match="expected --without beside the name of a run"):
            resuming.resume_command(without=[1], **options)
    assert find_run("out").task.without == ()
    given_up = find_run("out").without_parties([3, 1])
    assert given_up.task.without == (1, 3)
    at_set_up, at_work = (Position(phase, 0, "", 0, 0, 0.0, 0.0) for phase in ("", "keys"))
    given_up.watch({0: at_set_up})
    assert find_run("out").task.without == ()  # Another party may have been meant.
    given_up.watch({0: at_work})
    assert find_run("out").task.without == (1, 3)
    (run_place(given_up.run) / "record").write_bytes(b"")
    with pytest.raises(UsageError, match="leave out --without, and its results are written"):
        resuming.resume_command("out", without=[2])


@pytest.mark.parametrize(("after", "is_kept"), [("answers", True), ("nothing", False)])
def test_bad_input_that_a_role_finds_forgets_no_run_that_has_released(
    after: str, is_kept: bool, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What decides is the logs of parties, and not the word of the role."""
    gather = Curator.gather_answers

    def complain(*_: Any, **__: Any) -> None:
        raise UsageError("expected another option")

    def gather_and_complain(desk: Curator, *rest: Any) -> None:
        gather(desk, *rest)
        complain()

    with monkeypatch.context() as patch:
        if after == "answers":
            patch.setattr(Curator, "gather_answers", gather_and_complain)
        else:
            patch.setattr(Party, "release", complain)
        with pytest.raises(SottovoceError, match="expected another option") as error:
            finish(begin(job_of()))
    assert getattr(error.value, "status", error.value.exit_status) == 2
    assert ("may have released something, so a new run would spend" in str(error.value)) == is_kept
    assert bool(unfinished_runs()) == is_kept
    if is_kept:
        finish(find_run("out"))
        assert (Path("out") / "report.json").exists()
    assert not [path for path in state.rglob("*") if path.is_file()]


def test_logs_that_cannot_be_read_do_not_say_that_nothing_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = begin(job_of())
    assert not may_have_released(run.run)
    with monkeypatch.context() as patch:
        patch.setattr(Party, "release", stop)
        with pytest.raises(SottovoceError):
            finish(run)
    assert not may_have_released(run.run)
    log = run_place(run.run) / "party-2" / "log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert may_have_released(run.run)
    log.write_bytes(whole)
    (log.parent / "key").write_bytes(b"k" * 32)
    assert may_have_released(run.run)
