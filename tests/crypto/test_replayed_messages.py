"""What a role that goes on sends again, and the bytes of its log: tried for all numbers received.

The referees are a list of what each receiver lacks, and the table at the head of
`crypto.log_format`.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NoReturn

import pytest

from sottovoce.crypto.durable import DurableWire
from sottovoce.crypto.log_contents import update_with_frame
from sottovoce.crypto.log_format import MAGIC, RecordKind
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import MisuseError
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.wire import Buffer

PARTY, NUMBER = 1, 3
KEY = b"k" * 32


class Wire:
    """An end of party 1's wire that keeps what leaves."""

    rank, size = PARTY, 4

    def __init__(self) -> None:
        self.left: list[tuple[int, bytes, bool]] = []

    def clock(self) -> float:
        return 0.0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self.left.append((to, b"".join(parts), more))

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return 0, memoryview(frame(0, sender=0, to=PARTY))

    def abort(self, status: int) -> NoReturn:
        raise SystemExit(status)


def frame(number: int, *, sender: int = PARTY, to: int) -> bytes:
    return pack_header(Header(FrameKind.MESSAGE, 0, number, sender, to, "p", "", ""))


def digest(frames: Sequence[bytes]) -> bytes:
    whole = hashlib.sha256()
    for each in frames:
        update_with_frame(whole, [each])
    return whole.digest()


@pytest.mark.parametrize(("of_curator", "of_party"), [*product(range(NUMBER + 1), repeat=2)])
@pytest.mark.parametrize("lost", [(), (2,)])
def test_a_message_is_sent_again_if_and_only_if_its_receiver_lacks_it(
    of_curator: int, of_party: int, lost: tuple[int, ...], tmp_path: Path
) -> None:
    """Nothing new is taken from the wire before all messages that have arrived were made again.

    What a role has received that stays lost does not count: it is sent nothing, and awaited for
    nothing.
    """
    receivers = {0: of_curator, 2: of_party}
    sent = {to: [frame(number, to=to) for number in range(NUMBER)] for to in receivers}
    wire = Wire()
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(
        wire,
        log,
        received=receivers,
        digests={to: digest(sent[to][:count]) for to, count in receivers.items()},
        lost=lost,
        syncs=True,
    )
    waiting = {to: count for to, count in receivers.items() if count and to not in lost}
    expected = []
    for number, to in product(range(NUMBER), receivers):
        if waiting:
            assert ends.arrive(timeout=0) is None
            with pytest.raises(MisuseError, match="older copy"):
                ends.arrive(timeout=1)
        ends.send([sent[to][number]], to=to, timeout=1, more=True)
        if to not in lost and number >= receivers[to]:
            expected.append((to, sent[to][number], not waiting and not lost))
        if number + 1 >= waiting.get(to, NUMBER + 1):
            del waiting[to]
    assert wire.left == expected
    while (arrival := ends.arrive(timeout=1)) is not None and not arrival[1]:
        assert arrival[0] in lost
    assert arrival is not None
    assert arrival[0] == 0
    log.close()


@pytest.mark.parametrize("changed", range(NUMBER))
@pytest.mark.parametrize("count", range(1, NUMBER + 1))
def test_other_messages_than_those_that_arrived_are_noticed_at_the_last(
    changed: int, count: int, tmp_path: Path
) -> None:
    frames = [frame(number, to=0) for number in range(NUMBER)]
    arrived = [*frames]
    arrived[changed] = frame(changed, to=0) + b"other"
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(
        Wire(), log, received={0: count}, digests={0: digest(arrived[:count])}, syncs=True
    )
    for each in frames[: count - 1]:
        ends.send([each], to=0, timeout=1)
    if changed < count:
        with pytest.raises(MisuseError, match=f"the {count} messages again"):
            ends.send([frames[count - 1]], to=0, timeout=1)
    else:
        ends.send([frames[count - 1]], to=0, timeout=1)
    log.close()


