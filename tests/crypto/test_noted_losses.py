"""What the wire of a durable run writes down of losses, and of releases, where a run goes on."""

from __future__ import annotations

import contextlib
import shutil
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sottovoce.crypto.durable import DurableWire
from sottovoce.crypto.log_contents import LogContents
from sottovoce.crypto.log_format import CODE_BYTES, HEAD_BYTES
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import CURATOR, MisuseError, PeerLostError, Role
from sottovoce.messages import message as message_class
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.wire import LOST, Buffer


class Arrivals:
    """An end of the curator's wire on which what arrives is known."""

    rank, size = CURATOR, 5

    def __init__(self, *arrivals: tuple[int, memoryview] | None) -> None:
        self._arrivals = deque(arrivals)

    def clock(self) -> float:
        return 0.0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        pass

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return self._arrivals.popleft() if self._arrivals else None

    def abort(self, status: int) -> NoReturn:
        raise SystemExit(status)


def message(number: int, *, sender: int, to: int, kind: FrameKind = FrameKind.MESSAGE) -> bytes:
    return pack_header(Header(kind, 0, number, sender, to, "p", "", ""))


@pytest.mark.parametrize("goes_on", [True, False, None])
@pytest.mark.parametrize("acted_upon", [[2, 3], [3, 2], [3], [2], []])
def test_losses_have_their_places_among_what_arrived(
    acted_upon: list[int], goes_on: bool | None, tmp_path: Path
) -> None:
    """They are written before the role sends something, if it does something else because of them.

    In a run that a loss ends none is written; a run is one unless it is said to go on.
    """
    first, second, third = (memoryview(message(number, sender=1, to=0)) for number in range(3))
    arrivals = [(1, first), (2, LOST), (3, LOST), (1, second), (1, third), (4, LOST)]
    path = tmp_path / "log"

    def read() -> list[tuple[int, bytes]]:
        shutil.copy(path, tmp_path / "copy")
        log = RoleLog(tmp_path / "copy", key=bytes(32))
        found = [(peer, bytes(frame)) for peer, frame in iter(log.next_arrival, None)]
        assert log.lost == {peer for peer, frame in found if not frame}
        log.close()
        return found

    log = RoleLog.create(path, key=bytes(32), header=b"")
    settings: dict[str, Any] = {} if goes_on is None else {"goes_on": goes_on}
    ends = DurableWire(Arrivals(*arrivals), log, received={}, syncs=False, **settings)
    for _ in arrivals[:5]:
        assert ends.arrive(timeout=1) is not None
    for number, peer in enumerate(acted_upon):
        ends.note_acting(peer)
        before = read()
        ends.send([message(number, sender=0, to=1)], to=1, timeout=1)
        assert [at for at in before if at[0] == peer] == []
    assert ends.arrive(timeout=1) == (4, LOST)
    noted = set(acted_upon) if goes_on else set()
    expected = [at for at in arrivals[:5] if at[1] is not LOST or at[0] in noted]
    assert read() == [(peer, bytes(frame)) for peer, frame in expected]
    log.close()


def test_later_losses_come_after_those_of_the_log(tmp_path: Path) -> None:
    heard: list[int] = []
    for attempt, peer in enumerate((3, 2), start=1):
        log = (
            RoleLog(tmp_path / "log", key=bytes(32))
            if heard
            else RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
        )
        ends = DurableWire(Arrivals((peer, LOST)), log, received={}, goes_on=True, syncs=True)
        heard = [at[0] for at in iter(lambda: ends.arrive(timeout=1), None)]  # noqa: B023
        ends.note_acting(peer)
        ends.send([message(attempt, sender=0, to=1)], to=1, timeout=1)
        log.close()
    assert heard == [3, 2]
    log = RoleLog(tmp_path / "log", key=bytes(32))
    assert [at[0] for at in iter(log.next_arrival, None)] == [3, 2]
    log.close()


