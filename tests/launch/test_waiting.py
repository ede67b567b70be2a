"""Runs that wait for a lost rank: which losses are waited for, and which end the run."""

from dataclasses import dataclass
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Timer
from types import SimpleNamespace
from typing import Any

import pytest

from sottovoce.launch import supervise, waiting
from sottovoce.launch.failures import find_failure
from sottovoce.launch.mpiexec import Launcher
from sottovoce.launch.rank_events import Event, Failure, Loss, RankResult, RoleBegins
from sottovoce.launch.rank_states import RankStates
from sottovoce.launch.waiting import Absence, RankLost, play_waiting
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement
from sottovoce.runs.restarts import MAX_RESTARTS, Restarts
from sottovoce.runs.unfinished import UnfinishedRun

RUN = UnfinishedRun(
    run="r",
    folder="/nowhere",
    working_folder="/nowhere",
    began=datetime(2026, 1, 1, tzinfo=UTC),
    job=Job(protocol="head-count", parties=2, on_loss="wait"),
    placement=Placement(transport="mpi"),
    classify=None,
)
ALL = {0: 5, 1: 5, 2: 5}
"""Numbers of records in the logs of all ranks."""


@dataclass
class Attempts:
    """Attempts at a run, each of which ends as the test says."""

    ends: list[Any]
    resumed: list[bool]

    def __call__(self, run: UnfinishedRun, absence: Absence) -> Any:
        self.resumed.append(run.is_resumed)
        end = self.ends.pop(0)
        if isinstance(end, RankLost) and absence.loss is not None and len(end.logs) == 3:
            absence.refusal(end.logs)  # the launcher does so when all ranks are set up
        if isinstance(end, BaseException):
            raise end
        return end


def play(*ends: object) -> tuple[Any, list[bool], list[str]]:
    attempts, told = Attempts([*ends], []), list[str]()
    return play_waiting(attempts, RUN, tell=told.append), attempts.resumed, told


def lost(place: str, *, rank: int = 1, logs: dict[int, int] = ALL) -> RankLost:
    return RankLost(place, rank=rank, logs=logs)


def test_a_loss_is_followed_by_another_attempt() -> None:
    """Whether the process was lost or silent; whoever follows the run is told."""
    done, resumed, told = play(lost("rank 1: no sign of life for 60 s"), "done")
    assert (done, resumed) == ("done", [False, True])
    assert told == ["rank 1: no sign of life for 60 s; all roles are started again from their logs"]


def test_a_role_is_started_again_ten_times_at_most() -> None:
    restarts = Restarts()
    for number in range(MAX_RESTARTS):
        assert restarts.refusal(1, place=f"step {number}", records=number) == ""
        assert restarts.refusal(2, place="step 0", records=number) == ""
    assert restarts.refusal(1, place="another", records=99) == "party 1 was lost 11 times"


def test_a_rank_that_is_lost_again_before_all_are_set_up_ends_the_run() -> None:
    with pytest.raises(RunFailed, match="second; ranks were lost twice while they were set up"):
        play(lost("first", logs={0: 1}), lost("second", logs={0: 1}))


