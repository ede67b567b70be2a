"""No bytes crash a role, hang it, or make it allocate without bound."""

import itertools
import random
import tracemalloc
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sottovoce.messages import BigInts, ConversationError, Role, encoded_size, message, to_bytes
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.wire import Buffer

FRAMES = 12_000
BOUNDARIES = [
    b"\0",
    b"\1",
    b"\xff",
    bytes(8),
    b"\xff" * 8,
    b"\xff" * 7 + b"\x7f",
    (1 << 31).to_bytes(8, "little"),
]


@message
class Part:
    text: str
    raw: bytes


@message
class Rich:
    flag: bool
    number: int
    real: float
    text: str
    cells: NDArray[np.int32]
    bits: NDArray[np.bool_]
    big: BigInts
    parts: tuple[Part, ...]
    pair: tuple[int, bool]
    maybe: Part | None


class OneFrame:
    """A wire on which one frame has arrived, and no other ever will."""

    rank = 0
    size = 3

    def __init__(self, frame: bytes) -> None:
        self._frames = [frame]
        self._seconds = itertools.count()

    def clock(self) -> float:
        return float(next(self._seconds))

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        """Drop the frame, which is a probe that was passed on."""

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return (1, memoryview(self._frames.pop())) if self._frames else None

    def abort(self, status: int) -> NoReturn:
        raise SystemExit(status)


def is_accepted(frame: bytes) -> bool:
    """Tell whether a frame is accepted as a message; errors other than our own get out."""
    role = Role(
        OneFrame(frame),
        protocol="fuzz",
        kinds=[Rich, Part],
        timeout=5,
        limit=1 << 20,
    )
    try:
        with role.phase("all"):
            message = role.receive(Rich, source=1)
    except ConversationError as error:
        assert "rank 0 (curator) in fuzz, phase all, step 1" in str(error)
        return False
    again = to_bytes(message)
    assert frame.endswith(again), "two encodings of one value"
    return True


def example(randomness: random.Random) -> bytes:
    size = randomness.randrange(40)
    part = Part("näme" * (size % 3), bytes(size))
    message = Rich(
        bool(size % 2),
        randomness.getrandbits(62),
        randomness.random(),
        "text" * (size % 5),
        np.arange(size, dtype=np.int32),
        np.ones((size % 4, 2), np.bool_),
        BigInts.of(range(size % 7), width=3),
        (part,) * (size % 4),
        (size, True),
        part if size % 2 else None,
    )
    return pack_header(Header(0, encoded_size(message), 0, 1, 0, "fuzz", "all", "Rich")) + to_bytes(
        message
    )


def mutated(frame: bytes, randomness: random.Random) -> bytes:
    data = bytearray(frame)
    for _ in range(randomness.choice((1, 1, 1, 2, 5, 20))):
        at = randomness.randrange(len(data) + 1)
        match randomness.randrange(8):
            case 0 | 1 if at < len(data):
                data[at] ^= 1 << randomness.randrange(8)
            case 2:
                del data[at:]
            case 3:
                data[at:at] = randomness.randbytes(randomness.randrange(1, 20))
            case 4:
                boundary = randomness.choice(BOUNDARIES)
                data[at : at + len(boundary)] = boundary
            case 5:
                other = randomness.randrange(len(data) + 1)
                data[at:at] = data[min(at, other) : max(at, other)][:200]
            case 6:
                del data[at : at + randomness.randrange(1, 20)]
            case _:
                data += randomness.randbytes(randomness.randrange(1, 40))
        if not data:
            break
    if len(data) > 64 and randomness.random() < 0.5:
        # The length is mended, so that the damage is in the payload.
        header = int.from_bytes(data[4:8], "little")
        data[8:16] = max(len(data) - header, 0).to_bytes(8, "little")
    return bytes(data)


def test_mutated_frames() -> None:
    randomness = random.Random(20)
    tried = accepted = 0
    tracemalloc.start()
    try:
        for _ in range(FRAMES):
            frame = mutated(example(randomness), randomness)
            accepted += is_accepted(frame)
            tried += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tried >= 10_000
    assert 100 < accepted < tried // 2, "the mutations are too mild or too wild to prove anything"
    assert peak < 16 << 20


def test_valid_frames_are_accepted() -> None:
    randomness = random.Random(21)
    assert all(is_accepted(example(randomness)) for _ in range(500))


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    assert not is_accepted(data)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
def test_any_payload(data: bytes) -> None:
    is_accepted(pack_header(Header(0, len(data), 0, 1, 0, "fuzz", "all", "Rich")) + data)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([1, 2, 3, 4]), st.binary(max_size=100), st.integers(0, 2**64 - 1))
def test_any_control_frame(frame_kind: int, data: bytes, sequence: int) -> None:
    assert not is_accepted(
        pack_header(Header(frame_kind, len(data), sequence, 1, 0, "fuzz", "", "")) + data
    )
