"""What a part does to its machine, and tables of few records or with named values, are tried."""

from __future__ import annotations

import atexit
import io
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sottovoce.launch.audit import audit
from sottovoce.launch.rehearsal import rehearse
from sottovoce.report.making import make_report
from sottovoce.report.report import Report
from sottovoce.runs import time_limit
from sottovoce.runs.guard import AT_EXIT, PROCESSES, THREADS
from sottovoce.runs.job import Job
from sottovoce.runs.printing import Printing, note_printing
from sottovoce.runs.routed_calls import FILE
from sottovoce.runs.threads import run_on_threads
from sottovoce.runs.unaccounted import (
    ACTS,
    CONNECTS,
    IN_FILES,
    PRINTS,
    PRINTS_OTHERWISE,
)
from sottovoce.runs.waits import SLEEP

pytestmark = pytest.mark.usefixtures("first_tables", "unlimited_replays")
RECORDS = "its records"
PARTIES = (1, 2)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sottovoce.launch.rehearsed_job.ROWS", 60)
    for folder in ("many", "few"):
        (tmp_path / folder).mkdir()
    for party in PARTIES:
        (tmp_path / f"flag-{party}").touch()


def job_of(name: str) -> Job:
    return Job(protocol=f"machine_protocols:{name}", parties=2, rows=120, seed=3)


def played(name: str) -> Report:
    return make_report(run_on_threads(job_of(name)))


def reasons_of(report: Report) -> set[tuple[int, str]]:
    return {(line.party, line.reason) for line in report.privacy.not_accounted}


def rehearsed(name: str, monkeypatch: pytest.MonkeyPatch, *, seconds: float = 0.0) -> set[str]:
    """Rehearse with few tables."""
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", seconds)
    rehearsal = rehearse(job_of(name))
    assert rehearsal.failure is None
    return {line.reason for line in rehearsal.unaccounted}


LEAKS = {
    "Sleeps": ACTS[SLEEP].format(RECORDS),
    "SleepsIfMany": ACTS[SLEEP].format(RECORDS),
    "WaitsForAnEvent": ACTS[SLEEP].format(RECORDS),
    "PrintsInAThread": PRINTS.format(RECORDS),
    "WritesInAPool": IN_FILES,
    "RunsAProgram": ACTS["program"].format(RECORDS),
    "RunsTheShell": ACTS["program"].format(RECORDS),
    "Links": ACTS[FILE].format(RECORDS),
    "RemovesAFlag": ACTS[FILE].format(RECORDS),
    "MarksAFile": ACTS[FILE].format(RECORDS),
    "SavesAnArray": IN_FILES,
    "SendsADatagram": CONNECTS,
    "PrintsTheTime": PRINTS_OTHERWISE,
}


@pytest.mark.parametrize(("name", "reason"), LEAKS.items())
def test_what_a_part_does_by_its_records_is_named(name: str, reason: str) -> None:
    assert reasons_of(played(name)) == {(party, reason) for party in PARTIES}


def test_a_rehearsal_names_it_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert rehearsed("Moves", monkeypatch, seconds=600) == {ACTS[FILE].format(RECORDS)}
    assert rehearsed("WritesInAPool", monkeypatch) == {IN_FILES}
    assert sorted(tmp_path.rglob("*")) == before
    assert Path.cwd() == tmp_path