def test_a_frame_of_releases_out_of_turn_is_not_logged(tmp_path: Path) -> None:
    """It is passed on to be refused; one that came before is dropped."""
    frames = [memoryview(message(n, sender=1, to=0, kind=FrameKind.RELEASES)) for n in range(3)]
    arrivals = [(1, frames[0]), (1, frames[2]), (1, frames[0]), (1, frames[1])]
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    ends = DurableWire(Arrivals(*arrivals), log, received={}, goes_on=True, syncs=True)
    taken = [ends.arrive(timeout=1) for _ in range(3)]
    assert taken == [(1, frames[0]), (1, frames[2]), (1, frames[1])]
    log.close()
    log = RoleLog(tmp_path / "log", key=bytes(32))
    assert [*iter(log.next_arrival, None)] == [(1, frames[0]), (1, frames[1])]
    log.close()


@pytest.mark.parametrize("kind", [FrameKind.MESSAGE, FrameKind.RELEASES])
def test_what_led_to_a_frame_is_on_the_disk_before_it_leaves(
    kind: FrameKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curator's note of a loss, too, where the run goes on."""
    written: list[str] = []
    append, sync, send = RoleLog.append, RoleLog.sync, Arrivals.send

    def noting(name: str, call: Any) -> Any:
        def noted(*args: Any, **more: Any) -> Any:
            written.append(name)
            return call(*args, **more)

        return noted

    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    arrivals = [(1, memoryview(message(0, sender=1, to=0))), (2, LOST)]
    ends = DurableWire(Arrivals(*arrivals), log, received={}, goes_on=True, syncs=True)
    ends.has_released = lambda: False
    monkeypatch.setattr(RoleLog, "append", noting("append", append))
    monkeypatch.setattr(RoleLog, "sync", noting("sync", sync))
    monkeypatch.setattr(Arrivals, "send", noting("send", send))
    for _ in arrivals:
        ends.arrive(timeout=1)
    ends.note_acting(2)
    ends.send([message(0, sender=0, to=1, kind=kind)], to=1, timeout=1)
    assert written == ["append"] * 3 + ["sync", "send"]  # what arrived, the loss, and the frame
    log.close()


@pytest.mark.parametrize("released", [(False, False), (False, True), (True, True)])
def test_a_log_says_whether_a_message_may_carry_something(
    released: tuple[bool, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so once, before the first such message, and also to whoever opens it again.

    It is on the disk then, also if the party has received nothing that must be there.
    """
    sync, send = RoleLog.sync, Arrivals.send
    synced, at_sends = [0], []

    def noting_sync(log: RoleLog) -> None:
        sync(log)
        synced.append(log.path.stat().st_size)

    def noting_send(wire: Arrivals, *args: Any, **more: Any) -> None:
        at_sends.append((synced[-1], log.path.stat().st_size))
        send(wire, *args, **more)

    monkeypatch.setattr(RoleLog, "sync", noting_sync)
    monkeypatch.setattr(Arrivals, "send", noting_send)
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    ends = DurableWire(Arrivals(), log, received={}, syncs=True)
    for number, may_carry in enumerate(released):
        ends.has_released = partial(bool, may_carry)
        ends.send([message(number, sender=1, to=0)], to=0, timeout=1)
        found = LogContents(tmp_path / "log", key=bytes(32))
        found.read_records()
        assert found.has_released == log.has_released == any(released[: number + 1])
        is_first = may_carry and not any(released[:number])
        assert (at_sends[-1][0] == at_sends[-1][1]) == is_first
    size = log.path.stat().st_size
    if any(released):
        ends.send([message(2, sender=1, to=0)], to=0, timeout=1)
        # A digest alone is written now.
        assert log.path.stat().st_size - size == HEAD_BYTES + 2 * CODE_BYTES
    log.close()


def test_what_is_told_of_releases_is_made_again_as_it_was(tmp_path: Path) -> None:
    """Another version is not sent, as with messages."""
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    header = message(0, sender=1, to=0, kind=FrameKind.RELEASES)
    for payload, is_same in ((b"first", True), (b"first", True), (b"other", False)):
        ends = DurableWire(Arrivals(), log, received={}, goes_on=True, syncs=True)
        with (
            contextlib.nullcontext() if is_same else pytest.raises(MisuseError, match="releases 0")
        ):
            ends.send([header, payload], to=0, timeout=1)
        log.close()
        log = RoleLog(tmp_path / "log", key=bytes(32))
    assert [*map(bytes, log.left_ahead(to=0))] == [header + b"first"]
    log.close()


def test_what_is_told_of_releases_twice_is_logged_once(tmp_path: Path) -> None:
    """It may leave again for a role that has started anew."""
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    ends = DurableWire(Arrivals(), log, received={}, goes_on=True, syncs=True)
    frames = [message(n, sender=1, to=0, kind=FrameKind.RELEASES) for n in range(3)]
    for number in (0, 1, 1, 0, 2):
        ends.send([frames[number]], to=0, timeout=1)
    log.close()
    log = RoleLog(tmp_path / "log", key=bytes(32))
    assert [*map(bytes, log.left_ahead(to=0))] == frames
    log.close()


def test_nothing_is_taken_in_while_a_lost_role_is_waited_for(tmp_path: Path) -> None:
    """In a replay all has arrived already, and a role must not hear of the next loss earlier."""
    heard: list[list[int]] = []
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    for is_replayed in (False, True):
        arrivals = [] if is_replayed else [(2, LOST), None, (3, LOST)]
        ends = DurableWire(Arrivals(*arrivals), log, received={}, goes_on=True, syncs=True)
        role = Role(ends, protocol="p", kinds=[], timeout=1)
        role.call_when_acting(ends.note_acting)
        with pytest.raises(PeerLostError):
            role._edges.frames.next_message("Word", source=2)
        with pytest.raises(PeerLostError):
            role._edges.frames.next_message("Word", source=2)
        heard.append([*role.lost])
        role.take_in_arrived()
        role.take_in_arrived()
        ends.send([message(0, sender=0, to=1)], to=1, timeout=1)
        log.close()
        log = RoleLog(tmp_path / "log", key=bytes(32))
    assert heard == [[2], [2]]
    log.close()


@message_class
class Word:
    number: int


def test_a_loss_before_the_introduction_is_noted(tmp_path: Path) -> None:
    """With identities nothing is received of a role that was never introduced, which is lost."""
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    ends = DurableWire(Arrivals((2, LOST)), log, received={}, goes_on=True, syncs=True)
    role = Role(ends, protocol="p", kinds=[Word], timeout=1)
    role.call_when_acting(ends.note_acting)
    role._edges.unsealed_kinds = frozenset()
    role.take_in_arrived()
    with role.phase("keys"), pytest.raises(PeerLostError):
        role.receive(Word, source=2)
    ends.send([message(0, sender=0, to=1)], to=1, timeout=1)
    log.close()
    log = RoleLog(tmp_path / "log", key=bytes(32))
    assert log.lost == {2}
    log.close()


@pytest.mark.parametrize("fewest", [2, 3, 4])
def test_no_role_acts_upon_losses_that_leave_too_few(fewest: int, tmp_path: Path) -> None:
    """Of four parties one is lost: it is not in the log, so it is back when the run goes on."""
    log = RoleLog.create(tmp_path / "log", key=bytes(32), header=b"")
    ends = DurableWire(
        Arrivals((2, LOST)), log, received={}, goes_on=True, fewest=fewest, syncs=True
    )
    assert ends.arrive(timeout=1) == (2, LOST)
    ends.note_acting(2)

    def send() -> None:
        ends.send([message(0, sender=0, to=1)], to=1, timeout=1)

    if fewest <= 3:
        send()
    else:
        with pytest.raises(PeerLostError, match="at least 4 parties, found 3: lost were party 2"):
            send()
    log.close()
    kept = RoleLog(tmp_path / "log", key=bytes(32))
    assert kept.lost == ({2} if fewest <= 3 else set())
    kept.close()
