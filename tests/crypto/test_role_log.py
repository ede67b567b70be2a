"""The log of one role: every changed byte is refused, and what a kill leaves can be read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from sottovoce.crypto.log_format import CODE_BYTES, HEAD_BYTES, MAGIC, RecordKind
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import ConversationError, PeerFailedError, UsageError

KEY = b"k" * 32
FRAMES = [(2, b"first frame"), (1, b""), (2, b"third" * 9)]


def write(path: Path) -> list[int]:
    """Write a log; return where each record ends."""
    log = RoleLog.create(path, key=KEY, header=b"header")
    log.begin(str)
    ends = [path.stat().st_size]
    for peer, frame in FRAMES:
        log.append(RecordKind.ARRIVED, [frame[:3], memoryview(frame)[3:]], peer=peer)
        ends.append(path.stat().st_size)
    log.append(RecordKind.SENT, [log.digest([b"a", b"b"], 0, to=1)], peer=1)
    log.append(RecordKind.RANDOM, [b"drawn"], sync=True)
    ends.append(path.stat().st_size)
    log.close()
    return ends


def arrivals(path: Path) -> list[tuple[int, bytes]]:
    log = RoleLog(path, key=KEY)
    frames = []
    while (arrival := log.next_arrival()) is not None:
        frames.append((arrival[0], bytes(arrival[1])))
    log.close()
    return frames


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "log")
    log = RoleLog(tmp_path / "log", key=KEY)
    assert (log.header, log.has_begun, dict(log.arrived)) == (b"header", True, {2: 2, 1: 1})
    assert log.digest_of_sent(0, to=1) == log.digest([b"ab"], 0, to=1)
    others = [([b"ac"], 0, 1), ([b"ab"], 1, 1), ([b"ab"], 0, 2)]
    digests = {log.digest(frame, number, to=to) for frame, number, to in others}
    assert len(digests) == 3
    assert log.digest_of_sent(0, to=1) not in digests
    assert log.digest_of_sent(1, to=1) is log.digest_of_sent(0, to=2) is None
    assert (log.next_random(), log.next_random()) == (b"drawn", None)
    log.close()
    assert arrivals(tmp_path / "log") == FRAMES


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_nobody_else_may_read_a_log(tmp_path: Path, mask: int) -> None:
    """It holds what a role received and drew, whatever the person's umask is."""
    before = os.umask(mask)
    try:
        write(tmp_path / "log")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_every_changed_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path)
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(UsageError, match="log"):
            RoleLog(path, key=KEY)
        assert path.read_bytes() == changed


def test_records_that_change_places_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first, second, third, *_ = write(path)
    content = path.read_bytes()
    for other in (
        content[:first] + content[second:third] + content[first:second] + content[third:],
        content[:first] + content[second:],
        content[:second] + content[first:],
    ):
        path.write_bytes(other)
        with pytest.raises(UsageError, match="was changed"):
            RoleLog(path, key=KEY)


def test_an_incomplete_record_at_the_end_is_dropped_wherever_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    ends = write(path)
    content = path.read_bytes()
    for length in range(len(MAGIC), len(content) + 1):
        path.write_bytes(content[:length])
        complete = sum(end <= length for end in ends[1:4])
        log = RoleLog(path, key=KEY)
        log.append(RecordKind.ARRIVED, [b"later"], peer=3)
        log.close()
        assert arrivals(path) == [*FRAMES[:complete], (3, b"later")], length


def test_blocks_that_were_never_written_are_dropped(tmp_path: Path) -> None:
    """After a power failure a file may end with zeros."""
    path = tmp_path / "log"
    write(path)
    size = path.stat().st_size
    for zeros in (1, HEAD_BYTES, 4096):
        with path.open("ab") as file:
            file.write(bytes(zeros))
        assert arrivals(path) == FRAMES
        assert path.stat().st_size == size


def test_a_last_record_whose_end_was_never_written_is_dropped(tmp_path: Path) -> None:
    """Its length was on the disk before the power failed, and its last blocks were not."""
    path = tmp_path / "log"
    *_, last = write(path)
    log = RoleLog(path, key=KEY)
    log.append(RecordKind.ARRIVED, [b"x" * 100], peer=1)
    log.close()
    content = bytearray(path.read_bytes())
    for start in range(last + HEAD_BYTES, len(content) - CODE_BYTES + 1):
        content[start:] = bytes(len(content) - start)
        path.write_bytes(content)
        assert arrivals(path) == FRAMES
        content = bytearray(path.read_bytes()) + content[last:]


