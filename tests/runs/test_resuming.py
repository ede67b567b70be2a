"""Durable runs on threads: stopped at any message, they go on to the same end.

The referee is an undisturbed run with the same seed: digests of all bytes on all edges, the ledger,
the releases, the accountant's totals, and what is published. A wire beneath the log checks that no
message leaves in two versions, and that none is sent again which its receiver has written down.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import stat
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from sottovoce.crypto import kem, role_log
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import Entry, MisuseError, ThreadWire, UsageError, thread_wires
from sottovoce.messages.frame import FrameKind
from sottovoce.messages.wire import Buffer
from sottovoce.report.making import make_report
from sottovoce.runs import durable, threads
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.faulty_wire import InjectedFault
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask, LogHeader
from sottovoce.runs.record import RunRecord
from sottovoce.runs.restarts import RestartableWire
from sottovoce.runs.role_places import role_place, run_place
from sottovoce.runs.settings import settings

ALL_STOPS = os.environ.get("SOTTOVOCE_STOPS") == "all"
"""Whether a role is stopped at every event, for runs by hand."""
MOMENTS = int(os.environ.get("SOTTOVOCE_MOMENTS", "6"))
"""Random moments at which a role of each protocol is killed; more for runs by hand."""
SMALL: dict[str, Any] = {
    "rows": 60,
    "columns": "sex,income,race",
    "parties": 2,
    "timeout": 60.0,
}
TEST_KEYS: dict[str, Any] = {"key_bits": 256, "insecure_test_keys": True}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "dp-subn": TEST_KEYS,
    "jtree": TEST_KEYS,
    "calm": {},
    "privincr": {},
    "bisection:Bisection": {"columns": "age", "parties": 2, "rows": 600},
}


def job_of(protocol: str, *, seed: int | None = 3, **options: Any) -> Job:
    return settings(
        {
            **SMALL,
            **PROTOCOLS.get(protocol, {}),
            "protocol": protocol,
            "seed": seed,
            "transcript": True,
            **options,
        }
    ).job


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    folder = tmp_path / "state"
    monkeypatch.setenv("SOTTOVOCE_STATE", str(folder))
    return folder


class StopError(Exception):
    """The role is stopped here."""


@dataclass
class Traffic:
    """Messages that crossed the wires, in all attempts of one run."""

    frames: dict[tuple[int, int, int], bytes] = field(default_factory=dict)
    """Digest of each message by sender, receiver and number."""
    arrived: set[tuple[int, int, int]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_sent(self, frame: bytes, *, sender: int, to: int) -> None:
        """Check that no second version of a message leaves, and none that the receiver logged."""
        key = sender, to, int.from_bytes(frame[16:24], "little")
        digest = hashlib.sha256(frame).digest()
        with self.lock:
            assert self.frames.setdefault(key, digest) == digest, f"two versions of {key}"
            assert key not in self.arrived, f"{key} was sent again"


@dataclass
class StoppingWire:
    """A thread's end that stops its role at the n-th event: before or after a send, or an arrival.

    An event at an arrival loses the frame, before it can be logged.
    """

    wire: ThreadWire
    traffic: Traffic
    stop: int | None
    events: int = 0

    def __post_init__(self) -> None:
        self.rank = self.wire.rank
        self.size = self.wire.size

    @contextmanager
    def playing(self) -> Iterator[None]:
        with self.wire.playing():
            yield

    def clock(self) -> float:
        return self.wire.clock()

    def _event(self) -> None:
        if self.stop is not None and self.events >= self.stop:
            raise StopError
        self.events += 1

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        is_message = parts[0][3] == FrameKind.MESSAGE
        self._event()
        if is_message:
            self.traffic.note_sent(b"".join(parts), sender=self.rank, to=to)
        self.wire.send(parts, to=to, timeout=timeout, more=more)
        self._event()

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        arrival = self.wire.arrive(timeout=timeout)
        if arrival is not None:
            self._event()
            source, frame = arrival
            if frame[3] == FrameKind.MESSAGE:
                number = int.from_bytes(frame[16:24], "little")
                with self.traffic.lock:
                    self.traffic.arrived.add((source, self.rank, number))
        return arrival

    def abort(self, status: int) -> NoReturn:
        self.wire.abort(status)


@dataclass
class Attempts:
    """One durable run on threads, in as many attempts as it takes."""

    job: Job
    run: str
    patch: pytest.MonkeyPatch
    traffic: Traffic = field(default_factory=Traffic)
    wires: list[StoppingWire] = field(default_factory=list)

    def play(self, *, is_resumed: bool, rank: int = 0, stop: int | None = None) -> RunRecord:
        """Play the run, or go on with it; role `rank` is stopped at its event `stop`."""

        def connect(size: int) -> list[StoppingWire]:
            self.wires = [
                StoppingWire(wire, self.traffic, stop if wire.rank == rank else None)
                for wire in thread_wires(size)
            ]
            return self.wires

        self.patch.setattr(threads, "thread_wires", connect)
        return threads.run_on_threads(self.job, durable=DurableTask(self.run, is_resumed))


def essence(record: RunRecord) -> dict[str, Any]:
    """Give everything of a run that does not depend on clocks."""
    privacy = msgspec.to_builtins(make_report(record).privacy)
    del privacy["check"]  # How many replays a plug-in's part gets depends on the time they take.
    entries = [entry[: Entry._fields.index("sending_at")] for entry in record.entries]
    outcome = record.outcome
    return {
        "outcome": msgspec.json.encode(outcome, enc_hook=lambda value: value.tolist()),
        "entries": entries,
        "transcripts": [notes.transcript for notes in record.roles],
        "releases": [msgspec.to_builtins(notes.releases) for notes in record.roles],
        "privacy": privacy,
    }


def files_of(folder: Path) -> list[Path]:
    """List all files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@functools.cache
