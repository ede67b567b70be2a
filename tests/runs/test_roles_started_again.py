"""Roles that are lost at random moments: resumed, or started again while the others wait."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stopped_runs import (
    ALL_STOPS,
    MOMENTS,
    PROTOCOLS,
    cut_last_records,
    essence,
    job_of,
    undisturbed,
)

from sottovoce.crypto import role_log
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import UsageError, thread_wires
from sottovoce.messages.wire import Buffer
from sottovoce.report.making import make_report
from sottovoce.runs import role_logs, threads
from sottovoce.runs.durable import DurableRole
from sottovoce.runs.faulty_wire import InjectedFault
from sottovoce.runs.log_header import DurableTask, LogHeader
from sottovoce.runs.record import RunRecord
from sottovoce.runs.restarts import RestartableWire
from sottovoce.runs.role_places import role_place

pytestmark = pytest.mark.usefixtures("state", "short_replays")


class Killer:
    """Kills roles around sends, arrivals and writing to a log, and while a record is written.

    Args:
        patch: what is undone when the run has ended.
        is_time: whether the role with this rank is killed at its next moment.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *, is_time: Callable[[int], bool]) -> None:
        self.kills: list[tuple[str, int]] = []
        self._is_time = is_time
        self._lock = threading.Lock()
        for owner, name in [
            (RestartableWire, "send"),
            (RestartableWire, "arrive"),
            (RoleLog, "append"),
        ]:
            patch.setattr(owner, name, self._around(name, getattr(owner, name)))
        patch.setattr(role_log, "_write_all", self._tearing(role_log._write_all))

    def _around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def act_or_die(target: Any, *words: Any, **more: Any) -> Any:
            if name != "arrive":  # A role looks for arrivals as often as it has time.
                self._kill(f"before {name}")
            result = act(target, *words, **more)
            if name != "arrive" or result is not None:
                self._kill(f"after {name}")
            return result

        return act_or_die

    def _tearing(self, write: Callable[[int, Sequence[Buffer]], None]) -> Callable[..., None]:
        def write_or_die(descriptor: int, parts: Sequence[Buffer]) -> None:
            record = b"".join(parts)
            try:
                self._kill("within a record")
            except InjectedFault:
                write(descriptor, [record[: 1 + len(record) * len(self.kills) // 7 % len(record)]])
                raise
            write(descriptor, parts)

        return write_or_die

    def _kill(self, where: str) -> None:
        thread = threading.current_thread().name
        if not thread.startswith("rank "):
            return
        rank = int(thread.removeprefix("rank "))
        with self._lock:
            if not self._is_time(rank):
                return
            self.kills.append((where, rank))
        raise InjectedFault(f"killed {where}")


def at_random(*, seed: int, chance: float) -> Callable[[int], bool]:
    """Kill any role at any moment with a chance."""
    dice = random.Random(seed)
    return lambda _: dice.random() < chance


class OneMoment:
    """Kills one role once, at its n-th moment; counts the moments of all."""

    def __init__(self, rank: int = -1, moment: int = -1) -> None:
        self.moments = Counter[int]()
        self._place = rank, moment

    def __call__(self, rank: int) -> bool:
        self.moments[rank] += 1
        return (rank, self.moments[rank] - 1) == self._place


@pytest.mark.parametrize("on_loss", ["stop", "wait"])
@pytest.mark.parametrize("protocol", ["dp-subn", "jtree", "calm", "privincr"])
def test_killed_at_one_random_moment_a_run_goes_on_to_the_same_end(
    protocol: str,
    on_loss: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """With `stop` it is resumed, with `wait` it goes on by itself.

    A party that has ended its part is not needed any more, so some runs end with their result.
    """
    job, dice = job_of(protocol, on_loss=on_loss), random.Random(f"{protocol} {on_loss}")
    kills = Counter[str]()

    def play(task: DurableTask, time_of: Callable[[int], bool]) -> tuple[RunRecord | None, str]:
        with monkeypatch.context() as patch:
            patch.setattr(threads, "thread_wires", thread_wires)
            killer = Killer(patch, is_time=time_of)
            try:
                record = threads.run_on_threads(job, durable=task)
            except InjectedFault:
                record = None
            return record, "".join(where for where, _ in killer.kills)

    counting = OneMoment()
    play(DurableTask("counting"), counting)
    while kills.total() < MOMENTS:
        rank = dice.randrange(3)
        moment = dice.randrange(counting.moments[rank])
        name = f"{rank}-{moment}-{kills.total()}"
        record, where = play(DurableTask(name), OneMoment(rank, moment))
        kills.update([where] if where else [])
        if record is None:
            assert on_loss == "stop"
            record, _ = play(DurableTask(name, is_resumed=True), OneMoment())
        assert record is not None
        assert essence(record) == undisturbed(protocol), (rank, moment, where)
    record_property("kills", f"{protocol} {on_loss}: {dict(sorted(kills.items()))}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_roles_lost_at_random_moments_take_their_parts_up_again(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is lost twice at one place ends the run; the others wait, and notice nothing."""
    kills: list[tuple[str, int]] = []
    refusals = 0
    seeds = range(40 if ALL_STOPS else 8)
    for seed in seeds:
        with monkeypatch.context() as patch:
            patch.setattr(threads, "thread_wires", thread_wires)
            killer = Killer(patch, is_time=at_random(seed=seed, chance=0.01))
            job = job_of(protocol, on_loss="wait")
            task = DurableTask(f"random-{seed}")
            try:
                record = threads.run_on_threads(job, durable=task)
            except InjectedFault as error:
                assert "was lost twice at the same place" in str(error)
                refusals += 1
                patch.undo()
                resumed = DurableTask(task.run, is_resumed=True, has_begun=True)
                record = threads.run_on_threads(job, durable=resumed)
            else:
                lost = {rank for _, rank in killer.kills}
                assert {rank for rank, notes in enumerate(record.roles) if notes.resumed_in} <= lost
            kills += killer.kills
            assert essence(record) == undisturbed(protocol), (seed, killer.kills)
    assert len(kills) > refusals  # each refusal takes two kills, and others were waited for
    assert refusals < len(seeds)


def test_a_role_that_dies_at_the_same_place_twice_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = job_of("calm", on_loss="wait")
    original = RestartableWire.send

    def die_at_second(end: RestartableWire, *words: Any, **more: Any) -> None:
        if end.rank == 1 and sum(end.delivered.values()) == 2:
            raise InjectedFault("killed")
        original(end, *words, **more)

    with monkeypatch.context() as patch:
        patch.setattr(threads, "thread_wires", thread_wires)
        patch.setattr(RestartableWire, "send", die_at_second)
        with pytest.raises(InjectedFault, match="killed; party 1 was lost twice at the same place"):
            threads.run_on_threads(job, durable=DurableTask("twice"))
        patch.setattr(RestartableWire, "send", original)
        record = threads.run_on_threads(job, durable=DurableTask("twice", is_resumed=True))
    assert essence(record) == undisturbed("calm")


@pytest.mark.parametrize("victim", ["party 2", "curator"])
def test_a_declared_loss_is_waited_for(victim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "thread_wires", thread_wires)
    job = job_of("dp-subn", on_loss="wait", fault=[f"{victim} dies after 3 messages"])
    record = threads.run_on_threads(job, durable=DurableTask("declared"))
    report = make_report(record)
    assert [role.role for role in report.resumed] == [victim.replace("curator", "the curator")]
    expected = undisturbed("dp-subn")
    found = essence(record)
    assert found["outcome"] == expected["outcome"]
    assert found["releases"] == expected["releases"]


def spoil(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda log: cut_last_records(log, 2), r"expected \d+ records in the log .*, found \d+"),
        (spoil, "party-1/log as this role wrote it, found that it was changed"),
        (lambda log: log.unlink(), "found none of party 1 on"),
    ],
    ids=["cut", "changed", "gone"],
)
def test_a_log_that_is_damaged_before_its_role_is_started_again_ends_the_run(
    damage: Callable[[Path], None], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames that the cut log had are not in any queue any more."""
    monkeypatch.setattr(threads, "thread_wires", thread_wires)

    def damage_first(header: LogHeader) -> DurableRole | None:
        damage(role_place("damaged", header.rank) / "log")
        return role_logs.find_role(header)

    monkeypatch.setattr("sottovoce.runs.durable_places.find_role", damage_first)
    job = job_of("dp-subn", on_loss="wait", fault=["party 1 dies after 3 messages"])
    with pytest.raises(UsageError, match=line):
        threads.run_on_threads(job, durable=DurableTask("damaged"))
