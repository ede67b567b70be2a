"""A header has one encoding, all other bytes are refused, and a role says where."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.messages import MessageError, MisuseError, Role, message, thread_wires, to_bytes
from sottovoce.messages.frame import (
    MIN_HEADER_BYTES,
    FrameKind,
    Header,
    frame_length,
    pack_header,
    unpack_header,
)

LIMIT = 1 << 20
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(
    lambda name: len(name.encode()) <= 255
)
HEADERS = st.builds(
    Header,
    frame_kind=st.sampled_from(FrameKind),
    payload=st.integers(0, 200),
    sequence=st.integers(0, 2**64 - 1),
    sender=st.integers(0, 2**16 - 1),
    receiver=st.integers(0, 2**16 - 1),
    protocol=NAMES,
    phase=NAMES,
    kind=NAMES,
)


@message
class Word:
    number: int


@message
class Other:
    number: int


@message
class Raw:
    data: bytes


PAYLOAD = to_bytes(Word(7))
RIGHT = Header(0, len(PAYLOAD), 0, 0, 1, "talk", "count", "Word")
HEAD = pack_header(RIGHT)
FRAME = HEAD + PAYLOAD


def put(at: int, data: bytes, frame: bytes = FRAME) -> bytes:
    return frame[:at] + data + frame[at + len(data) :]


def test_the_header_to_the_byte() -> None:
    header = Header(FrameKind.MESSAGE, 5, 0x0102, 3, 0x0405, "né", "a/b", "K")
    expected = bytes.fromhex(
        "7376 01 00 30000000 0500000000000000 0201000000000000 0300 0504 03 03 01 00"
    )
    assert pack_header(header) == expected + "néa/bK".encode() + bytes(9)


def test_sixteen_bytes_of_names_need_no_zeros() -> None:
    data = pack_header(RIGHT._replace(payload=0, protocol="p" * 8, phase="f" * 4, kind="k" * 4))
    assert data[MIN_HEADER_BYTES:] == b"ppppppppffffkkkk"
    assert unpack_header(memoryview(data), limit=LIMIT).header.protocol == "p" * 8


@given(HEADERS)
def test_a_header_has_one_encoding(header: Header) -> None:
    head = pack_header(header)
    payload = bytes(header.payload)
    frame = unpack_header(memoryview(head + payload), limit=LIMIT)
    assert frame.header == header
    assert isinstance(frame.header.frame_kind, FrameKind)
    assert frame.payload == payload
    assert frame.length == len(head) + len(payload) == frame_length(memoryview(head), limit=LIMIT)
    assert len(head) % 16 == 0
    assert pack_header(frame.header) == head


@given(HEADERS, st.data())
def test_a_changed_header_byte_gives_another_header_or_none(
    header: Header, data: st.DataObject
) -> None:
    head = pack_header(header)
    at = data.draw(st.integers(0, len(head) - 1))
    changed = put(at, bytes([head[at] ^ data.draw(st.integers(1, 255))]), head) + bytes(
        header.payload
    )
    try:
        found = unpack_header(memoryview(changed), limit=LIMIT).header
    except MessageError:
        return
    assert found != header
    assert pack_header(found) == changed[: -header.payload or None]


def test_names_have_a_limit() -> None:
    longest = RIGHT._replace(protocol="é" * 127 + "x", phase="p" * 255, kind="k" * 255)
    assert unpack_header(memoryview(pack_header(longest) + PAYLOAD), limit=LIMIT).header == longest
    long = "é" * 128
    for header in (
        RIGHT._replace(protocol=long),
        RIGHT._replace(phase=long),
        RIGHT._replace(kind=long),
    ):
        with pytest.raises(MisuseError, match="expected names of at most 255 bytes, found 256"):
            pack_header(header)


def test_the_fixed_part_holds_the_length() -> None:
    assert frame_length(memoryview(FRAME)[:MIN_HEADER_BYTES], limit=len(FRAME)) == len(FRAME)
    with pytest.raises(
        MessageError, match=rf"at most {len(FRAME) - 1} bytes, found one of {len(FRAME)}$"
    ):
        frame_length(memoryview(FRAME)[:MIN_HEADER_BYTES], limit=len(FRAME) - 1)


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        (b"", "at least 32 bytes, found 0: it is truncated"),
        (FRAME[: MIN_HEADER_BYTES - 1], "at least 32 bytes, found 31: it is truncated"),
        (put(0, b"S"), "starts with b'sv', found b'Sv'"),
        (put(1, b"\0"), r"starts with b'sv', found b's\\x00'"),
        (put(2, b"\0"), "frame version 1, found 0"),
        (put(2, b"\2"), "frame version 1, found 2"),
        (put(4, struct.pack("<I", MIN_HEADER_BYTES - 1)), "header of 32 to 812 bytes, found 31"),
        (put(4, struct.pack("<I", 813)), "header of 32 to 812 bytes, found 813"),
        (put(4, b"\xff" * 4), "header of 32 to 812 bytes, found 4294967295"),
        (put(8, b"\xff" * 8), f"at most {LIMIT} bytes, found one of {2**64 - 1 + len(HEAD)}"),
    ],
)
def test_a_wrong_start_is_refused(start: bytes, complaint: str) -> None:
    for read in (frame_length, unpack_header):
        with pytest.raises(MessageError, match=complaint):
            read(memoryview(start), limit=LIMIT)


END_OF_NAMES = MIN_HEADER_BYTES + len("talkcountWord")
WRONG_HEADERS = [
    (put(3, b"\7"), "expected a frame of a known kind, found 7"),
    (put(3, b"\xff"), "expected a frame of a known kind, found 255"),
    (put(MIN_HEADER_BYTES, b"\xff"), "expected names in UTF-8"),
    (put(MIN_HEADER_BYTES, b"\xc0\xaf"), "expected names in UTF-8"),
    # The letter is whole in the header, but cut between two names.
    (put(MIN_HEADER_BYTES + 3, "é".encode()), "expected names in UTF-8"),
    (put(END_OF_NAMES, b"\1"), "ends with zeros after its names"),
    (put(len(HEAD) - 1, b"\1"), "ends with zeros after its names"),
    (put(31, b"\1"), "ends with zeros after its names"),
    # The names are longer than the header, and than the frame.
    (put(28, b"\xff"), "ends with zeros after its names"),
    (put(30, b"\x09"), "ends with zeros after its names"),
    # The length of the header is no multiple of 16.
    (
        put(4, struct.pack("<I", len(HEAD) + 8), HEAD) + bytes(8) + PAYLOAD,
        "ends with zeros after its names",
    ),
    # There are 16 zeros too many.
    (
        put(4, struct.pack("<I", len(HEAD) + 16), HEAD) + bytes(16) + PAYLOAD,
        "ends with zeros after its names",
    ),
]
WRONG_LENGTHS = [
    *[(FRAME[:length], "truncated") for length in range(len(FRAME))],
    (
        FRAME + b"\0",
        f"expected a frame of {len(FRAME)} bytes, found {len(FRAME) + 1}: bytes are left over",
    ),
    (FRAME + FRAME, "bytes are left over"),
    (put(8, struct.pack("<Q", len(PAYLOAD) + 1)), "truncated"),
    (put(8, struct.pack("<Q", len(PAYLOAD) - 1)), "left over"),
]


@pytest.mark.parametrize(("frame", "complaint"), [*WRONG_HEADERS, *WRONG_LENGTHS])
def test_a_wrong_header_is_refused(frame: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        unpack_header(memoryview(frame), limit=LIMIT)


def receive(*frames: bytes, limit: int = LIMIT, kind: type = Word) -> object:
    """Let party 1 receive frames that the curator puts on the wire by hand."""
    wires = thread_wires(2)
    role = Role(wires[1], protocol="talk", kinds=[Word, Other, Raw], timeout=0.05, limit=limit)
    for frame in frames:
        wires[0].send([frame], to=1, timeout=1)
    received: object = None
    with role.phase("count"):
        for _ in frames:
            received = role.receive(kind, source=0)
    return received


def test_the_right_frames_are_received() -> None:
    assert receive(FRAME, pack_header(RIGHT._replace(sequence=1)) + PAYLOAD) == Word(7)


def frame_of(payload: bytes = PAYLOAD, **changes: int | str) -> bytes:
    return pack_header(RIGHT._replace(**({"payload": len(payload)} | changes))) + payload  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        (frame_of(kind="Song"), "expected Word from the curator, found an unknown kind, 'Song'"),
        (
            frame_of(kind="Other"),
            "expected Word of phase count from the curator, found Other of phase count",
        ),
        (
            frame_of(phase="sum"),
            "expected Word of phase count from the curator, found Word of phase sum",
        ),
        (
            frame_of(phase="count/sum"),
            "expected Word of phase count from the curator, found Word of phase count/sum",
        ),
        (frame_of(sender=1), "expected the curator as the sender, found party 1"),
        (frame_of(sender=65535), "expected the curator as the sender, found party 65535"),
        (frame_of(receiver=0), "expected a frame for party 1, found one for the curator"),
        (frame_of(protocol="shout"), "expected talk, found shout from the curator"),
        (
            frame_of(sequence=1),
            "expected message 0 from the curator, found 1: a message was skipped",
        ),
        (frame_of(sequence=2**64 - 1), f"found {2**64 - 1}: a message was skipped"),
        (
            frame_of(PAYLOAD[:-1]),
            "malformed Word: field number: expected 8 more bytes, found 7: .* from the curator",
        ),
        (
            frame_of(PAYLOAD + b"\0"),
            "malformed Word: expected its end, found 1 bytes left over, from the curator",
        ),
        (put(0, b"x"), "expected a frame that starts with b'sv', found b'xv', from the curator"),
        (
            put(2, b"\2"),
            r"expected frame version 1, found 2 \(let all roles run one .*\), from the curator",
        ),
        (
            put(8, struct.pack("<Q", LIMIT)),
            (
                f"expected frames of at most {LIMIT} bytes, found one of {LIMIT + len(HEAD)}, "
                "from the curator"
            ),
        ),
        *[(frame, f"{complaint}.*, from the curator") for frame, complaint in WRONG_HEADERS],
        *[(frame, f"{complaint}.*, from the curator") for frame, complaint in WRONG_LENGTHS],
    ],
)
def test_a_role_refuses_every_other_frame(frame: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint) as caught:
        receive(frame)
    text = str(caught.value)
    assert text.startswith("rank 1 (party 1) in talk, phase count, step 1: ")
    assert "expected " in text
    assert "found " in text


@pytest.mark.parametrize(
    ("sequence", "complaint"),
    [(0, "found 0: a replayed message"), (2, "found 2: a message was skipped")],
)
def test_a_later_frame_must_be_the_next(sequence: int, complaint: str) -> None:
    with pytest.raises(
        MessageError, match=f"expected message 1 from the curator, {complaint}"
    ) as caught:
        receive(FRAME, frame_of(sequence=sequence))
    assert str(caught.value).startswith("rank 1 (party 1) in talk, phase count, step 2: ")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"frame_kind": 1, "sender": 1},
            "expected a control frame from the curator for party 1, found another's",
        ),
        (
            {"frame_kind": 2, "receiver": 0},
            "expected a control frame from the curator for party 1, found another's",
        ),
    ],
)
def test_a_control_frame_of_others_is_refused(changes: dict[str, int], complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint) as caught:
        receive(frame_of(b"", **changes))
    assert str(caught.value).startswith("rank 1 (party 1) in talk, phase count, step 1: ")


LARGE = Raw(bytes(1000))


def large_frame() -> bytes:
    payload = to_bytes(LARGE)
    return frame_of(payload, kind="Raw")


def test_a_frame_as_large_as_the_limit_is_received() -> None:
    assert receive(large_frame(), limit=len(large_frame()), kind=Raw) == LARGE


def test_a_frame_above_the_limit_is_not_received() -> None:
    size = len(large_frame())
    with pytest.raises(
        MessageError, match=f"expected frames of at most {size - 1} bytes, found one of {size}"
    ) as caught:
        receive(large_frame(), limit=size - 1, kind=Raw)
    assert str(caught.value).startswith("rank 1 (party 1) in talk, phase count, step 1: ")


def test_a_message_above_the_limit_is_not_sent() -> None:
    size = len(large_frame())
    wires = thread_wires(2)
    allowed, refused = (
        Role(wires[0], protocol="talk", kinds=[Raw], timeout=1, limit=limit)
        for limit in (size, size - 1)
    )
    with (
        refused.phase("count"),
        pytest.raises(
            MisuseError, match=f"at most {size - 1} bytes, found Raw of {size}"
        ) as caught,
    ):
        refused.send(LARGE, to=1)
    assert str(caught.value).startswith(
        "rank 0 (curator) in talk, phase count, step 1: expected frames of"
    )
    assert wires[1].arrive(timeout=0) is None
    with allowed.phase("count"):
        allowed.send(LARGE, to=1)
    arrived = wires[1].arrive(timeout=0)
    assert arrived is not None
    assert arrived[1] == large_frame()
