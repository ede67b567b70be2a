"""Fields: how one value of a message becomes bytes, exactly one way, and back.

A message's layout follows from its annotations alone, so its size can be predicted to the byte and
every value has one encoding (the bytes are canonical). All integers are little-endian.

    bool                            1 byte, 0 or 1
    int                             8 bytes, signed; larger integers travel as BigInts
    float                           8 bytes, IEEE 754
    str, bytes                      8 bytes length, then UTF-8 or the bytes
    NDArray[np.int64]               1 byte type, 1 byte number of axes, 8 bytes an axis, zeros up to a multiple of 8
                                    within the payload, then the elements in C order
    BigInts                         4 bytes width, 8 bytes count, then every integer in that many bytes
    tuple[T, ...]                   8 bytes count, then the items
    tuple[A, B]                     the items
    T | None                        1 byte, 0 or 1, then the value if 1
    another message                 its fields

`Annotated[NDArray[...], Shape(3, None)]` fixes axes; `Annotated[..., CIPHERTEXT]` makes the ledger
count the field's bytes as ciphertext; `Annotated[int, USER_BITS]` is a number of bits that
simulated users say in the message, which the ledger adds up. Decoding checks each length against
the bytes that are there *before* it allocates, and arrays are views of the received buffer, not
copies.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as attribute
from operator import index
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from .buffers import APART, Reader, Writer
from .errors import MessageError, MisuseError
from .values import BigInts, Shape

__all__ = [
    "DTYPES",
    "Field",
    "ArrayField",
    "BigIntsField",
    "BoolField",
    "BytesField",
    "FloatField",
    "IntField",
    "ItemsField",
    "OptionalField",
    "RecordField",
    "SecretField",
    "SequenceField",
    "StrField",
    "TallyField",
]

MAX_AXES: Final = 8

DTYPES: Final = {
    code: np.dtype(name)
    for code, name in enumerate(
        ["?", "<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f4", "<f8"]
    )
}
_CODES: Final = {dtype: code for code, dtype in DTYPES.items()}
_U64: Final = struct.Struct("<Q")
_I64: Final = struct.Struct("<q")
_F64: Final = struct.Struct("<d")
_BIG: Final = struct.Struct("<IQ")


class Field(Protocol):
    """What a kind of value can do: be checked, written and read."""

    @property
    def least(self) -> int:
        """The fewest bytes that a value can take: bounds how many can be in what was received."""

    def check(self, value: Any) -> Any:
        """Return the value as the message will hold it, or raise `MisuseError`."""

    def write(self, value: Any, out: Writer) -> None: ...

    def read(self, source: Reader) -> Any: ...

    def sample(self) -> Any:
        """Make a value that fits, for the conformance suites."""


def _found(value: object) -> str:
    """Say what something is without saying its value, which may be secret."""
    return type(value).__name__


class BoolField:
    least = 1

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise MisuseError(f"expected a bool, found {_found(value)}")
        return bool(value)

    def write(self, value: bool, out: Writer) -> None:  # noqa: FBT001 - the value itself
        out.write(b"\1" if value else b"\0")

    def read(self, source: Reader) -> bool:
        byte = source.take(1)[0]
        if byte > 1:
            raise MessageError(f"expected 0 or 1 for a bool, found {byte}")
        return byte == 1

    def sample(self) -> bool:
        return True


class IntField:
    least = 8

    def check(self, value: Any) -> int:
        if type(value) is not int:
            found = _found(value)
            try:
                value = None if isinstance(value, bool | np.bool_) else index(value)
            except TypeError:
                value = None
            if value is None:
                raise MisuseError(f"expected an int, found {found}")
        if not -(1 << 63) <= value < 1 << 63:
            raise MisuseError(
                f"expected an int of 64 bits, found one of {value.bit_length()} bits: use BigInts"
            )
        return int(value)

    def write(self, value: int, out: Writer) -> None:
        out.write(_I64.pack(value))

    def read(self, source: Reader) -> int:
        value: int = _I64.unpack(source.take(8))[0]
        return value

    def sample(self) -> int:
        return -1


class FloatField:
    least = 8

    def check(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, float | int | np.floating):
            raise MisuseError(f"expected a float, found {_found(value)}")
        try:
            return float(value)
        except OverflowError:
            raise MisuseError("expected a float, found an int that no float holds") from None

    def write(self, value: float, out: Writer) -> None:
        out.write(_F64.pack(value))

    def read(self, source: Reader) -> float:
        value: float = _F64.unpack(source.take(8))[0]
        return value

    def sample(self) -> float:
        return 0.5


class BytesField:
    least = 8

    def check(self, value: Any) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise MisuseError(f"expected bytes, found {_found(value)}")
        return bytes(value)

    def write(self, value: bytes, out: Writer) -> None:
        out.write(_U64.pack(len(value)))
        out.write(value)

    def read(self, source: Reader) -> bytes:
        return bytes(source.take(source.u64()))

    def sample(self) -> bytes:
        return b"bytes"


class StrField:
    least = 8

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise MisuseError(f"expected a str, found {_found(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MisuseError("expected text that UTF-8 can hold, found a lone surrogate") from None
        return str(value)

    def write(self, value: str, out: Writer) -> None:
        data = value.encode()
        out.write(_U64.pack(len(data)))
        out.write(data)

    def read(self, source: Reader) -> str:
        try:
            return str(source.take(source.u64()), "utf-8")
        except UnicodeDecodeError as error:
            raise MessageError(
                f"expected UTF-8, found {error.reason} at byte {error.start}"
            ) from None

    def sample(self) -> str:
        return "text"


class BigIntsField:
    least = 12

    def check(self, value: Any) -> BigInts:
        if not isinstance(value, BigInts):
            raise MisuseError(f"expected BigInts, found {_found(value)}")
        return value

    def write(self, value: BigInts, out: Writer) -> None:
        out.write(_BIG.pack(value.width, len(value)))
        out.write(value.data)

    def read(self, source: Reader) -> BigInts:
        width, count = _BIG.unpack(source.take(12))
        if width == 0:
            raise MessageError("expected a width of at least 1 byte for big integers, found 0")
        return BigInts(width, source.take(width * count))

    def sample(self) -> BigInts:
        return BigInts.of([1, 2], width=16)


_HEADS: Final = tuple(struct.Struct(f"<BB{axes}Q") for axes in range(MAX_AXES + 1))
_ZEROS: Final = tuple(bytes(length) for length in range(8))
_AXES: Final = tuple(struct.Struct(f"<{axes}Q") for axes in range(MAX_AXES + 1))


@dataclass(frozen=True, slots=True)
class ArrayField:
    dtype: np.dtype[Any]
    shape: Shape | None
    least: int = 2
    code: int = attribute(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", _CODES[self.dtype])

    def check(self, value: Any) -> npt.NDArray[Any]:
        if not isinstance(value, np.ndarray):
            raise MisuseError(f"expected an array of {self.dtype}, found {_found(value)}")
        if refusal := getattr(value, "unsayable", ""):
            raise MisuseError(refusal)
        if value.dtype != self.dtype and value.dtype.newbyteorder("<") != self.dtype:
            raise MisuseError(f"expected an array of {self.dtype}, found one of {value.dtype}")
        if self.shape is not None and not self.shape.admits(value.shape):
            raise MisuseError(f"expected an array of shape {self.shape}, found {value.shape}")
        if value.ndim > MAX_AXES:
            raise MisuseError(f"expected at most {MAX_AXES} axes, found {value.ndim}")
        if (
            not value.flags.writeable
            and self.code
            and value.dtype == self.dtype
            and type(value) is np.ndarray
        ):
            return value
        held = value.astype(self.dtype, copy=False).view(np.ndarray)
        if self.code == 0:  # a true byte may be any but 0 in memory; on the wire it is 1
            held = (np.ascontiguousarray(held).view(np.uint8) != 0).reshape(value.shape)
        held.flags.writeable = (
            False  # of this view alone: the owner may still write to what is theirs
        )
        return held

    def write(self, value: npt.NDArray[Any], out: Writer) -> None:
        head = _HEADS[value.ndim].pack(self.code, value.ndim, *value.shape)
        head += _ZEROS[-(out.size + len(head)) % 8]
        if value.nbytes < APART:
            out.write(head + value.tobytes())
        else:
            out.write(head)
            out.write(np.ascontiguousarray(value).reshape(-1).data.cast("B"))

    def read(self, source: Reader) -> npt.NDArray[Any]:
        code, axes = source.take(2)
        if code != self.code:
            raise MessageError(
                f"expected an array of {self.dtype}, found {DTYPES.get(code) or f'unknown type {code}'}"
            )
        if axes > MAX_AXES:
            raise MessageError(f"expected at most {MAX_AXES} axes, found {axes}")
        shape = _AXES[axes].unpack(source.take(8 * axes))
        if self.shape is not None and not self.shape.admits(shape):
            raise MessageError(f"expected an array of shape {self.shape}, found {shape}")
        elements, reach = 1, self.dtype.itemsize
        for length in shape:
            elements *= length
            reach *= length or 1
        if reach >= 1 << 62:  # numpy cannot express such a shape even when one axis is empty
            raise MessageError(
                "expected an array that fits in memory, found one that no memory holds"
            )
        source.align()
        data = source.take(elements * self.dtype.itemsize)
        array = np.frombuffer(data, self.dtype)  # read-only, because the reader's buffer is
        if code == 0 and elements and array.view(np.uint8).max() > 1:
            raise MessageError("expected 0 or 1 for every bool of an array, found another byte")
        return array if axes == 1 else array.reshape(shape)

    def sample(self) -> npt.NDArray[Any]:
        return np.ones(
            [2 if axis is None else axis for axis in (self.shape or Shape(None)).axes], self.dtype
        )


@dataclass(frozen=True, slots=True)
class OptionalField:
    item: Field
    least: int = 1

    def check(self, value: Any) -> Any:
        return None if value is None else self.item.check(value)

    def write(self, value: Any, out: Writer) -> None:
        out.write(b"\0" if value is None else b"\1")
        if value is not None:
            self.item.write(value, out)

    def read(self, source: Reader) -> Any:
        byte = source.take(1)[0]
        if byte > 1:
            raise MessageError(f"expected 0 or 1 before an optional field, found {byte}")
        return self.item.read(source) if byte else None

    def sample(self) -> Any:
        return self.item.sample()


@dataclass(frozen=True, slots=True)
class SequenceField:
    item: Field
    least: int = 8

    def check(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise MisuseError(f"expected a tuple, found {_found(value)}")
        return tuple([self.item.check(item) for item in value])

    def write(self, value: tuple[Any, ...], out: Writer) -> None:
        out.write(_U64.pack(len(value)))
        for item in value:
            self.item.write(item, out)

    def read(self, source: Reader) -> tuple[Any, ...]:
        count = source.u64()
        if count * self.item.least > source.left:
            raise MessageError(
                f"expected {count} items, found {source.left} bytes for them: the message is truncated"
            )
        return tuple([self.item.read(source) for _ in range(count)])

    def sample(self) -> Any:
        return (self.item.sample(), self.item.sample())


@dataclass(frozen=True, slots=True)
class ItemsField:
    items: tuple[Field, ...]
    least: int

    def check(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list) or len(value) != len(self.items):
            raise MisuseError(f"expected a tuple of {len(self.items)} items, found {_found(value)}")
        return tuple([field.check(item) for field, item in zip(self.items, value, strict=True)])

    def write(self, value: tuple[Any, ...], out: Writer) -> None:
        for field, item in zip(self.items, value, strict=True):
            field.write(item, out)

    def read(self, source: Reader) -> tuple[Any, ...]:
        return tuple([field.read(source) for field in self.items])

    def sample(self) -> Any:
        return tuple([item.sample() for item in self.items])


@dataclass(frozen=True, slots=True)
class SecretField:
    """Counts what the field writes as ciphertext."""

    item: Field
    least: int

    def check(self, value: Any) -> Any:
        return self.item.check(value)

    def write(self, value: Any, out: Writer) -> None:
        size, ciphertext = out.size, out.ciphertext
        self.item.write(value, out)
        out.ciphertext = ciphertext + out.size - size  # whatever was marked within is within

    def read(self, source: Reader) -> Any:
        return self.item.read(source)

    def sample(self) -> Any:
        return self.item.sample()


class TallyField(IntField):
    """A number of bits that users say in this message: not negative, and added up by the ledger."""

    def check(self, value: Any) -> int:
        checked = super().check(value)
        if checked < 0:
            raise MisuseError("expected a number of bits of at least 0, found a negative one")
        return checked

    def write(self, value: int, out: Writer) -> None:
        super().write(value, out)
        out.user_bits += value

    def sample(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class RecordField:
    """A message inside a message: its fields, one after another."""

    kind: type[Any]
    fields: dict[str, Field]
    least: int
    writers: tuple[tuple[str, Callable[[Any, Writer], None]], ...] = attribute(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "writers", tuple((name, field.write) for name, field in self.fields.items())
        )

    def check(self, value: Any) -> Any:
        if type(value) is not self.kind:
            raise MisuseError(f"expected {self.kind.__name__}, found {_found(value)}")
        return value

    def write(self, value: Any, out: Writer) -> None:
        for name, write in self.writers:
            write(getattr(value, name), out)

    def read(self, source: Reader) -> Any:
        values: list[Any] = []
        try:
            for field in self.fields.values():
                values.append(field.read(source))  # noqa: PERF401 - how many were read says which one failed
        except MessageError as error:
            raise MessageError(f"field {[*self.fields][len(values)]}: {error.what}") from None
        return self.kind(*values)

    def sample(self) -> Any:
        return self.kind(*[field.sample() for field in self.fields.values()])
