"""A role refuses unexpected frames, and says what was wrong, from whom and where."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sottovoce.messages import (
    ConversationError,
    LedgerError,
    MessageError,
    MisuseError,
    PeerLostError,
    Role,
    TimeoutExpired,
    message,
    to_bytes,
)
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.threads import ThreadWire, thread_wires


@message
class Word:
    number: int


@message
class Other:
    number: int


@message
class Undeclared:
    number: int


PAYLOAD = to_bytes(Word(7))
RIGHT = Header(0, 8, 0, 1, 0, "talk", "count", "Word")


def pair(**more: Any) -> tuple[Role, Role, list[ThreadWire]]:
    wires = thread_wires(3)
    zero, one = (
        Role(wire, protocol="talk", kinds=[Word, Other], timeout=0.2, **more) for wire in wires[:2]
    )
    return zero, one, wires


def receive(*frames: bytes, limit: int = 1 << 20) -> Word:
    zero, _, wires = pair(limit=limit)
    for frame in frames:
        wires[1].send([frame], to=0, timeout=1)
    with zero.phase("count"):
        for _ in frames:
            received = zero.receive(Word, source=1)
    return received


def test_the_right_frame_is_received() -> None:
    assert receive(pack_header(RIGHT) + PAYLOAD).number == 7


def test_a_role_computes_where_no_message_is_under_way() -> None:
    zero, one, _ = pair()
    doing = [zero.position.doing]
    with zero.phase("count"), one.phase("count"):
        for act in (
            lambda: one.broadcast(Word(7), to=[0]),
            lambda: zero.gather(Word, sources=[1]),
            lambda: one.send(Word(7), to=0),
            lambda: zero.receive(Word, source=1),
        ):
            act()
            doing += [zero.position.doing, one.position.doing]
        with pytest.raises(TimeoutExpired):
            zero.receive(Word, source=1)
        doing.append(zero.position.doing)
    doing.append(one.position.doing)
    assert doing == ["", *["computes"] * 8, "waits for Word from party 1", ""]


FRAMES: list[tuple[bytes, str]] = [
    (
        pack_header(RIGHT._replace(kind="Song")) + PAYLOAD,
        "expected Word from party 1, found an unknown kind, 'Song'",
    ),
    (
        pack_header(RIGHT._replace(kind="Other")) + PAYLOAD,
        "expected Word of phase count from party 1, found Other of phase count",
    ),
    (
        pack_header(RIGHT._replace(phase="learn")) + PAYLOAD,
        "expected Word of phase count from party 1, found Word of phase learn",
    ),
    (
        pack_header(RIGHT._replace(sender=2)) + PAYLOAD,
        "expected party 1 as the sender, found party 2",
    ),
    (
        pack_header(RIGHT._replace(receiver=2)) + PAYLOAD,
        "expected a frame for the curator, found one for party 2",
    ),
    (pack_header(RIGHT._replace(protocol="shout")) + PAYLOAD, "expected talk, found shout"),
    (
        pack_header(RIGHT._replace(sequence=3)) + PAYLOAD,
        "expected message 0 from party 1, found 3: a message was skipped",
    ),
    (pack_header(RIGHT) + PAYLOAD[:-1], "bytes, found .*: it is truncated"),
    (pack_header(RIGHT) + PAYLOAD + b"x", "bytes are left over"),
    (b"sv", "expected a frame of at least 32 bytes, found 2"),
    (b"xx" + pack_header(RIGHT)[2:] + PAYLOAD, "expected a frame that starts with b'sv'"),
    (b"sv\x02" + pack_header(RIGHT)[3:] + PAYLOAD, "expected frame version 1, found 2"),
    (b"sv\x01\x09" + pack_header(RIGHT)[4:] + PAYLOAD, "expected a frame of a known kind, found 9"),
    (
        pack_header(RIGHT._replace(payload=1 << 40)) + PAYLOAD,
        "expected frames of at most 1048576 bytes",
    ),
    (pack_header(RIGHT)[:-1] + b"\1" + PAYLOAD, "a header that ends with zeros"),
    (
        pack_header(RIGHT)[:31] + b"\1" + pack_header(RIGHT)[32:] + PAYLOAD,
        "a header that ends with zeros",
    ),
    (
        pack_header(RIGHT._replace(payload=9)) + PAYLOAD + b"x",
        "malformed Word: expected its end, found 1 bytes left over",
    ),
    (
        pack_header(RIGHT._replace(payload=7)) + PAYLOAD[:-1],
        "malformed Word: field number: expected 8 more bytes, found 7",
    ),
    (
        pack_header(RIGHT)[:32] + b"\xff\xfe" + pack_header(RIGHT)[34:] + PAYLOAD,
        "expected names in UTF-8",
    ),
]


@pytest.mark.parametrize(("frame", "complaint"), FRAMES)
def test_any_other_frame_is_refused(frame: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint) as caught:
        receive(frame)
    assert str(caught.value).startswith("rank 0 (curator) in talk, phase count, step 1: ")


def test_a_replayed_message_is_refused() -> None:
    frame = pack_header(RIGHT) + PAYLOAD
    with pytest.raises(
        MessageError, match="step 2: expected message 1 from party 1, found 0: a replayed message"
    ):
        receive(frame, frame)


def test_a_frame_above_the_limit_is_not_sent() -> None:
    zero, _, _ = pair(limit=50)
    with (
        zero.phase("count"),
        pytest.raises(MisuseError, match="expected frames of at most 50 bytes, found Word of 56"),
    ):
        zero.send(Word(1), to=1)


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (
            lambda role: role.send(Undeclared(1), to=1),
            r"expected a kind that talk declares \(Word, Other\), found Undeclared: nest it in",
        ),
        (lambda role: role.send(17, to=1), "expected a message .*, found int"),
        (lambda role: role.send(Word(1), to=0), "expected another role's rank, 0 to 2, found 0"),
        (lambda role: role.send(Word(1), to=3), "expected another role's rank, 0 to 2, found 3"),
        (lambda role: role.receive(Word, source=-1), "found -1"),
        (lambda role: role.phase("a/b").__enter__(), "expected a phase name without '/'"),
    ],
)
def test_misuse_is_refused_and_sends_nothing(act: Callable[[Role], object], complaint: str) -> None:
    zero, _, wires = pair()
    with zero.phase("count"), pytest.raises(MisuseError, match=complaint):
        act(zero)
    assert wires[1].arrive(timeout=0) is None
    assert zero.acts == []


def test_nothing_is_sent_outside_a_phase() -> None:
    zero, _, _ = pair()
    with pytest.raises(MisuseError, match="within a phase"):
        zero.send(Word(1), to=1)


def test_a_wait_ends_and_names_the_other_role() -> None:
    zero, _, _ = pair()
    with (
        zero.phase("count"),
        pytest.raises(
            TimeoutExpired, match=r"step 1: expected Word from party 1, found nothing in 0\.2 s"
        ),
    ):
        zero.receive(Word, source=1)


def test_nobody_goes_on_without_a_lost_role_in_a_run_that_a_loss_ends() -> None:
    """Ranks may outlive a loss there, so that the curator learns of it."""
    for min_parties in (None, 1):
        wires = thread_wires(3)
        roles = [Role(wire, protocol="talk", kinds=[Word], timeout=5) for wire in wires]
        roles[0].min_parties = min_parties
        with roles[1].phase("count"):
            roles[1].send(Word(7), to=0)
        wires[2].leave()
        with roles[0].phase("count"):
            if min_parties is None:
                with pytest.raises(PeerLostError, match="party 2, found that its process was lost"):
                    roles[0].gather_living(Word, sources=[1, 2])
            else:
                assert [*roles[0].gather_living(Word, sources=[1, 2])] == [1]


def test_phases_nest_and_steps_go_on() -> None:
    zero, one, _ = pair()
    for _ in range(2):
        with one.phase("learn"), one.phase("sum"):
            one.send(Word(1), to=0)
    for step in (1, 2):
        with zero.phase("learn"), zero.phase("sum"):
            zero.receive(Word, source=1)
            assert str(zero.where) == f"rank 0 (curator) in talk, phase learn/sum, step {step}"


def test_an_unread_message_is_an_error() -> None:
    zero, one, wires = pair()
    two = Role(wires[2], protocol="talk", kinds=[Word])
    with one.phase("count"):
        one.send(Word(1), to=0)
    errors: list[ConversationError] = []

    def end(role: Role) -> None:
        try:
            role.end()
        except ConversationError as error:
            errors.append(error)

    threads = [threading.Thread(target=end, args=(role,)) for role in (zero, one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    (error,) = errors
    assert isinstance(error, LedgerError)
    assert "found 1 unread: Word of phase count was never received" in str(error)


@pytest.mark.parametrize("change", [{"receiver": 2}, {"sender": 2}])
def test_a_control_frame_of_others_is_refused(change: Any) -> None:
    header = Header(FrameKind.MINUTES, 3, 0, 1, 0, "talk", "", "")
    zero, _, wires = pair()
    wires[1].send([pack_header(header) + b"own"], to=0, timeout=1)
    assert bytes(zero.await_control(FrameKind.MINUTES, source=1)) == b"own"
    wires[1].send([pack_header(header._replace(**change)) + b"own"], to=0, timeout=1)
    with pytest.raises(MessageError, match="expected a control frame from party 1 for the curator"):
        zero.await_control(FrameKind.MINUTES, source=1)
