"""Messages that nobody receives: what they may take, and how the run ends beyond it."""

import sys
from pathlib import Path

import pytest

from sottovoce.messages import MessageError, message
from sottovoce.messages.role import Role
from sottovoce.messages.threads import thread_wires
from sottovoce.messages.unread import UnreadMessages, memory_bytes

LIMIT = 10_000
BYTES = 1000


@message
class Word:
    content: bytes


@message
class Other:
    number: int


def roles(limit: int = LIMIT) -> list[Role]:
    return [
        Role(wire, protocol="talk", kinds=[Word, Other], timeout=0.2, limit=limit)
        for wire in thread_wires(3)
    ]


def test_a_sender_that_nobody_reads_ends_the_run_and_is_named() -> None:
    curator, one, two = roles()
    with one.phase("all"), two.phase("all"), curator.phase("all"):
        two.send(Word(b"."), to=0)
        for _ in range(12):
            one.send(Word(bytes(BYTES)), to=0)
        two.send(Other(1), to=0)
        curator.receive(Word, source=2)
        with pytest.raises(MessageError, match="expected at most 10,000 bytes of messages") as told:
            curator.receive(Other, source=2)
    text = str(told.value)
    assert "messages of party 1 have" in text
    assert "phase all" in text


def test_what_is_received_makes_room() -> None:
    """Many times the bound may pass, as long as little of it waits."""
    curator, one, two = roles()
    with one.phase("all"), two.phase("all"), curator.phase("all"):
        for _ in range(50):
            two.send(Other(1), to=0)
            one.send(Word(bytes(BYTES)), to=0)
            curator.receive(Other, source=2)
            assert len(curator.receive(Word, source=1).content) == BYTES


def test_one_frame_of_the_longest_size_is_kept() -> None:
    unread = UnreadMessages(limit=BYTES)
    unread.put(memoryview(bytes(BYTES)), source=1)
    assert unread.excess == ""
    unread.put(memoryview(b"."), source=2)
    assert "1 messages of party 1 have 1,000 bytes" in unread.excess
    assert len(unread.pop(1)) == BYTES
    assert unread.excess == ""
    assert {rank: unread.arrived[rank] for rank in (1, 2)} == {1: 1, 2: 1}


def test_small_messages_take_more_than_their_bytes() -> None:
    """Python keeps an object for each: a million empty ones are no small thing."""
    unread = UnreadMessages(limit=10_000)
    frame = memoryview(b"")
    number = 0
    while not unread.excess:
        unread.put(frame, source=1)
        number += 1
    assert 10_000 / number >= sys.getsizeof(frame)


def test_half_of_the_memory_is_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "memory.max"
    monkeypatch.setattr("sottovoce.messages.unread.GROUP_LIMIT", group)
    whole = memory_bytes()
    assert whole > 1 << 20
    group.write_text("max\n")
    assert memory_bytes() == whole
    group.write_text("4000\n")
    assert memory_bytes() == 4000
    unread = UnreadMessages(limit=1 << 36)
    for _ in range(2):
        unread.put(memoryview(bytes(BYTES)), source=1)
    assert "expected at most 2,000 bytes" in unread.excess
