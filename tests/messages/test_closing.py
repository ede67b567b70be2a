"""The closing of a conversation: nothing unread, in a number of frames that grows as K does."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sottovoce.messages import (
    LedgerError,
    MessageError,
    PeerFailedError,
    PeerFinishedError,
    Role,
    ending,
    exchange,
    message,
    thread_wires,
)
from sottovoce.messages.closing import counts_by_receiver, pack_counts, unpack_counts
from sottovoce.messages.frame import FrameKind
from sottovoce.messages.threads import ThreadWire
from sottovoce.messages.wire import LOST, Buffer


@message
class Word:
    number: int


class CountingWire:
    """A wire that counts its frames by kind, and holds back or loses messages on one edge."""

    def __init__(
        self, wire: ThreadWire, frames: Counter[int], *, delay: float = 0.0, loses: bool = False
    ) -> None:
        self.rank, self.size = wire.rank, wire.size
        self.abort = wire.abort
        self.arrive = wire.arrive
        self.clock = wire.clock
        self._wire = wire
        self._frames = frames
        self._delay = delay
        self._loses = loses

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        kind = parts[0][3]
        self._frames[kind] += 1
        if kind == FrameKind.MESSAGE and to:
            if self._loses:
                return
            if self._delay:
                threading.Timer(
                    self._delay,
                    self._wire.send,
                    [[*parts]],
                    {"to": to, "timeout": timeout, "more": more},
                ).start()
                return
        self._wire.send(parts, to=to, timeout=timeout, more=more)


Play = Callable[..., tuple[list[BaseException], Counter[int]]]


@pytest.fixture
def play(play_roles: Callable[..., list[BaseException]]) -> Play:
    """Play a part at every role to its end; give the errors, and the frames by kind."""

    def counting(
        size: int, part: Callable[[Role], None], **edge: Any
    ) -> tuple[list[BaseException], Counter[int]]:
        frames: Counter[int] = Counter()
        wires = [CountingWire(wire, frames, **edge) for wire in thread_wires(size)]
        return play_roles(wires, part, kinds=[Word]), frames

    return counting


def star(role: Role) -> None:
    if role.rank:
        role.send(Word(role.rank), to=0)
    else:
        assert [word.number for word in role.gather(Word)] == [*role.parties]


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_a_conversation_closes_in_three_frames_a_party(play: Play, size: int) -> None:
    errors, frames = play(size, star)
    assert errors == []
    assert frames[FrameKind.MESSAGE] == size - 1
    assert frames[FrameKind.END] == 2 * (size - 1)
    assert frames[FrameKind.CLOSING] == size - 1
    assert frames[FrameKind.PROBE] == 0


def one_word(role: Role) -> None:
    if role.rank == 1:
        role.send(Word(7), to=2)
    elif role.rank == 2:
        assert role.receive(Word, source=1).number == 7


def unread_word(role: Role) -> None:
    if role.rank == 1:
        role.send(Word(7), to=2)


def test_a_message_between_parties_that_was_not_read_is_noticed(play: Play) -> None:
    (error,), _ = play(4, unread_word)
    assert isinstance(error, LedgerError)
    assert str(error).startswith("rank 2 ")
    assert "found 1 unread: Word of phase all was never received" in str(error)


def test_a_message_that_travels_longer_than_all_ends_is_noticed(play: Play) -> None:
    """Edges do not wait for each other: the closing may arrive before an earlier message."""
    (error,), _ = play(3, unread_word, delay=0.5)
    assert isinstance(error, LedgerError)
    assert "found 1 unread: Word of phase all was never received" in str(error)
    assert play(3, one_word, delay=0.5)[0] == []


def test_a_message_that_is_lost_is_noticed(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "LATE_AFTER", 0.2)
    (error,), _ = play(3, unread_word, loses=True)
    assert isinstance(error, LedgerError)
    assert "expected 1 messages from party 1, found 0" in str(error)


class LeavingWire(CountingWire):
    """A wire of a role that is lost when it would end its part: some hear of it later."""

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        if self.rank != 2 or parts[0][3] != FrameKind.END:
            super().send(parts, to=to, timeout=timeout, more=more)
            return
        inboxes = self._wire._switchboard.inboxes
        inboxes[0].put((2, LOST))
        threading.Timer(0.5, inboxes[1].put, [(2, LOST)]).start()
        raise PeerFailedError("this role is lost")  # which ends no other role


def test_the_curator_may_hear_of_a_loss_before_those_to_whom_the_lost_role_has_sent(
    play_roles: Callable[..., list[BaseException]],
) -> None:
    def part(role: Role) -> None:
        if role.rank == 2:
            role.send(Word(7), to=1)
        elif role.rank == 1:
            assert role.receive(Word, source=2).number == 7

    wires = [LeavingWire(wire, Counter()) for wire in thread_wires(3)]
    assert play_roles(wires, part, kinds=[Word]) == []


@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize("nap", [0.0, 0.3])
def test_a_wait_for_a_role_that_has_ended_fails(
    play: Play, source: int, nap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing was ever sent between the two, and where the wait began before the end."""
    monkeypatch.setattr(exchange, "PROBE_AFTER", 0.05)

    def part(role: Role) -> None:
        if role.rank == 2:
            role.receive(Word, source=source)
        elif role.rank == source:
            time.sleep(nap)

    (error,), _ = play(4, part)
    assert isinstance(error, PeerFinishedError)
    assert "found that it has ended its part" in str(error)


def test_numbers_of_messages_are_read_as_they_were_written() -> None:
    sent = {0: {2: 1}, 1: {0: 3, 2: 1 << 40}, 2: {}, 65535: {1: 1}}
    written = {
        rank: unpack_counts(memoryview(pack_counts(counts)), size=65536)
        for rank, counts in sent.items()
    }
    assert written == sent
    assert pack_counts({3: 0, 1: 2}) == pack_counts({1: 2})
    received = counts_by_receiver(sent)
    assert {(to, rank): n for to, counts in received.items() for rank, n in counts.items()} == {
        (to, rank): n for rank, counts in sent.items() for to, n in counts.items()
    }


GOOD = pack_counts({1: 1, 2: 5})


@pytest.mark.parametrize(
    "payload",
    [GOOD[:-1], GOOD + b"\0", GOOD[10:] + GOOD[:10], GOOD + GOOD[10:], GOOD[:2] + bytes(8)],
)
def test_other_lists_of_numbers_are_refused(payload: bytes) -> None:
    with pytest.raises(MessageError, match="expected numbers of messages"):
        unpack_counts(memoryview(payload), size=3)


def test_numbers_of_ranks_that_do_not_exist_are_refused() -> None:
    with pytest.raises(MessageError, match="for ranks below 2"):
        unpack_counts(memoryview(GOOD), size=2)