def test_a_log_knows_where_its_role_went_on(tmp_path: Path) -> None:
    """Only an attempt that added something counts; the first one begins outside of all phases."""
    path = tmp_path / "log"
    log = RoleLog.create(path, key=KEY, header=b"header")
    assert not log.has_begun
    log.begin(str)
    assert log.has_begun
    log.append(RecordKind.ARRIVED, [b"a"], peer=1)
    assert log.resumed_in() == []
    log.close()
    for phase in ("count", "never reached", "sum"):
        log = RoleLog(path, key=KEY)
        assert log.has_begun
        log.begin(lambda phase=phase: phase)
        if phase != "never reached":
            log.append(RecordKind.ARRIVED, [b"a"], peer=1)
        log.close()
    assert log.resumed_in() == ["count", "sum"]
    log = RoleLog(path, key=KEY)
    log.begin(str)
    assert log.resumed_in() == ["count", "sum", ""]
    log.close()


def test_another_key_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "log")
    with pytest.raises(UsageError, match="its key is another one"):
        RoleLog(tmp_path / "log", key=b"l" * 32)


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    write(tmp_path / "log")
    log = RoleLog(tmp_path / "log", key=KEY)
    with pytest.raises(UsageError, match="one process at a time"):
        RoleLog(tmp_path / "log", key=KEY)
    log.close()
    RoleLog(tmp_path / "log", key=KEY).close()


def test_a_full_disk_ends_the_run_and_spoils_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    write(path)
    log = RoleLog(path, key=KEY)

    def fill(descriptor: int, pieces: list[memoryview]) -> int:
        os.write(descriptor, pieces[0][:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", fill)
        with pytest.raises(ConversationError, match="No space left on device: make room"):
            log.append(RecordKind.ARRIVED, [b"lost"], peer=1)
    with pytest.raises(PeerFailedError):
        log.append(RecordKind.ARRIVED, [b"later"], peer=1)
    assert arrivals(path) == FRAMES


@pytest.mark.parametrize("roles", [1, 2, 6, 7, 8, 40, 1001])
def test_how_often_all_roles_were_started_is_read_again(tmp_path: Path, roles: int) -> None:
    restarts = [place % 3 + (place == 7) * 2**40 for place in range(roles)]
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"header")
    log.begin(str)
    log.note_restart()
    log.note_peers(restarts)
    log.note_restart()
    log.close()
    again = RoleLog(tmp_path / "log", key=KEY)
    assert (again.restarts, again.peer_restarts) == (2, dict(enumerate(restarts)))
    again.close()


def test_what_is_noted_on_the_disk_is_there_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file's length when the system last wrote it to the disk is the referee."""
    path, durable, calls = tmp_path / "log", 0, 0
    to_disk = os.fdatasync

    def spied(descriptor: int) -> None:
        nonlocal durable, calls
        to_disk(descriptor)
        durable, calls = os.fstat(descriptor).st_size, calls + 1

    monkeypatch.setattr(os, "fdatasync", spied)

    def is_durable() -> bool:
        return durable == path.stat().st_size > 0

    log = RoleLog.create(path, key=KEY, header=b"header")
    assert is_durable()
    log.begin(str)
    assert is_durable()
    log.append(RecordKind.ARRIVED, [b"a"], peer=1)
    assert not is_durable(), "only what is asked for waits for the disk"
    log.sync()
    assert is_durable()
    before = calls
    log.sync()
    assert calls == before, "nothing was added"
    for note in (
        log.note_restart,
        lambda: log.note_peers([1, 2]),
        lambda: log.append(RecordKind.RANDOM, [b"b"], sync=True),
    ):
        note()
        assert is_durable()
    log.close()
    with pytest.raises(PeerFailedError):
        log.sync()
    again = RoleLog(path, key=KEY)
    again.sync()
    assert calls == before + 4, "what another process left may not be on the disk"
    again.close()


@pytest.mark.parametrize("parts", [1, 511, 512, 513, 1024, 1025, 1300])
@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_a_record_of_many_parts_is_whole_whatever_the_system_takes_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int, most: int
) -> None:
    """The system takes at most 1,024 parts, and perhaps not all of their bytes."""
    in_pieces = os.writev
    asked = []

    def some(descriptor: int, pieces: list[memoryview]) -> int:
        asked.append(len(pieces))
        if most > 100:
            return in_pieces(descriptor, pieces)
        return os.write(descriptor, b"".join(pieces)[:most])

    monkeypatch.setattr(os, "writev", some)
    content = [bytes([place % 251]) * (place % 3) for place in range(parts if most > 1 else 5)]
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"header")
    log.append(RecordKind.ARRIVED, content, peer=1)
    log.close()
    assert arrivals(tmp_path / "log") == [(1, b"".join(content))]
    assert max(asked) <= 1024
