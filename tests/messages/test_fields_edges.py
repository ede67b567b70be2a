"""Unusual arrays, buffers and annotations, and messages truncated at every length."""

import struct
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from sottovoce.messages import (
    CIPHERTEXT,
    USER_BITS,
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
class Item:
    text: str
    bits: NDArray[np.bool_]


@message
class Nested:
    items: tuple[Item, ...]
    rows: tuple[tuple[int, float], ...]
    maybe: Item | None
    maybes: tuple[bool | None, ...]
    big: BigInts | None
    real: float


@message
class Flag:
    value: bool


@message
class Real:
    value: float


@message
class Raw:
    data: bytes


@message
class Big:
    big: BigInts


@message
class Number:
    value: int


@message
class Sole:
    value: int


@message
class Bits:
    bits: NDArray[np.bool_]


@message
class Free:
    cells: NDArray[np.int64]


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
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
BITS = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
ITEMS = st.builds(Item, TEXT, BITS)
BIGS = st.integers(1, 40).flatmap(
    lambda width: st.lists(st.integers(0, 256**width - 1), max_size=5).map(
        lambda found: BigInts.of(found, width=width)
    )
)
NESTED = st.builds(
    Nested,
    items=st.lists(ITEMS, max_size=3).map(tuple),
    rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats()), max_size=3).map(tuple),
    maybe=st.none() | ITEMS,
    maybes=st.lists(st.none() | st.booleans(), max_size=5).map(tuple),
    big=st.none() | BIGS,
    real=st.floats(),
)


@given(NESTED)
def test_nested_values_have_one_encoding(original: Nested) -> None:
    data = to_bytes(original)
    decoded = decode(Nested, memoryview(data))
    assert to_bytes(decoded) == data
    assert decoded == original
    assert encoded_size(original) == len(data)
    assert decoded.maybes == original.maybes
    assert (decoded.big is None) == (original.big is None)
    assert [item.text for item in decoded.items] == [item.text for item in original.items]


