"""Every value of a field has one encoding, and all other bytes are refused."""

from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sottovoce.messages import (
    CIPHERTEXT,
    BigInts,
    MessageError,
    MisuseError,
    Shape,
    decode,
    encoded_size,
    message,
    to_bytes,
)
from sottovoce.messages.message import encode


@message
class Inner:
    number: int
    text: str


@message
class Everything:
    flag: bool
    number: int
    real: float
    text: str
    raw: bytes
    counts: NDArray[np.int64]
    bits: NDArray[np.bool_]
    big: BigInts
    pair: tuple[int, str]
    many: tuple[Inner, ...]
    maybe: float | None
    inner: Inner


@message
class Fixed:
    cells: Annotated[NDArray[np.uint16], Shape(2, None)]


@message
class Secret:
    public: int
    sealed: Annotated[bytes, CIPHERTEXT]


@message
class Positive:
    number: int

    def validate(self) -> None:
        if self.number < 1:
            raise ValueError(f"expected a positive number, found {self.number}")


INNERS = st.builds(
    Inner, st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"]))
)
EVERYTHING = st.builds(
    Everything,
    flag=st.booleans(),
    number=st.integers(-(2**63), 2**63 - 1),
    real=st.floats(),
    text=st.text(st.characters(exclude_categories=["Cs"])),
    raw=st.binary(),
    counts=st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda items: np.array(items, np.int64)),
    bits=st.lists(st.booleans()).map(lambda items: np.array(items, np.bool_).reshape(-1, 1)),
    big=st.lists(st.integers(0, 2**80 - 1)).map(lambda items: BigInts.of(items, width=10)),
    pair=st.tuples(st.integers(-5, 5), st.just("x")),
    many=st.lists(INNERS, max_size=4).map(tuple),
    maybe=st.none() | st.floats(),
    inner=INNERS,
)


@given(EVERYTHING)
def test_a_message_has_one_encoding(original: Everything) -> None:
    data = to_bytes(original)
    decoded = decode(Everything, memoryview(data))
    assert decoded == original
    assert to_bytes(decoded) == data
    assert encoded_size(original) == len(data)
    assert np.array_equal(decoded.counts, original.counts)
    assert list(decoded.big) == list(original.big)


def test_the_layout_to_the_byte() -> None:
    assert to_bytes(Inner(-2, "né")) == b"\xfe" + b"\xff" * 7 + b"\x03" + b"\0" * 7 + "né".encode()
    cells = np.array([[1, 2, 3], [4, 5, 6]], np.uint16)
    expected = (
        bytes([2, 2])
        + (2).to_bytes(8, "little")
        + (3).to_bytes(8, "little")
        + bytes(6)
        + cells.tobytes()
    )
    assert to_bytes(Fixed(cells)) == expected


DTYPES = [
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
    np.float64,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 4)])
def test_arrays_of_every_type_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    @message
    class Array:
        cells: NDArray[dtype]

    array = np.ones(shape, dtype)
    decoded = decode(Array, memoryview(to_bytes(Array(array))))
    assert decoded.cells.dtype == dtype
    assert decoded.cells.shape == shape
    assert np.array_equal(decoded.cells, array)


def test_arrays_may_have_any_memory_layout() -> None:
    cells = np.arange(24, dtype=">u2").reshape(12, 2).T[:, ::2]
    assert np.array_equal(decode(Fixed, memoryview(to_bytes(Fixed(cells)))).cells, cells)


def test_arrays_are_views_and_cannot_be_written() -> None:
    data = to_bytes(Fixed(np.ones((2, 5000), np.uint16)))
    decoded = decode(Fixed, memoryview(data))
    assert np.shares_memory(decoded.cells, np.frombuffer(data, np.uint8))
    assert not decoded.cells.flags.writeable
    mine = np.ones((2, 3), np.uint16)
    assert not Fixed(mine).cells.flags.writeable
    assert mine.flags.writeable
    large = np.ones((2, 5000), np.uint16)
    assert any(
        isinstance(part, memoryview) and np.shares_memory(np.frombuffer(part, np.uint8), large)
        for part in encode(Fixed(large)).parts()
    )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Inner("1", "x"), "Inner.number: expected an int, found str"),  # type: ignore[arg-type]
        (lambda: Inner(True, "x"), "expected an int, found bool"),
        (lambda: Inner(1.0, "x"), "expected an int, found float"),  # type: ignore[arg-type]
        (lambda: Inner(2**63, "x"), "64 bits, found one of 64 bits: use BigInts"),
        (lambda: Inner(1, b"x"), "Inner.text: expected a str, found bytes"),  # type: ignore[arg-type]
        (lambda: Inner(1, "\ud800"), "lone surrogate"),
        (lambda: Fixed([[1], [2]]), "expected an array of uint16, found list"),  # type: ignore[arg-type]
        (
            lambda: Fixed(np.ones((2, 1), np.int16)),
            "expected an array of uint16, found one of int16",
        ),
        (lambda: Fixed(np.ones((3, 1), np.uint16)), r"shape \(2, any\), found \(3, 1\)"),
        (lambda: Fixed(np.ones(2, np.uint16)), r"shape \(2, any\), found \(2,\)"),
        (lambda: Secret(1, "text"), "expected bytes, found str"),  # type: ignore[arg-type]
        (lambda: BigInts.of([256], width=1), "found one outside"),
        (lambda: BigInts.of([-1], width=1), "found one outside"),
        (lambda: BigInts(0, b""), "expected a width"),
        (lambda: BigInts(4, b"12345"), "multiple of 4 bytes, found 5"),
        (lambda: encode(object()), "expected a message"),
    ],
)
def test_wrong_values_are_refused_at_construction(make: Any, complaint: str) -> None:
    with pytest.raises(MisuseError, match=complaint):
        make()