def test_the_bytes_of_a_log_are_those_of_its_format(tmp_path: Path) -> None:
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"whose")
    log.append(RecordKind.ARRIVED, [b"first ", b"frame"], peer=259)
    log.append(RecordKind.AHEAD, [b"ahead"], peer=2)
    log.append(RecordKind.AHEAD, [b"more"], peer=2)
    log.append(RecordKind.RANDOM, [b""], sync=True)
    log.close()
    data = (tmp_path / "log").read_bytes()
    assert data.startswith(MAGIC)
    place, records, randoms = len(MAGIC), [], set()
    while place < len(data):
        kind, zero, peer, zeros, length, random = struct.unpack_from("<BBHIQ16s", data, place)
        assert (zero, zeros) == (0, 0)
        randoms.add(random)
        records.append((kind, peer, data[place + 48 : place + 48 + length]))
        place += 48 + length + 16
    assert place == len(data)
    assert records == [
        (RecordKind.HEADER, 0, b"whose"),
        (RecordKind.ARRIVED, 259, b"first frame"),
        (RecordKind.AHEAD, 2, b"ahead"),
        (RecordKind.AHEAD, 2, b"more"),
        (RecordKind.RANDOM, 0, b""),
    ]
    assert len(randoms) == len(records)
    again = RoleLog(tmp_path / "log", key=KEY)
    assert dict(again.arrived) == {259: 1, 2: 0}
    assert dict(again.arrived_ahead) == {259: 0, 2: 2}
    assert again.frames == 3
    assert again.records == len(records)
    assert again.digests_of_arrived() == {259: digest([b"first frame"])}
    again.close()


def test_a_log_that_the_system_writes_piece_by_piece_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write may take less than it is given, and end within any part."""
    writev, sizes = os.writev, iter(range(1, 10_000))

    def some(descriptor: int, views: list[memoryview]) -> int:
        whole = b"".join(views)
        return writev(descriptor, [whole[: next(sizes) % 7 + 1]])

    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"whose")
    monkeypatch.setattr(os, "writev", some)
    frames = [bytes(range(length)) for length in range(40)]
    for each in frames:
        log.append(RecordKind.ARRIVED, [each[:3], each[3:10], each[10:]], peer=2)
    assert log.records == 41
    log.close()
    again = RoleLog(tmp_path / "log", key=KEY)
    assert [bytes(content) for _, content in iter(again.next_arrival, None)] == frames
    assert again.records == 41
    again.close()


def test_a_durable_end_aborts_the_wire(tmp_path: Path) -> None:
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(Wire(), log, received={}, syncs=True)
    with pytest.raises(SystemExit) as stop:
        ends.abort(3)
    assert stop.value.code == 3
    log.close()


def test_a_frame_is_held_only_if_more_are_to_follow(tmp_path: Path) -> None:
    """A frame that is held leaves with the next one, so the last one must not be."""
    wire = Wire()
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(wire, log, received={}, syncs=False)
    ends.send([frame(0, to=0)], to=0, timeout=1)
    ends.send([frame(1, to=0)], to=0, timeout=1, more=True)
    ends.send([frame(2, to=0)], to=0, timeout=1, more=False)
    assert [more for _, _, more in wire.left] == [False, True, False]
    log.close()


@pytest.mark.parametrize("length", range(5))
def test_a_frame_that_is_cut_short_is_passed_on_and_not_logged(length: int, tmp_path: Path) -> None:
    """The role refuses it; the log has nothing of it."""
    wire = Wire()
    cut = memoryview(frame(0, sender=0, to=PARTY)[:length])
    wire.arrive = lambda *, timeout: (0, cut)  # type: ignore[method-assign]
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"")
    ends = DurableWire(wire, log, received={}, syncs=True)
    assert ends.arrive(timeout=1) == (0, cut)
    assert log.next_arrival() is None
    log.close()
