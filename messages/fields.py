"""Fields: how one value of a message becomes bytes, in exactly one way, and back.

A message's layout follows from its annotations alone. So its size can be predicted to the byte, and
every value has one encoding. All integers are little-endian.

    bool                  1 byte, 0 or 1
    int                   8 bytes, signed; larger integers travel as BigInts
    float                 8 bytes, IEEE 754
    str, bytes            8 bytes length, then UTF-8 or the bytes
    NDArray[np.int64]     1 byte type, 1 byte number of axes, 8 bytes for each axis, zeros up to a
                          multiple of 8 within the payload, then the elements in C order
    BigInts               4 bytes width, 8 bytes count, then every integer in that many bytes
    tuple[T, ...]         8 bytes count, then the items
    tuple[A, B]           the items
    T | None              1 byte, 0 or 1, then the value if 1
    another message       its fields

`Annotated[NDArray[...], Shape(3, None)]` fixes the axes of an array. `Annotated[..., CIPHERTEXT]`
makes the ledger count the field's bytes as ciphertext. `Annotated[int, USER_BITS]` is a number of
bits that simulated users send in the message, which the ledger adds up.

Decoding compares each length with the bytes that are there *before* it allocates. Arrays are views
of the received buffer, not copies.

This file has the fields of single values. Arrays are in `array_field`, fields made of other fields
in `composed_fields`; `layout` picks the field for an annotation.
"""

from __future__ import annotations

import struct
from operator import index
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np

from .buffers import MIN_SEPARATE_BYTES, Reader, Writer
from .errors import MessageError, MisuseError, Private
from .values import BigInts

__all__ = [
    "U64",
    "AnyField",
    "BigIntsField",
    "BoolField",
    "BytesField",
    "Field",
    "FloatField",
    "IntField",
    "StrField",
    "UserBitsField",
    "kind_of",
]

T = TypeVar("T")

U64: Final = struct.Struct("<Q")
_I64: Final = struct.Struct("<q")
_F64: Final = struct.Struct("<d")
_BIG: Final = struct.Struct("<IQ")


class Field(Protocol[T]):
    """Checks, writes and reads values of one kind."""

    @property
    def min_bytes(self) -> int:
        """The fewest bytes of a value, which bound how many values received bytes can hold."""

    def check(self, value: object) -> T:
        """Return the value as the message will hold it, or raise `MisuseError`."""

    def write(self, value: T, writer: Writer) -> None: ...

    def read(self, reader: Reader) -> T: ...

    def sample(self) -> T:
        """Make a value that fits, for the conformance suites."""


AnyField: TypeAlias = Field[Any]
"""A field of a message. The type of its values follows from an annotation, at run time."""


def kind_of(value: object) -> str:
    """Name the type of a value for an error. The value itself may be secret."""
    return type(value).__name__


class BoolField:
    min_bytes = 1

    def check(self, value: object) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise MisuseError(f"expected a bool, found {kind_of(value)}")
        return bool(value)

    def write(self, value: bool, writer: Writer) -> None:  # noqa: FBT001 - the value itself
        writer.write(b"\1" if value else b"\0")

    def read(self, reader: Reader) -> bool:
        byte = reader.take(1)[0]
        if byte > 1:
            raise MessageError("expected 0 or 1 for a bool, found ", Private(byte))
        return byte == 1

    def sample(self) -> bool:
        return True


class IntField:
    min_bytes = 8

    def check(self, value: object) -> int:
        number = value if type(value) is int else self._as_integer(value)
        if not -(1 << 63) <= number < 1 << 63:
            raise MisuseError(
                "expected an int of 64 bits, found one of ",
                Private(number.bit_length()),
                " bits: use BigInts",
            )
        return number

    def _as_integer(self, value: object) -> int:
        """Take numpy's integers and the like, but no truth values."""
        try:
            if not isinstance(value, bool | np.bool_):
                return int(index(value))  # type: ignore[arg-type]  # refused just below
        except TypeError:
            pass
        raise MisuseError(f"expected an int, found {kind_of(value)}")

    def write(self, value: int, writer: Writer) -> None:
        writer.write(_I64.pack(value))

    def read(self, reader: Reader) -> int:
        value: int = _I64.unpack(reader.take(8))[0]
        return value

    def sample(self) -> int:
        return -1


class UserBitsField(IntField):
    """A number of bits that users send in this message; the ledger adds it up."""

    def check(self, value: object) -> int:
        number = super().check(value)
        if number < 0:
            raise MisuseError("expected a number of bits of at least 0, found a negative one")
        return number

    def write(self, value: int, writer: Writer) -> None:
        super().write(value, writer)
        writer.user_bits += value

    def sample(self) -> int:
        return 1


class FloatField:
    min_bytes = 8

    def check(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, float | int | np.floating):
            raise MisuseError(f"expected a float, found {kind_of(value)}")
        try:
            return float(value)
        except OverflowError:
            raise MisuseError("expected a float, found an int that no float holds") from None

    def write(self, value: float, writer: Writer) -> None:
        writer.write(_F64.pack(value))

    def read(self, reader: Reader) -> float:
        value: float = _F64.unpack(reader.take(8))[0]
        return value

    def sample(self) -> float:
        return 0.5


class BytesField:
    min_bytes = 8

    def check(self, value: object) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise MisuseError(f"expected bytes, found {kind_of(value)}")
        return bytes(value)

    def write(self, value: bytes, writer: Writer) -> None:
        writer.write(U64.pack(len(value)))
        writer.write(value)

    def read(self, reader: Reader) -> bytes:
        return bytes(reader.take(reader.u64()))

    def sample(self) -> bytes:
        return b"bytes"


class StrField:
    min_bytes = 8

    def check(self, value: object) -> str:
        if not isinstance(value, str):
            raise MisuseError(f"expected a str, found {kind_of(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MisuseError("expected text that UTF-8 can hold, found a lone surrogate") from None
        return str(value)

    def write(self, value: str, writer: Writer) -> None:
        data = value.encode()
        if len(data) < MIN_SEPARATE_BYTES:
            writer.write(U64.pack(len(data)) + data)
            return
        writer.write(U64.pack(len(data)))
        writer.write(data)

    def read(self, reader: Reader) -> str:
        try:
            return str(reader.take(reader.u64()), "utf-8")
        except UnicodeDecodeError as error:
            raise MessageError(
                "expected UTF-8, found ", Private(f"{error.reason} at byte {error.start}")
            ) from None

    def sample(self) -> str:
        return "text"


class BigIntsField:
    min_bytes = 12

    def check(self, value: object) -> BigInts:
        if not isinstance(value, BigInts):
            raise MisuseError(f"expected BigInts, found {kind_of(value)}")
        return value

    def write(self, value: BigInts, writer: Writer) -> None:
        writer.write(_BIG.pack(value.width, len(value)))
        writer.write(value.data)

    def read(self, reader: Reader) -> BigInts:
        width, count = _BIG.unpack(reader.take(12))
        if width == 0:
            raise MessageError("expected a width of at least 1 byte for big integers, found 0")
        return BigInts(width, reader.take(width * count))

    def sample(self) -> BigInts:
        return BigInts.of([1, 2], width=16)
