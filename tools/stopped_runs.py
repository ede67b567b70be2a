"""Durable runs on threads that a test stops, and what must be the same when they go on.

The referee is an undisturbed run with the same seed: digests of all bytes on all edges, the ledger,
the releases, the accountant's totals, and what is published. A wire beneath the log checks that no
message leaves in two versions, and that none is sent again which its receiver has written down.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import Entry, ThreadWire, UsageError, thread_wires
from sottovoce.messages.frame import FrameKind
from sottovoce.messages.wire import Buffer
from sottovoce.report.making import make_report
from sottovoce.runs import durable, threads
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings

__all__ = [
    "ALL_STOPS",
    "MOMENTS",
    "PROTOCOLS",
    "SMALL",
    "TEST_KEYS",
    "Attempts",
    "StopError",
    "StoppingWire",
    "Traffic",
    "cut_last_records",
    "essence",
    "events_of",
    "files_of",
    "job_of",
    "refused",
    "stop_at",
    "undisturbed",
]

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


PASSING = frozenset({FrameKind.PROBE})
"""Frames whose number depends on how long roles wait."""


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

    An event at an arrival loses the frame, before it can be logged. Probes are no events: how many
    there are depends on how busy the machine is.
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
        kind = parts[0][3]
        if kind not in PASSING:
            self._event()
        if kind == FrameKind.MESSAGE:
            self.traffic.note_sent(b"".join(parts), sender=self.rank, to=to)
        self.wire.send(parts, to=to, timeout=timeout, more=more)
        if kind not in PASSING:
            self._event()

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        arrival = self.wire.arrive(timeout=timeout)
        if arrival is not None:
            source, frame = arrival
            if frame[3] not in PASSING:
                self._event()
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


def refused(attempts: Attempts) -> str:
    """Give the line with which going on is refused; nothing is sent then."""
    before = dict(attempts.traffic.frames)
    with pytest.raises(UsageError) as raised:
        attempts.play(is_resumed=True)
    assert attempts.traffic.frames == before
    assert raised.value.before_start
    assert "\n" not in str(raised.value)
    return str(raised.value)


def cut_last_records(log: Path, count: int) -> None:
    """Remove whole records at the end, which needs no key."""
    key = durable.derived_key((log.parent / "key").read_bytes(), b"log")
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