def undisturbed(protocol: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "thread_wires", thread_wires)
        return essence(threads.run_on_threads(job_of(protocol)))


def events_of(job: Job, patch: pytest.MonkeyPatch) -> list[int]:
    """Count the events of each role in an undisturbed durable run."""
    attempts = Attempts(job, "counting", patch)
    attempts.play(is_resumed=False)
    return [wire.events for wire in attempts.wires]


def stop_at(attempts: Attempts, *, rank: int, stop: int, is_resumed: bool = False) -> None:
    """Play, and check that the role was stopped there."""
    with pytest.raises((StopError, RunFailed)) as raised:
        attempts.play(is_resumed=is_resumed, rank=rank, stop=stop)
    error = raised.value
    assert isinstance(error if isinstance(error, StopError) else error.__cause__, StopError)


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
    assert lost > 5
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


class PowerFailure:
    """A disk of which only what was written by `fsync` or `fdatasync` stays when power fails."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.synced: dict[Path, int] = {}
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, functools.partial(self._sync, getattr(os, name)))

    def _sync(self, sync: Callable[[int], None], descriptor: int) -> None:
        sync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.name == "log":
            # A log that was written in a hidden folder is renamed before its role begins.
            folder = path.parent.with_name(path.parent.name.lstrip("."))
            self.synced[folder / "log"] = os.fstat(descriptor).st_size

    def happen(self, state: Path) -> int:
        """Cut all logs to what is surely on the disk; return how many bytes are lost."""
        lost = 0
        for path in state.rglob("log"):
            size = path.stat().st_size
            os.truncate(path, self.synced[path])
            lost += size - path.stat().st_size
        return lost


@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for a descriptor's path")
@pytest.mark.parametrize("protocol", ["dp-subn", "calm"])
def test_when_power_fails_no_message_leaves_in_two_versions(
    protocol: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed: the wires beneath check every message of both attempts."""
    job = job_of(protocol, seed=None)
    disk = PowerFailure(monkeypatch)
    events = events_of(job, monkeypatch)
    lost = 0
    for rank, count in enumerate(events):
        for stop in range(1 + rank, count, max(2, count // 4)):
            attempts = Attempts(job, f"{rank}-{stop}", monkeypatch)
            stop_at(attempts, rank=rank, stop=stop)
            lost += disk.happen(state)
            attempts.traffic.arrived.clear()  # Receivers may have lost what they had.
            attempts.play(is_resumed=True)
    assert lost > 0, "nothing that was not on the disk was needed"


@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for a descriptor's path")
def test_when_power_fails_randomness_from_elsewhere_is_refused_too(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    disk = PowerFailure(monkeypatch)
    job = job_of("leaky_protocols:NoiseOfTheSystem", columns="age,sex")
    refusals = 0
    for stop in range(1, events_of(job, monkeypatch)[1]):
        attempts = Attempts(job, f"elsewhere-{stop}", monkeypatch)
        stop_at(attempts, rank=1, stop=stop)
        disk.happen(state)
        attempts.traffic.arrived.clear()
        try:
            attempts.play(is_resumed=True)
        except MisuseError as error:
            assert "its randomness is not from the role's streams" in str(error)
            refusals += 1
    assert refusals > 0


def test_the_report_says_where_the_roles_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "told", monkeypatch)
    stop_at(attempts, rank=1, stop=3)
    stop_at(attempts, rank=2, stop=2, is_resumed=True)
    report = make_report(attempts.play(is_resumed=True))
    phases = {role.role: role.phases for role in report.resumed}
    names = {phase.name for phase in report.phases} | {""}
    assert phases.keys() <= {"the curator", "party 1", "party 2"}
    assert all(names.issuperset(places) for places in phases.values())
    assert max(map(len, phases.values())) == 2
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


def refused(attempts: Attempts) -> str:
    """Give the line with which going on is refused; nothing is sent then."""
    before = dict(attempts.traffic.frames)
    with pytest.raises(UsageError) as raised:
        attempts.play(is_resumed=True)
    assert attempts.traffic.frames == before
    assert raised.value.before_start
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_log_that_was_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "changed", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    log = role_place("changed", 2) / "log"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    assert "party-2/log as this role wrote it, found that it was changed" in refused(attempts)


def test_a_log_of_another_role_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "swapped", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    first, second = role_place("swapped", 1), role_place("swapped", 2)
    first.rename(first.with_name("other"))
    second.rename(first)
    first.with_name("other").rename(second)
    assert "expected the log of party 1 in run swapped, found that of party 2" in refused(attempts)


def test_a_missing_log_is_named_with_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "ann-server")
    attempts = Attempts(job_of("calm"), "missing", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("missing", 2) / "log").unlink()
    assert "found none of party 2 on ann-server" in refused(attempts)


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "no-key", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("no-key", 2) / "key").unlink()
    line = refused(attempts)
    assert "expected key and log of party 2 in" in line
    assert "found No such file or directory: restore them" in line