def test_another_failure_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error of a role, or Ctrl-C; a host that does not answer yet is asked again."""
    with pytest.raises(RunFailed, match=r"^an error$"):
        play(lost("first"), RunFailed("an error", status=3))
    with pytest.raises(KeyboardInterrupt):
        play(lost("first"), KeyboardInterrupt())
    monkeypatch.setattr(waiting, "MIN_PAUSE", 0.01)
    away = RunFailed("no host", status=3, before_start=True, may_pass=True)
    assert play(lost("first"), away, "done")[0] == "done"


@pytest.mark.parametrize(("printed", "rank"), [(3, 3), (None, 0), (2, 0)])
def test_the_rank_that_mpiexec_names_was_lost_first(printed: int | None, rank: int) -> None:
    """The lifeline of a rank that mpiexec ended may end before that of the lost one."""
    states = RankStates("p")
    for lost_rank in (0, 3, 1):
        states.note(Loss(lost_rank))
    process: Any = SimpleNamespace(poll=lambda: 1)
    output: Any = SimpleNamespace(lost_rank=lambda: printed)
    failed = find_failure(
        process.poll(), states, output, launcher=Launcher("mpiexec", "openmpi", "5")
    )
    assert isinstance(failed, RankLost)
    assert failed.rank == rank


def test_a_rank_that_is_silent_twice_at_one_place_is_not_started_a_third_time() -> None:
    """However long it was silent, and whoever waited for it."""
    absence = Absence.of(RUN)
    texts = []
    for end in ("for 60 s", "for 61 s; the curator: expected Word from party 1"):
        absence.begin(lost(f"rank 1 (party 1) in p, phase x, step 2: no sign of life {end}"))
        texts.append(absence.refusal(ALL))
    assert texts[0] == ""
    assert texts[1].endswith("; party 1 was lost twice at the same place")


@pytest.mark.parametrize("status", [None, 1, -9])
def test_what_is_lost_after_the_result_ends_no_run(status: int | None) -> None:
    """A party or mpiexec may be lost while it ends, and the curator has removed its log then."""
    states = RankStates("p")
    for rank in range(3):
        if rank != 2:
            states.note(RankResult(rank))
    states.note(Loss(2))
    process: Any = SimpleNamespace(poll=lambda: status)
    output: Any = SimpleNamespace(lost_rank=lambda: None)
    launcher = Launcher("mpiexec", "mpich", "4")
    assert find_failure(process.poll(), states, output, launcher=launcher) is None
    del states.finished[0]
    states.note(Loss(0))
    assert isinstance(find_failure(process.poll(), states, output, launcher=launcher), RankLost)


@pytest.mark.parametrize("at_work", [None, 2])
def test_a_failure_of_the_set_up_counts_only_before_any_role_has_begun(at_work: int | None) -> None:
    """A rank that lies, or errs, must not make the launcher believe that nothing was spent."""
    states = RankStates("p")
    if at_work is not None:
        states.note(RoleBegins(at_work))
    states.note(Failure(1, 2, "rank 1: found bad input", before_start=True))
    output: Any = SimpleNamespace()
    failed = find_failure(None, states, output, launcher=Launcher("mpiexec", "openmpi", "5"))
    assert failed is not None
    assert failed.before_start == (at_work is None)


@pytest.mark.parametrize(
    ("later", "is_believed"),
    [
        ([Failure(0, 2, "", before_start=True), Loss(2)], True),
        ([Failure(0, 2, "", before_start=True), RoleBegins(2), Loss(2)], False),
        ([Failure(0, 2, "", before_start=True)], False),
        ([], False),
    ],
)
def test_the_word_of_one_rank_does_not_decide_that_no_role_has_begun(
    monkeypatch: pytest.MonkeyPatch, later: list[Event], is_believed: bool
) -> None:
    """What the others have sent may be on its way, while a rank lies that the set-up has failed."""
    monkeypatch.setattr(supervise, "SETUP_ENDS_WITHIN", 0.3)
    server: Any = SimpleNamespace(events=SimpleQueue())
    states = RankStates("p")
    states.note(Failure(1, 2, "rank 1: found bad input", before_start=True))

    def arrive() -> None:
        for event in later:
            server.events.put(event)

    Timer(0.05, arrive).start()
    process: Any = SimpleNamespace(poll=lambda: None)
    supervise._confirm_end_in_setup(server, states, process=process, ranks=3)
    assert states.failure is not None
    assert states.failure.line == "rank 1: found bad input"
    output: Any = SimpleNamespace()
    failed = find_failure(None, states, output, launcher=Launcher("mpiexec", "openmpi", "5"))
    assert failed is not None
    assert failed.before_start == is_believed
