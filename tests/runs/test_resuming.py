"""Durable runs on threads: stopped at any message, they go on to the same end."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from stopped_runs import (
    ALL_STOPS,
    PROTOCOLS,
    Attempts,
    StopError,
    essence,
    events_of,
    files_of,
    job_of,
    stop_at,
    undisturbed,
)

from sottovoce.crypto import kem
from sottovoce.messages import MisuseError
from sottovoce.report.making import make_report
from sottovoce.runs import role_logs
from sottovoce.runs.durable import DurableRole
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.log_header import LogHeader
from sottovoce.runs.role_places import role_place, run_place

pytestmark = pytest.mark.usefixtures("state", "short_replays")


@pytest.mark.parametrize(
    ("protocol", "every"),
    [("dp-subn", 2), ("jtree", 9), ("calm", 5), ("privincr", 9), ("bisection:Bisection", 2)],
)
def test_stopped_at_any_message_it_goes_on_to_the_same_end(
    protocol: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event is before or after a send, or at an arrival; roles take turns at which they skip."""
    every = 1 if ALL_STOPS else every
    job = job_of(protocol)
    events = events_of(job, monkeypatch)
    for rank, count in enumerate(events):
        for stop in range(rank % every, count, every):
            attempts = Attempts(job, f"{rank}-{stop}", monkeypatch)
            stop_at(attempts, rank=rank, stop=stop)
            assert essence(attempts.play(is_resumed=True)) == undisturbed(protocol), (rank, stop)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_can_be_stopped_again_and_again(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt loses another role after some events; what was logged counts no more."""
    attempts = Attempts(job_of(protocol), "again", monkeypatch)
    lost = 0
    while True:
        try:
            record = attempts.play(is_resumed=lost > 0, rank=lost % 3, stop=1 + lost // 2)
        except (StopError, RunFailed):
            lost += 1
            assert lost < 100
        else:
            break
    assert lost > 3
    assert essence(record) == undisturbed(protocol)


@pytest.mark.parametrize("protocol", ["dp-subn", "calm"])
def test_without_a_seed_nothing_is_drawn_anew(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wires beneath see to it: no message leaves in two versions. ML-KEM is in it, too."""
    job = job_of(protocol, seed=None)
    events = events_of(job, monkeypatch)
    for rank, count in enumerate(events):
        for stop in range(1 + rank, count, 5):
            attempts = Attempts(job, f"{rank}-{stop}", monkeypatch)
            stop_at(attempts, rank=rank, stop=stop)
            record = attempts.play(is_resumed=True)
            assert record.hybrid == kem.is_available()
            assert len(record.entries) == len(undisturbed(protocol)["entries"]) + (
                3 if record.hybrid and protocol == "dp-subn" else 0
            )


def test_randomness_from_elsewhere_is_refused_before_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plug-in draws its noise from the system: a second answer must not leave."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    job = job_of("leaky_protocols:NoiseOfTheSystem", columns="age,sex")
    refusals = 0
    for stop in range(1, events_of(job, monkeypatch)[1]):
        attempts = Attempts(job, f"elsewhere-{stop}", monkeypatch)
        stop_at(attempts, rank=1, stop=stop)
        try:
            attempts.play(is_resumed=True)
        except MisuseError as error:
            assert "its randomness is not from the role's streams" in str(error)
            refusals += 1
    assert refusals > 0


def test_the_report_says_where_the_roles_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second stop may come before any role has replayed its log; the first stop counts then."""
    for attempt in range(5):
        attempts = Attempts(job_of("calm"), f"told {attempt}", monkeypatch)
        stop_at(attempts, rank=1, stop=3)
        stop_at(attempts, rank=2, stop=2, is_resumed=True)
        report = make_report(attempts.play(is_resumed=True))
        phases = {role.role: role.phases for role in report.resumed}
        names = {phase.name for phase in report.phases} | {""}
        assert phases.keys() <= {"the curator", "party 1", "party 2"}
        assert all(names.issuperset(places) for places in phases.values())
        if max(map(len, phases.values())) == 2:
            break
    else:
        pytest.fail("in no attempt did a role go on twice")
    (warning,) = [text for text in report.warnings if "went on" in text]
    assert "the run was stopped and went on 2 times (" in warning
    assert "its times are those of the last attempt" in warning
    undisturbed_report = make_report(
        Attempts(job_of("calm"), "not", monkeypatch).play(is_resumed=False)
    )
    assert undisturbed_report.resumed == []
    assert not any("went on" in text for text in undisturbed_report.warnings)


def test_only_its_owner_can_read_a_log(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "modes", monkeypatch)
    stop_at(attempts, rank=1, stop=3)
    files = files_of(state)
    assert [path.name for path in files] == ["key", "log"] * 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = {path.parent for path in files} | {run_place("modes"), state / "durable"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert len({path.read_bytes() for path in files if path.name == "key"}) == 3


def test_logs_of_roles_that_sent_nothing_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill during the set-up leaves some logs; no role has sent anything then."""
    job = job_of("calm")
    attempts = Attempts(job, "early", monkeypatch)
    made: list[int] = []

    def make_one(header: LogHeader, **options: Any) -> DurableRole:
        if made:
            raise KeyboardInterrupt
        made.append(header.rank)
        return role_logs.make_role_place(header, **options)

    with monkeypatch.context() as patch:
        patch.setattr("sottovoce.runs.durable_places.make_role_place", make_one)
        with pytest.raises(KeyboardInterrupt):
            attempts.play(is_resumed=False)
    assert essence(attempts.play(is_resumed=True)) == undisturbed("calm")


def test_what_a_missing_log_left_in_its_folder_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has sent anything, so the key that is left says nothing about this run."""
    attempts = Attempts(job_of("calm"), "early-key", monkeypatch)
    place = role_place("early-key", 1)
    place.mkdir(parents=True)
    (place / "key").write_bytes(b"k" * 32)
    assert essence(attempts.play(is_resumed=True)) == undisturbed("calm")