def assert_truncations_are_refused(kind: type, data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(MessageError, match=f"malformed {kind.__name__}: "):
            decode(kind, memoryview(data)[:length])


@given(NESTED)
def test_every_truncation_and_every_addition_is_refused(original: Nested) -> None:
    data = to_bytes(original)
    assert_truncations_are_refused(Nested, data)
    with pytest.raises(MessageError, match="left over"):
        decode(Nested, memoryview(data + b"\0"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_any_layout(dtype: Any) -> None:
    @message
    class Array:
        before: bool
        cells: NDArray[dtype]

    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)

    @given(hnp.arrays(dtype, shapes), st.sampled_from(["<", ">"]), st.booleans(), st.booleans())
    def check(array: NDArray[Any], order: Any, turned: bool, thinned: bool) -> None:
        lying = array.astype(array.dtype.newbyteorder(order))
        lying = lying.T if turned else lying
        lying = lying[::-2] if thinned and lying.ndim else lying
        data = to_bytes(Array(True, lying))
        assert data == to_bytes(
            Array(True, np.ascontiguousarray(lying).reshape(lying.shape).astype(dtype))
        )
        decoded = decode(Array, memoryview(data)).cells
        assert decoded.dtype == np.dtype(dtype).newbyteorder("<")
        assert decoded.shape == lying.shape
        assert decoded.tobytes() == lying.astype(decoded.dtype).tobytes()
        assert not decoded.flags.writeable
        assert not Array(True, lying).cells.flags.writeable
        start = 1 + 2 + 8 * lying.ndim
        assert len(data) == start + -start % 8 + lying.nbytes

    check()


def test_an_array_received_in_writable_memory_cannot_be_written() -> None:
    decoded = decode(Free, memoryview(bytearray(to_bytes(Free(np.arange(3))))))
    with pytest.raises(ValueError, match="read-only"):
        decoded.cells[0] = 1


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


@message
class Layout:
    flag: bool
    real: float
    raw: bytes
    big: BigInts
    many: tuple[int, ...]
    pair: tuple[bool, bool]
    some: int | None
    none: int | None
    point: NDArray[np.int16]


def test_the_layout_of_every_field_to_the_byte() -> None:
    original = Layout(
        True,
        1.5,
        b"ab",
        BigInts.of([1, 256], width=3),
        (-1, 2),
        (False, True),
        5,
        None,
        np.array(-2, np.int16),
    )
    expected = b"".join(
        [
            b"\1",
            struct.pack("<d", 1.5),
            u64(2) + b"ab",
            struct.pack("<IQ", 3, 2) + b"\1\0\0\0\1\0",
            u64(2) + struct.pack("<qq", -1, 2),
            b"\0\1",
            b"\1" + u64(5),
            b"\0",
            bytes([6, 0]),
        ]
    )
    expected += bytes(-len(expected) % 8) + b"\xfe\xff"
    assert to_bytes(original) == expected
    assert encoded_size(original) == len(expected)
    assert_truncations_are_refused(Layout, expected)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Flag(1), "Flag.value: expected a bool, found int"),  # type: ignore[arg-type]
        (lambda: Real(True), "Real.value: expected a float, found bool"),
        (lambda: Real("1.5"), "expected a float, found str"),  # type: ignore[arg-type]
        (lambda: Real(np.bool_(1)), "expected a float, found bool"),  # type: ignore[arg-type]
        (lambda: Number(np.bool_(1)), "expected an int, found bool"),  # type: ignore[arg-type]
        (lambda: Number(np.uint64(2**63)), "one of 64 bits: use BigInts"),  # type: ignore[arg-type]
        (lambda: Number(-(2**63) - 1), "one of 64 bits: use BigInts"),
        (lambda: Raw("text"), "expected bytes, found str"),  # type: ignore[arg-type]
        (lambda: Big([1]), "expected BigInts, found list"),  # type: ignore[arg-type]
        (lambda: BigInts(1 << 32, b""), "expected a width"),
        (lambda: Free(np.zeros((1,) * 9, np.int64)), "expected at most 8 axes, found 9"),
        (lambda: Free(np.zeros(1, np.uint64)), "expected an array of int64, found one of uint64"),
        (lambda: Free(np.zeros(1, object)), "expected an array of int64, found one of object"),
        (lambda: Nested({}, (), None, (), None, 1.0), "Nested.items: expected a tuple, found dict"),  # type: ignore[arg-type]
        (lambda: Nested((1,), (), None, (), None, 1.0), "Nested.items: expected Item, found int"),  # type: ignore[arg-type]
        (lambda: Nested((), ((1,),), None, (), None, 1.0), "Nested.rows: expected a tuple of 2"),  # type: ignore[arg-type]
        (lambda: Nested((), ((1, 2.0, 3),), None, (), None, 1.0), "a tuple of 2"),  # type: ignore[arg-type]
        (lambda: Nested((), (), 5, (), None, 1.0), "Nested.maybe: expected Item, found int"),  # type: ignore[arg-type]
        (lambda: Nested((), (), Flag(True), (), None, 1.0), "expected Item, found Flag"),  # type: ignore[arg-type]
    ],
)
def test_more_wrong_values_are_refused_at_construction(make: Any, complaint: str) -> None:
    with pytest.raises(MisuseError, match=complaint):
        make()


def test_values_that_are_converted() -> None:
    assert Flag(np.bool_(True)).value is True  # type: ignore[arg-type]
    assert type(Real(np.float32(0.5)).value) is float  # type: ignore[arg-type]
    assert type(Real(3).value) is float
    assert Raw(bytearray(b"ab")) == Raw(memoryview(b"ab")) == Raw(b"ab")  # type: ignore[arg-type]
    assert Big(BigInts(2, memoryview(b"ab"))) == Big(BigInts(2, b"ab"))
    same_bytes: object = Sole(1)
    assert Number(1) != same_bytes
    assert to_bytes(Number(1)) == to_bytes(same_bytes)


@pytest.mark.parametrize(
    "annotation", [int | str, int | str | None, set[int], complex, np.ndarray, NDArray[Any], tuple]
)
def test_more_annotations_without_a_layout(annotation: Any) -> None:
    with pytest.raises(MisuseError, match=r"Bad\.field: expected"):

        @message
        class Bad:
            field: annotation


@pytest.mark.parametrize("item", [tuple[()], tuple[tuple[()], tuple[()]]])
def test_items_of_nothing_are_refused(item: Any) -> None:
    with pytest.raises(MisuseError, match="at least one byte"):

        @message
        class Bad:
            field: tuple[item, ...]


