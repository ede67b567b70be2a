"""Durable runs from Python and in sweeps: begun, gone on with, and removed when they have ended.

The command line does the same with a folder of results (`commands.finishing`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ..messages import SottovoceError, UsageError
from ..runs.failure import RunFailed, cause_of
from ..runs.finding_runs import find_run, unfinished_runs
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.one_writer import FolderTakenError, one_writer
from ..runs.placement import Placement
from ..runs.record import RunRecord
from ..runs.role_logs import may_have_released
from ..runs.unfinished import UnfinishedRun, begin_run
from .results_folder import results_folder

__all__ = [
    "begin_durable",
    "enter_working_folder",
    "failure_of",
    "go_on",
    "repeat_durable",
]

T = TypeVar("T")

Play = Callable[[UnfinishedRun], RunRecord]
"""Plays a run, or goes on with it."""


def begin_durable(
    job: Job, placement: Placement, *, play: Play, finish: Callable[[RunRecord], T]
) -> T:
    """Begin a durable run, play it, and remove what it leaves once `finish` has its record.

    Raises:
        SottovoceError: the run failed. The text names the way to go on.
    """
    with results_folder(None, name=instantiate(job).name, is_writer=True) as folder:
        unfinished = begin_run(job, placement, folder=folder, classify=None)
        return _finish(unfinished, play=play, finish=finish)


def go_on(
    name: str, *, play: Play, finish: Callable[[RunRecord], T], without: Sequence[int] = ()
) -> T:
    """Go on with a durable run that has stopped, by its name or the folder of its results.

    Parties in `without` are gone for good.

    Raises:
        UsageError: there is none, or another process goes on with it.
        SottovoceError: the run failed once more.
    """
    unfinished = find_run(name)
    with one_writer(Path(unfinished.folder)):
        unfinished.require_unfinished()
        if without:
            unfinished = unfinished.without_parties(without)
        with _working_folder(unfinished):
            return _finish(unfinished, play=play, finish=finish)


@contextlib.contextmanager
def _working_folder(unfinished: UnfinishedRun) -> Iterator[None]:
    """Change for a while to the folder from which the paths of the job count."""
    before = Path.cwd()
    enter_working_folder(unfinished)
    try:
        yield
    finally:
        os.chdir(before)


def enter_working_folder(unfinished: UnfinishedRun) -> None:
    """Change to the folder from which the paths of the job count.

    Raises:
        UsageError: it is gone.
    """
    try:
        os.chdir(unfinished.working_folder)
    except OSError as error:
        raise UsageError(
            f"expected the working folder {unfinished.working_folder} of the run that stopped, "
            f"found: {error.strerror}; paths of its data count from there, so restore it"
        ) from None


def repeat_durable(job: Job, placement: Placement, *, play: Play) -> RunRecord:
    """Play a run of a sweep: one with the same job that has stopped goes on.

    Raises:
        RunFailed: one has stopped and cannot go on. A new one would spend once more.
    """
    wanted = msgspec.json.encode((job, placement))
    for run in unfinished_runs():
        is_same = msgspec.json.encode((run.job, run.placement)) == wanted
        if not is_same or run.working_folder != str(Path.cwd()):
            continue
        try:
            return go_on(run.run, play=play, finish=lambda record: record)
        except FolderTakenError:
            continue
        except UsageError as refusal:
            if not _may_have_spent(run):
                run.remove()
                continue
            raise RunFailed(
                f"{refusal}; run {run.run} has the same options and may have released something: "
                "a new one would spend again, so mend this, or say `sottovoce resume "
                f"{run.run} --forget`",
                status=refusal.exit_status,
            ) from refusal
    return begin_durable(job, placement, play=play, finish=lambda record: record)


def failure_of(error: SottovoceError, unfinished: UnfinishedRun, *, way_on: str) -> SottovoceError:
    """Give the error with which a durable run ends, and remove the run if it cannot go on.

    One that never began has nothing to go on with. One with bad input, which a role has found in
    its first phase, would find it again: an option cannot be changed. That is the word of a role.
    So the run is removed only if no log says that something of records has left; on several hosts
    not all logs can be read here, and it stays unless no role has begun.
    """
    if isinstance(error, UsageError) and unfinished.is_resumed:
        return error
    status = getattr(error, "status", error.exit_status)
    is_bad_input = status == UsageError.exit_status
    has_ended = error.before_start or is_bad_input or not unfinished.has_begun
    is_first = not unfinished.is_resumed
    if is_first and has_ended and not _may_have_spent(unfinished, began=not error.before_start):
        unfinished.remove()
        return error
    if is_bad_input and not error.before_start:
        return RunFailed(
            f"{error}; its parties may have released something, so a new run would spend again: "
            f"forget this one with `sottovoce resume {unfinished.run} --forget`, or mend what is "
            f"outside of it, and go on with: {way_on}",
            status=status,
            traceback=getattr(error, "traceback", ""),
        )
    cause = cause_of(error)
    before = "mend its cause, then " if cause == "mistake" else ""
    after = ", with a longer --timeout if a role needs it" if cause == "time-out" else ""
    return RunFailed(
        f"{error}; {before}go on with: {way_on}{after}",
        status=status,
        traceback=getattr(error, "traceback", ""),
        cause=cause,
    )


def _may_have_spent(unfinished: UnfinishedRun, *, began: bool = True) -> bool:
    """Tell whether a run may have released something, by the logs on this host.

    On other hosts there may be more, if it `began`. Logs that are missing say nothing.
    """
    if began and unfinished.placement.several_hosts:
        return True
    return unfinished.lacks_logs or may_have_released(unfinished.run)


def _finish(unfinished: UnfinishedRun, *, play: Play, finish: Callable[[RunRecord], T]) -> T:
    try:
        record = play(unfinished)
    except SottovoceError as error:
        way_on = f"sottovoce.resume({unfinished.run!r})"
        raise failure_of(error, unfinished, way_on=way_on) from error
    result = finish(record)
    unfinished.remove()
    return result