def test_numpy_integers_are_integers() -> None:
    assert Inner(np.int64(7), "x") == Inner(7, "x")  # type: ignore[arg-type]


def test_a_list_is_refused_with_the_tuple_to_say() -> None:
    complaint = r"Bad\.names: expected a tuple.*found list\[str\]: say tuple\[str, \.\.\.\]"
    with pytest.raises(MisuseError, match=complaint):

        @message
        class Bad:
            names: list[str]


def test_annotations_without_a_layout_are_refused() -> None:
    with pytest.raises(MisuseError, match=r"Bad\.field: expected one of bool, int"):

        @message
        class Bad:
            field: dict[str, int]

    with pytest.raises(MisuseError, match="at least one byte"):

        @message
        class Nothing:
            pass

        @message
        class Sequence:
            items: tuple[Nothing, ...]

    with pytest.raises(MisuseError, match="expected a shape at an array"):

        @message
        class Shaped:
            number: Annotated[int, Shape(3)]

    with pytest.raises(MisuseError, match="expected an array of one of"):

        @message
        class Objects:
            items: NDArray[np.complex128]


def test_validate_is_called_on_both_sides() -> None:
    with pytest.raises(ValueError, match="found 0"):
        Positive(0)
    with pytest.raises(
        MessageError, match="malformed Positive: expected a positive number, found 0"
    ):
        decode(Positive, memoryview(bytes(8)))


def test_messages_are_frozen_and_show_no_values() -> None:
    original = Inner(123456, "secret")
    with pytest.raises(AttributeError):
        original.number = 2  # type: ignore[misc]
    assert repr(original) == "Inner(22 bytes)"
    assert "secret" not in repr(BigInts.of([123456], width=8))
    assert encode(Secret(1, b"12345")).ciphertext == 13


U64 = (2**64 - 1).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("kind", "data", "complaint"),
    [
        (
            Inner,
            bytes(8) + U64,
            (
                "field text: expected 18446744073709551615 more bytes, found 0: "
                "the message is truncated"
            ),
        ),
        (Inner, bytes(16) + b"x", "expected its end, found 1 bytes left over"),
        (Inner, bytes(8) + b"\1" + bytes(7) + b"\xff", "expected UTF-8"),
        (Fixed, bytes([2]), "truncated"),
        (Fixed, bytes([9, 2]), "expected an array of uint16, found float32"),
        (Fixed, bytes([77, 2]), "unknown type 77"),
        (Fixed, bytes([2, 9]), "expected at most 8 axes, found 9"),
        (Fixed, bytes([2, 1]) + bytes(8), r"expected an array of shape \(2, any\), found \(0,\)"),
        (Fixed, bytes([2, 2, 2]) + bytes(7) + U64, "that no memory holds"),
        (Fixed, bytes([2, 2, 2]) + bytes(15) + b"\1" + bytes(5), "expected zeros as padding"),
        (
            Fixed,
            bytes([2, 2, 2]) + bytes(7) + (2**40).to_bytes(8, "little") + bytes(6),
            "truncated",
        ),
    ],
)
def test_wrong_bytes_are_refused(kind: type, data: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        decode(kind, memoryview(data))


@message
class Odd:
    flag: bool
    maybe: int | None
    many: tuple[Inner, ...]
    big: BigInts
    bits: NDArray[np.bool_]


ODD = to_bytes(Odd(True, 1, (), BigInts.of([1], width=1), np.ones(1, np.bool_)))


@pytest.mark.parametrize(
    ("at", "byte", "complaint"),
    [
        (0, 2, "expected 0 or 1 for a bool, found 2"),
        (1, 2, "expected 0 or 1 before an optional"),
        (17, 255, "field many: expected .* items"),
        (18, 0, "field big: expected a width"),
        (len(ODD) - 1, 2, "every bool of an array"),
    ],
)
def test_one_wrong_byte_is_found(at: int, byte: int, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        decode(Odd, memoryview(ODD[:at] + bytes([byte]) + ODD[at + 1 :]))


def test_every_truncation_is_found() -> None:
    for length in range(len(ODD)):
        with pytest.raises(MessageError, match="truncated"):
            decode(Odd, memoryview(ODD[:length]))