RIGHT = ("SleepsAlike", "CountsInAPool", "LogsAlike", "MovesAlike", "RunsAlike", "Spills")


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_alike_is_no_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 0.1)
    monkeypatch.setattr("sottovoce.runs.guard.SLOWER", 600)
    assert rehearsed(name, monkeypatch) == set()
    if name != "MovesAlike":  # two parties of one process have one working folder
        report = played(name)
        assert reasons_of(report) == set()
        beside = PROCESSES if name == "RunsAlike" else "beside me.records"
        assert any(beside in text for text in report.warnings) == (name == "RunsAlike")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """A stream of a handler that was made before the parts."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)f %(thread)d %(message)s"))
    logger = logging.getLogger("machine_protocols")
    logger.addHandler(handler)
    logger.propagate = False
    yield stream
    logger.propagate = True
    logger.removeHandler(handler)


def test_a_log_with_a_count_is_found_and_a_replay_logs_nothing(
    lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rehearsed("Logs", monkeypatch) == {PRINTS.format(RECORDS)}
    assert lines.getvalue() == ""
    assert reasons_of(played("Logs")) == {(party, PRINTS.format(RECORDS)) for party in PARTIES}
    assert len(lines.getvalue().splitlines()) == 2


def test_a_log_that_is_alike_is_no_finding_though_it_has_the_time(lines: io.StringIO) -> None:
    assert reasons_of(played("LogsAlike")) == set()
    assert len(lines.getvalue().splitlines()) == 2


@pytest.mark.parametrize("name", ["RunsAProgram", "RunsTheShell", "PrintsInAThread"])
def test_a_replay_shows_nothing_of_what_programs_and_threads_print(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rehearsed(name, monkeypatch)
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""


def test_a_replay_leaves_no_call_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before = atexit._ncallbacks()
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 0.0)
    rehearsal = rehearse(job_of("CallsAtTheEnd"))
    assert atexit._ncallbacks() == before
    assert (rehearsal.unaccounted, rehearsal.remarks) == ([], [AT_EXIT])
    report = played("CallsAtTheEnd")
    assert atexit._ncallbacks() == before + 2
    assert any(AT_EXIT in text for text in report.warnings)


def test_threads_that_go_on_are_noted() -> None:
    """The end of a part waits for its threads, and not for daemons."""
    release = threading.Event()
    printing = Printing(shown=False, packages={__name__.partition(".")[0]})
    with note_printing(printing):
        threading.Thread(target=print, args=("at once",)).start()
        threading.Thread(target=release.wait, daemon=True).start()
    assert printing.effects.leaves_threads
    assert printing.count == len("at once\n")
    release.set()
    assert "leaves threads running" in THREADS


def test_nobody_else_is_noted_or_led() -> None:
    """The functions that stand in the place of Python's stay, and do the same as before."""
    with note_printing(Printing(shown=False, packages={"somebody_else"})) as _:
        time.sleep(0.0)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    assert not hasattr(thread, "is_of_a_part")
    assert os.getcwd() == str(Path.cwd())  # noqa: PTH109
    assert time.sleep.__name__ == "sleep"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("EpsilonByRows", "the scale and the epsilon of its release 0 (discrete-laplace in phase "),
        ("MiddleHalf", "one record changes its release 0 (discrete-laplace) by "),
        ("SumOfRarePeople", "one record changes its release 0 (discrete-laplace) by 3, and the "),
    ],
)
def test_tables_of_few_records_and_of_named_ones_are_tried(name: str, word: str) -> None:
    rehearsal = rehearse(job_of(name))
    found = {line.party for line in rehearsal.unaccounted if line.reason.startswith(word)}
    assert found == {*PARTIES}
    assert not any("ends in" in text for text in rehearsal.remarks)


def test_people_whom_the_program_names_are_counted() -> None:
    """No table that is made without the program's constants has three rare labels at once."""
    lines = played("NamesRarePeople").privacy.not_accounted
    assert {(line.party, line.kind) for line in lines} == {(party, "Figure") for party in PARTIES}


def test_a_part_that_is_slow_once_is_played_with_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A busy machine is no fault of the part's: no message is left unchecked for it."""
    call_within, limits = time_limit.call_within, []

    def always_slow(call: Callable[[], None], *, seconds: float | None) -> BaseException | None:
        limits.append(seconds)
        return time_limit.TimeUp() if seconds == limits[0] else call_within(call, seconds=seconds)

    monkeypatch.setattr("sottovoce.runs.replay.call_within", always_slow)
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 1e-9)
    monkeypatch.setattr("sottovoce.runs.guard.SLOWER", 600)
    job = Job(protocol="machine_protocols:LogsAlike", parties=1, rows=120, seed=3)
    assert reasons_of(make_report(run_on_threads(job))) == set()
    assert limits[0] is not None
    assert (len({*limits[:-1]}), limits[-1]) == (1, 5 * limits[0])


def test_an_audit_plays_apart_and_names_what_it_sees(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    expected = {"WritesInAPool": IN_FILES, "RunsAProgram": ACTS["program"].format(RECORDS)}
    for name, reason in {**expected, "SleepsAlike": None}.items():
        result = audit(f"machine_protocols:{name}", runs=8, view="curator", seed=1, processes=1)
        (line,) = result.lines
        assert (line.difference or None) == reason, name
    assert sorted(tmp_path.rglob("*")) == before
    assert capfd.readouterr().out == ""