def test_if_all_logs_are_lost_no_role_begins_anew(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New streams would answer the same questions with other noise."""
    attempts = Attempts(job_of("calm"), "wiped", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    for log in state.rglob("log"):
        log.unlink()
    task = DurableTask("wiped", is_resumed=True, has_begun=True)
    with pytest.raises(UsageError, match=r"found none of the curator on .* and party 2 on"):
        threads.run_on_threads(attempts.job, durable=task)


@pytest.mark.parametrize("length", [0, 1, 16, 40, 100])
def test_a_log_that_was_cut_within_its_beginning_is_refused(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(job_of("calm"), "cut", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    os.truncate(role_place("cut", 2) / "log", length)
    assert "party-2/log, found" in refused(attempts)


@pytest.mark.parametrize("content", [b"", b"k", b"k" * 32, b"k" * 65])
def test_another_key_is_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "key", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("key", 2) / "key").write_bytes(content)
    line = refused(attempts)
    assert "party-2" in line
    assert "its key is another one" in line or "expected a key of 32 bytes" in line


@pytest.mark.parametrize("number", range(12))
def test_random_damage_is_refused_or_harmless(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut at the end is the only damage after which the run goes on, to the same end."""
    dice = random.Random(number)
    attempts = Attempts(job_of("calm"), f"damage-{number}", monkeypatch)
    stop_at(attempts, rank=dice.randrange(3), stop=dice.randrange(4, 12))
    log = role_place(attempts.run, dice.randrange(3)) / "log"
    content = bytearray(log.read_bytes())
    for _ in range(dice.choice([1, 1, 5])):
        place = dice.randrange(len(content))
        content[place] = (content[place] + dice.randrange(1, 256)) % 256
    if dice.random() < 0.3:
        middle = dice.randrange(len(content))
        del content[middle : middle + dice.randrange(1, 40)]
    log.write_bytes(content)
    assert "log" in refused(attempts)


def test_logs_of_roles_that_sent_nothing_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill during the set-up leaves some logs; no role has sent anything then."""
    job = job_of("calm")
    attempts = Attempts(job, "early", monkeypatch)
    made: list[int] = []

    def make_one(header: LogHeader) -> durable.DurableRole:
        if made:
            raise KeyboardInterrupt
        made.append(header.rank)
        return durable.make_role_place(header)

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


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"columns": "sex,income"}, "expected a log of this job for the curator"),
        ({"seed": 4}, "expected a log of this job for the curator"),
        ({"rows": 61}, "expected a log of this job for the curator"),
    ],
)
def test_another_job_is_refused(
    change: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(job_of("calm"), "job", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    attempts.job = job_of("calm", **change)
    assert line in refused(attempts)


def test_another_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for table in tables:
        table.write_text("sex,income\n" + "f,low\nm,high\nf,high\n" * 20)
    schema = {"sex": ["f", "m"], "income": ["low", "high"]}
    job = job_of(
        "calm", data=[str(table) for table in tables], schema=schema, columns=None, rows=None
    )
    attempts = Attempts(job, "table", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    before = tables[1].read_text()
    tables[1].write_text(before.replace("m,high", "m,low", 1))
    assert "expected the table that party 2 read before the run stopped" in refused(attempts)
    tables[1].write_text(before)
    attempts.play(is_resumed=True)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "version", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    place = role_place("version", 0)
    key = (place / "key").read_bytes()
    with_codes = durable._derive(key, b"log")
    header = json.loads(RoleLog(place / "log", key=with_codes).header)
    (place / "log").unlink()
    header["version"] = "0.0.1"
    RoleLog.create(place / "log", key=with_codes, header=json.dumps(header).encode()).close()
    assert "found one of 0.0.1: resume with that version" in refused(attempts)


def test_two_processes_never_play_one_role(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "twice", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    key = durable._derive((role_place("twice", 2) / "key").read_bytes(), b"log")
    log = RoleLog(role_place("twice", 2) / "log", key=key)
    assert "expected one process at a time to write the log" in refused(attempts)
    log.close()
    assert essence(attempts.play(is_resumed=True)) == undisturbed("calm")


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


def cut_last_records(log: Path, count: int) -> None:
    """Remove whole records at the end, which needs no key."""
    key = durable._derive((log.parent / "key").read_bytes(), b"log")
    opened = RoleLog(log, key=key)
    size, records = log.stat().st_size, opened.records
    opened.close()
    while True:
        size -= 1
        os.truncate(log, size)
        opened = RoleLog(log, key=key)
        opened.close()
        if opened.records <= records - count:
            return
        size = min(size, log.stat().st_size)


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

    def damage_first(header: LogHeader) -> durable.DurableRole | None:
        damage(role_place("damaged", header.rank) / "log")
        return durable.find_role(header)

    monkeypatch.setattr("sottovoce.runs.durable_places.find_role", damage_first)
    job = job_of("dp-subn", on_loss="wait", fault=["party 1 dies after 3 messages"])
    with pytest.raises(UsageError, match=line):
        threads.run_on_threads(job, durable=DurableTask("damaged"))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_log_without_its_last_messages_goes_on_to_the_same_end(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role makes the same messages once more, and is sent again what it has lost."""
    for rank in range(3):
        attempts = Attempts(job_of("dp-subn"), f"cut-{rank}", monkeypatch)
        stop_at(attempts, rank=1, stop=14)
        cut_last_records(role_place(attempts.run, rank) / "log", count)
        attempts.traffic.arrived.clear()
        assert essence(attempts.play(is_resumed=True)) == undisturbed("dp-subn")
