"""A mutated frame is refused, or it is the one encoding of the message that was read.

Messages are of several classes, with every type of array.
"""

import itertools
import random
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sottovoce.messages import (
    CIPHERTEXT,
    BigInts,
    ConversationError,
    Role,
    Shape,
    encoded_size,
    message,
    to_bytes,
)
from sottovoce.messages.frame import Header, pack_header
from sottovoce.messages.wire import Buffer

FRAMES = 12_000


@message
class Simple:
    flag: bool
    number: int
    real: float
    text: str
    raw: bytes


@message
class Arrays:
    a: NDArray[np.bool_]
    b: NDArray[np.uint8]
    c: NDArray[np.uint16]
    d: NDArray[np.uint32]
    e: NDArray[np.uint64]
    f: NDArray[np.int8]
    g: NDArray[np.int16]
    h: NDArray[np.int32]
    i: NDArray[np.int64]
    j: NDArray[np.float32]
    k: Annotated[NDArray[np.float64], Shape(None, 2)]


@message
class Composed:
    big: Annotated[BigInts, CIPHERTEXT]
    pair: tuple[int, bool]
    many: tuple[Simple, ...]
    deep: tuple[tuple[bool | None, ...], ...]
    maybe: Simple | None
    flags: tuple[bool, ...]

    def validate(self) -> None:
        if self.pair[0] < 0:
            raise ValueError("expected a first number of at least 0, found a smaller one")


KINDS = (Simple, Arrays, Composed)


class OneFrame:
    rank, size = 1, 2

    def __init__(self, frame: bytes) -> None:
        self._frames = [frame]
        self._seconds = itertools.count()

    def clock(self) -> float:
        return float(next(self._seconds))

    def send(
        self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False
    ) -> None: ...

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return (0, memoryview(self._frames.pop())) if self._frames else None

    def abort(self, status: int) -> NoReturn:
        raise AssertionError("nobody aborts here")


def header(kind: str, size: int) -> bytes:
    return pack_header(Header(0, size, 0, 0, 1, "fuzz", "all", kind))


def receive(frame: bytes, kind: type[Any]) -> str:
    """Return the name of the error, or of the message if the whole frame is its one encoding."""
    role = Role(
        OneFrame(frame),
        protocol="fuzz",
        kinds=KINDS,
        timeout=3,
        limit=1 << 16,
    )
    try:
        with role.phase("all"):
            message = role.receive(kind, source=0)
    except ConversationError as error:
        return type(error).__name__
    assert header(kind.__name__, encoded_size(message)) + to_bytes(message) == frame
    return kind.__name__


def simple(size: int) -> Simple:
    return Simple(bool(size % 2), size - 20, size / 7, "ünï" * (size % 4), bytes(size))


def array(dtype: type[Any], size: int) -> NDArray[Any]:
    shape = [(), (size,), (size % 3, 2), (0, size), (2, 1, size % 4)][size % 5]
    return np.ones(shape, dtype)


def example(kind: type[Any], size: int) -> bytes:
    message: object
    if kind is Simple:
        message = simple(size)
    elif kind is Arrays:
        dtypes = (
            np.bool_,
            np.uint8,
            np.uint16,
            np.uint32,
            np.uint64,
            np.int8,
            np.int16,
            np.int32,
            np.int64,
            np.float32,
        )
        arrays: list[Any] = [array(dtype, size + at) for at, dtype in enumerate(dtypes)]
        arrays.append(np.ones((size % 5, 2)))
        message = Arrays(*arrays)
    else:
        message = Composed(
            BigInts.of(range(size % 9), width=1 + size % 4),
            (size, True),
            (simple(size),) * (size % 3),
            ((True, None), (), (False,) * size),
            simple(size) if size % 2 else None,
            (True,) * size,
        )
    return header(kind.__name__, encoded_size(message)) + to_bytes(message)


EDGES = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
]


def mutate(frame: bytes, dice: random.Random) -> bytes:
    data = bytearray(frame)
    payload_at = int.from_bytes(frame[4:8], "little")
    change = dice.randrange(9)
    if change == 8:
        return dice.randbytes(dice.randrange(600))
    if change == 7:
        return frame + example(dice.choice(KINDS), dice.randrange(20))
    if change == 6:
        return header(dice.choice(KINDS).__name__, size := dice.randrange(300)) + dice.randbytes(
            size
        )
    # Mostly the header is spared, and its length mended.
    inside = dice.random() < 0.7
    for _ in range(dice.choice((1, 1, 2, 8))):
        at = dice.randrange(min(payload_at, len(data)) if inside else 0, len(data) + 1)
        match change:
            case 0 | 1 if at < len(data):
                data[at] ^= 1 << dice.randrange(8)
            case 2:
                del data[at:]
            case 3:
                data[at:at] = dice.randbytes(dice.randrange(1, 20))
            case 4:
                length = dice.choice((1, 2, 4, 8))
                edge = dice.choice(EDGES) % 256**length
                data[at : at + length] = edge.to_bytes(length, "little")
            case _:
                data[at:at] = data[at : at + dice.randrange(1, 200)]
    if inside:
        data[8:16] = max(len(data) - payload_at, 0).to_bytes(8, "little")
    return bytes(data)


def test_mutated_frames_of_every_class() -> None:
    dice = random.Random(2026)
    ends: Counter[str] = Counter()
    tracemalloc.start()
    try:
        for _ in range(FRAMES):
            kind = dice.choice(KINDS)
            frame = mutate(example(kind, dice.randrange(60)), dice)
            assert len(frame) < 1 << 16
            ends[receive(frame, kind)] += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ends.total() == FRAMES >= 10_000
    assert set(ends) >= {"Simple", "Arrays", "Composed", "MessageError", "TimeoutExpired"}, ends
    assert ends["MessageError"] > FRAMES // 3, ends
    assert peak < 16 << 20


def test_counts_that_take_the_whole_frame_stay_small() -> None:
    """Items of one byte decode to the most objects for their bytes."""
    message = Composed(
        BigInts.of([], width=1), (0, True), (), ((None,) * 30_000,), None, (True,) * 30_000
    )
    frame = header("Composed", encoded_size(message)) + to_bytes(message)
    tracemalloc.start()
    try:
        assert receive(frame, Composed) == "Composed"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