@pytest.mark.parametrize("count", [2**62, 2**63, 2**64 - 1])
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (Raw, b"", b""),
        (Big, struct.pack("<I", 2**32 - 1), b""),
        (Nested, b"", bytes(100)),
        (Free, bytes([8, 1]), bytes(6)),
        (Free, bytes([8, 2]) + u64(0), bytes(6)),
        (Free, bytes([8, 3]) + u64(2**63, 2), bytes(6)),
    ],
)
def test_huge_counts_are_refused(kind: type, before: bytes, after: bytes, count: int) -> None:
    with pytest.raises(MessageError, match=r"truncated|no memory holds"):
        decode(kind, memoryview(before + u64(count) + after))


@message
class Sealed:
    open: bytes
    many: tuple[Annotated[BigInts, CIPHERTEXT], ...]
    cells: Annotated[NDArray[np.uint8], Shape(3), CIPHERTEXT]
    maybe: Annotated[bytes, CIPHERTEXT] | None


def test_ciphertext_bytes_are_counted_wherever_they_are() -> None:
    big = BigInts.of([1, 2], width=4)
    written = encode(Sealed(b"open", (big, big), np.zeros(3, np.uint8), b"x"))
    before = 12 + 8 + 2 * 20 + 2 + 8  # bytes before the padding of the array
    assert written.ciphertext == 2 * 20 + (2 + 8 + -before % 8 + 3) + 9
    with pytest.raises(MisuseError, match=r"shape \(3\), found \(4,\)"):
        Sealed(b"", (), np.zeros(4, np.uint8), None)


def test_user_bits_are_added_up() -> None:
    @message
    class Part:
        bits: Annotated[int, USER_BITS]

    @message
    class Parts:
        first: Annotated[int, USER_BITS]
        rest: tuple[Part, ...]

    original = Parts(5, (Part(7), Part(0)))
    assert encode(original).user_bits == 12
    assert decode(Parts, memoryview(to_bytes(original))) == original
    with pytest.raises(MisuseError, match="at least 0, found a negative one"):
        Part(-1)
    with pytest.raises(MessageError, match="at least 0"):
        decode(Part, memoryview(struct.pack("<q", -1)))
    with pytest.raises(MisuseError, match="a number of users' bits as an int"):

        @message
        class Wrong:
            bits: Annotated[float, USER_BITS]


def test_ciphertext_within_ciphertext_is_counted_once() -> None:
    @message
    class Twice:
        field: Annotated[tuple[Annotated[bytes, CIPHERTEXT], ...], CIPHERTEXT]

    written = encode(Twice((b"12345",)))
    assert written.ciphertext == written.size


@pytest.mark.parametrize("value", [np.array([1, 2]), np.array(True), np.array(1.5)])
def test_an_array_for_an_int_is_misuse(value: Any) -> None:
    with pytest.raises(MisuseError, match="expected an int, found ndarray"):
        Number(value)


def test_an_int_beyond_every_float_is_misuse() -> None:
    with pytest.raises(MisuseError, match="expected a float"):
        Real(10**400)


def test_bools_of_any_byte_have_one_encoding() -> None:
    original = Bits(np.array([2, 0], np.uint8).view(np.bool_))
    assert decode(Bits, memoryview(to_bytes(original))) == Bits(np.array([True, False]))


def test_big_integers_are_never_cut() -> None:
    with pytest.raises((MisuseError, TypeError)):
        BigInts.of([1.9], width=2)  # type: ignore[list-item]


def test_a_negative_width_is_misuse() -> None:
    with pytest.raises(MisuseError, match="expected a width"):
        BigInts.of([1], width=-1)


def test_bytes_of_big_integers_are_counted_not_elements() -> None:
    original = Big(BigInts(2, memoryview(bytes(32)).cast("q")))  # 32 bytes in 4 elements
    assert encoded_size(original) == len(to_bytes(original))


def test_big_integers_do_not_change_later() -> None:
    data = bytearray(b"\1\2")
    original = Big(BigInts(1, memoryview(data)))
    before = to_bytes(original)
    data[0] = 9
    assert to_bytes(original) == before
