"""Older copies of logs are refused, and the newest never are.

A copy is older if it was cut at its end, restored, or left behind when the role went on elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from stopped_runs import (
    ALL_STOPS,
    Attempts,
    essence,
    events_of,
    job_of,
    refused,
    stop_at,
    undisturbed,
)

from sottovoce.crypto import role_log
from sottovoce.crypto.durable import DurableWire
from sottovoce.crypto.log_format import CODE_BYTES, HEAD, HEAD_BYTES, MAGIC
from sottovoce.crypto.role_log import RecordKind, RoleLog, update_with_frame
from sottovoce.messages import CURATOR, MisuseError, UsageError
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.wire import Buffer
from sottovoce.runs.restored_logs import refuse_older
from sottovoce.runs.role_places import role_place, run_place

pytestmark = pytest.mark.usefixtures("state")

OLDER = "the log is an older copy, or was cut"
KEY = b"k" * 32


class Written(NamedTuple):
    """A record of a log, and where it ends."""

    kind: RecordKind
    peer: int
    end: int


def records_of(log: Path) -> list[Written]:
    """Read the records of a log by their heads alone."""
    data, start, records = log.read_bytes(), len(MAGIC), []
    while start < len(data):
        kind, _, peer, _, length, _ = HEAD.unpack(data[start : start + HEAD.size])
        start += HEAD_BYTES + length + CODE_BYTES
        records.append(Written(RecordKind(kind), peer, start))
    return records


def is_older(records: Sequence[Written], kept: int, *, arrived: dict[int, int]) -> bool:
    """Tell by brute force whether a role that lost its last records would have to answer anew.

    It would if something that arrived is lost, and a message that left after it has arrived.

    Args:
        records: all records of the newest log.
        kept: how many are left.
        arrived: how many messages of this role each other role has.
    """
    numbers: dict[int, int] = defaultdict(int)
    lost_arrival = False
    for place, record in enumerate(records):
        lost_arrival |= place >= kept and record.kind is RecordKind.ARRIVED
        if record.kind is RecordKind.SENT:
            if lost_arrival and numbers[record.peer] < arrived.get(record.peer, 0):
                return True
            numbers[record.peer] += 1
    return False


def arrivals_from(run: str, rank: int, *, roles: int = 3) -> dict[int, int]:
    """Count the messages of a role that each other role has in its log."""
    counts: dict[int, int] = {}
    for other in range(roles):
        if other != rank:
            counts[other] = sum(
                record.kind is RecordKind.ARRIVED and record.peer == rank
                for record in records_of(role_place(run, other) / "log")
            )
    return counts


@pytest.mark.parametrize("rank", [CURATOR, 1, 2])
@pytest.mark.parametrize("protocol", ["dp-subn", "jtree", "calm", "privincr"])
def test_a_log_that_was_cut_goes_on_unless_its_role_would_answer_anew(
    protocol: str, rank: int, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after any record, and no message leaves in two versions: the wires check it.

    What has arrived may not have been read before a message left. So not every log is refused that
    lacks something, but one that is refused lacks something, and others go on to the same end.
    """
    job = job_of(protocol)
    attempts = Attempts(job, "cut", monkeypatch)
    stop_at(attempts, rank=1, stop=events_of(job, monkeypatch)[1] * 3 // 4)
    shutil.copytree(run_place("cut"), state / "stopped")
    records = records_of(role_place("cut", rank) / "log")
    arrived = arrivals_from("cut", rank)
    refusals = 0
    for kept in range(2, len(records) + 1, 1 if ALL_STOPS else 3):  # Header and beginning stay.
        shutil.rmtree(run_place("cut"))
        shutil.copytree(state / "stopped", run_place("cut"))
        os.truncate(role_place("cut", rank) / "log", records[kept - 1].end)
        attempts.traffic.arrived.clear()  # The role is sent again what it has lost.
        try:
            record = attempts.play(is_resumed=True)
        except MisuseError as error:
            assert OLDER in str(error)
            assert is_older(records, kept, arrived=arrived)
            refusals += 1
        else:
            assert essence(record) == undisturbed(protocol), kept
    assert refusals or rank != 1 or protocol == "calm"  # A party of CALM answers once.
    assert not refusals or rank != CURATOR


def test_of_two_copies_that_go_on_in_turn_the_older_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first copy stays where it was, as on a host that was thought to be gone."""
    attempts = Attempts(job_of("jtree"), "copies", monkeypatch)
    stop_at(attempts, rank=2, stop=6)
    place = role_place("copies", 1)
    shutil.copytree(place, tmp_path / "older")
    stop_at(attempts, rank=2, stop=2, is_resumed=True)
    place.rename(tmp_path / "newest")
    shutil.copytree(tmp_path / "older", place)
    line = refused(attempts)
    assert "expected the newest log of party 1 in run copies, found an older copy" in line
    assert "it was opened 0 times to go on, and the curator has noted 1" in line
    shutil.rmtree(place)
    (tmp_path / "newest").rename(place)
    assert essence(attempts.play(is_resumed=True)) == undisturbed("jtree")


class KilledError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("is_torn", [False, True])
@pytest.mark.parametrize("write", range(7))
def test_killed_while_restarts_are_noted_no_log_is_refused(
    write: int,
    is_torn: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three roles note their own restart, then what all have said: six records, some torn."""
    attempts = Attempts(job_of("calm"), "noting", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    original, left = role_log._write_all, [0]

    def write_or_die(descriptor: int, parts: Sequence[Buffer]) -> None:
        if not left[0]:
            record = b"".join(parts)
            if is_torn:
                original(descriptor, [record[: len(record) // 2]])
            raise KilledError
        left[0] -= 1
        original(descriptor, parts)

    for _ in range(2):  # The second time records of the first are there, too.
        left[0] = write
        with monkeypatch.context() as patch:
            patch.setattr(role_log, "_write_all", write_or_die)
            patch.setattr("sottovoce.runs.threads.play_on_threads", end_here)
            with pytest.raises(KilledError):
                attempts.play(is_resumed=True)
    assert essence(attempts.play(is_resumed=True)) == undisturbed("calm")


def end_here(*_: object, **__: object) -> NoReturn:
    raise KilledError


def test_who_has_noted_more_is_named() -> None:
    restarts = {0: 2, 1: 1, 2: 2}
    refuse_older(restarts, heard={0: {0: 2, 1: 1, 2: 2}, 2: {1: 0}}, run="r")
    refuse_older({0: 2, 2: 2}, heard={0: {1: 5}}, run="r")  # A missing log is another error.
    with pytest.raises(UsageError, match=r"log of party 1 in run r.*opened 1 times.*party 2 has"):
        refuse_older(restarts, heard={0: {0: 2, 1: 1, 2: 2}, 2: {1: 2}}, run="r")


class FakeWire:
    """An end of a wire on which a test puts what arrives, and reads what leaves."""

    rank = 1
    size = 3

    def __init__(self, *arrivals: tuple[int, bytes]) -> None:
        self.arrivals = deque(arrivals)
        self.frames: list[tuple[int, bytes]] = []

    def clock(self) -> float:
        return 0.0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self.frames.append((to, b"".join(parts)))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        if not self.arrivals:
            return None
        source, frame = self.arrivals.popleft()
        return source, memoryview(frame)

    def abort(self, status: int) -> NoReturn:
        raise NotImplementedError


def frame_of(content: bytes, number: int, *, sender: int, to: int) -> list[bytes]:
    header = Header(FrameKind.MESSAGE, len(content), number, sender, to, "p", "", "")
    return [pack_header(header), content]


def question(content: bytes) -> tuple[int, bytes]:
    return CURATOR, b"".join(frame_of(content, 0, sender=CURATOR, to=1))


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The log of a party that has answered a question, from before it had arrived."""
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    shutil.copy(tmp_path / "log", tmp_path / "older")
    wire = FakeWire(question(b"first"))
    arrival = question(b"first")
    ends = DurableWire(wire, log, received={}, syncs=True)
    received = ends.arrive(timeout=1)
    assert received is not None
    assert bytes(received[1]) == arrival[1]
    ends.send(frame_of(b"key", 0, sender=1, to=2), to=2, timeout=1)
    ends.send(frame_of(b"first noise", 0, sender=1, to=CURATOR), to=CURATOR, timeout=1)
    log.close()
    assert [to for to, _ in wire.frames] == [2, CURATOR]
    return tmp_path / "older"


def test_a_dishonest_curator_cannot_ask_an_older_copy_something_else(older: Path) -> None:
    """It says that it has no answer. The other party has a message that came after the question."""
    log = RoleLog(older, key=KEY)
    wire = FakeWire(question(b"other"))
    ends = DurableWire(wire, log, received={2: 1, CURATOR: 0}, syncs=True)
    assert ends.arrive(timeout=0) is None
    with pytest.raises(MisuseError, match=f"message 0 to party 2, which has received it.*{OLDER}"):
        ends.arrive(timeout=1)
    assert len(wire.arrivals) == 1, "the question was not even read"
    assert wire.frames == []
    log.close()


def test_a_frame_that_went_wrong_on_its_way_is_not_logged(tmp_path: Path) -> None:
    """The role refuses it. When the run goes on, the message comes as it was sent."""
    _, right = question(b"first")
    second = b"".join(frame_of(b"second", 1, sender=CURATOR, to=1))
    wrong = [
        right[:-1],
        right + b"x",
        right[:8] + (1 << 60).to_bytes(8, "little") + right[16:],
        second,
        b"".join(frame_of(b"first", 0, sender=2, to=1)),
        b"".join(frame_of(b"first", 0, sender=CURATOR, to=2)),
    ]
    arrivals = [*wrong, right, right, second]
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(
        FakeWire(*((CURATOR, frame) for frame in arrivals)), log, received={}, syncs=True
    )
    seen = [ends.arrive(timeout=1) for _ in arrivals]
    assert [bytes(frame) for _, frame in filter(None, seen)] == arrivals
    log.close()
    log = RoleLog(tmp_path / "log", key=KEY)
    assert [bytes(frame) for _, frame in iter(log.next_arrival, None)] == [right, second]
    log.close()


def test_the_newest_log_answers_with_what_it_has(older: Path) -> None:
    log = RoleLog(older.with_name("log"), key=KEY)
    wire = FakeWire()
    ends = DurableWire(wire, log, received={2: 1, CURATOR: 0}, syncs=True)
    arrival = ends.arrive(timeout=1)
    assert arrival is not None
    ends.send(frame_of(b"key", 0, sender=1, to=2), to=2, timeout=1)
    ends.send(frame_of(b"first noise", 0, sender=1, to=CURATOR), to=CURATOR, timeout=1)
    assert [to for to, _ in wire.frames] == [CURATOR]
    assert ends.arrive(timeout=1) is None, "from now on it reads from the wire"
    log.close()


@pytest.mark.parametrize("is_same", [True, False])
def test_what_is_made_again_must_be_what_has_arrived(
    is_same: bool,
    tmp_path: Path,
) -> None:
    """The log has lost its digests, as after a power failure; the receiver has the messages."""
    frames = [frame_of(content, i, sender=1, to=2) for i, content in enumerate([b"a", b"b"])]
    digest = hashlib.sha256()
    for frame in frames:
        update_with_frame(digest, [b"".join(frame)])  # As it arrives: in one part.
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    wire = FakeWire()
    ends = DurableWire(wire, log, received={2: 2}, digests={2: digest.digest()}, syncs=True)
    ends.send(frames[0], to=2, timeout=1)
    if is_same:
        ends.send(frames[1], to=2, timeout=1)
    else:
        with pytest.raises(MisuseError, match="the 2 messages again that party 2 has received"):
            ends.send(frame_of(b"c", 1, sender=1, to=2), to=2, timeout=1)
    assert wire.frames == []
    log.close()


def test_the_digest_of_what_arrived_is_that_of_its_frames(older: Path) -> None:
    log = RoleLog(older.with_name("log"), key=KEY)
    digest = hashlib.sha256()
    update_with_frame(digest, [question(b"first")[1]])
    assert log.digests_of_arrived() == {CURATOR: digest.digest()}
    log.close()


def test_a_run_that_was_never_stopped_notes_no_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "undisturbed", monkeypatch)
    attempts.play(is_resumed=False)
    for path in run_place("undisturbed").glob("*/log"):
        kinds = {record.kind for record in records_of(path)}
        assert not kinds & {RecordKind.RESTART, RecordKind.PEERS}
