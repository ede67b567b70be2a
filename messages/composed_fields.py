"""Composed fields: values that are made of other values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .buffers import Reader, Writer
from .errors import MessageError, MisuseError, Private
from .fields import U64, AnyField, Field, kind_of

__all__ = [
    "CiphertextField",
    "IntegersField",
    "ItemsField",
    "OptionalField",
    "RecordField",
    "SequenceField",
    "parts_of",
]

T = TypeVar("T")


def parts_of(field: AnyField) -> tuple[AnyField, ...]:
    """Give the fields of which a field is composed; a simple one has none."""
    match field:
        case OptionalField() | SequenceField() | CiphertextField():
            return (field.item,)
        case ItemsField():
            return field.items
        case RecordField():
            return tuple(field.fields.values())
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class OptionalField(Generic[T]):
    """A value that may be absent."""

    item: Field[T]
    min_bytes: int = 1

    def check(self, value: object) -> T | None:
        return None if value is None else self.item.check(value)

    def write(self, value: T | None, writer: Writer) -> None:
        writer.write(b"\0" if value is None else b"\1")
        if value is not None:
            self.item.write(value, writer)

    def read(self, reader: Reader) -> T | None:
        byte = reader.take(1)[0]
        if byte > 1:
            raise MessageError("expected 0 or 1 before an optional field, found ", Private(byte))
        return self.item.read(reader) if byte else None

    def sample(self) -> T | None:
        return self.item.sample()


@dataclass(frozen=True, slots=True)
class SequenceField(Generic[T]):
    """Any number of values of one kind."""

    item: Field[T]
    min_bytes: int = 8

    def check(self, value: object) -> tuple[T, ...]:
        if not isinstance(value, tuple | list):
            raise MisuseError(f"expected a tuple, found {kind_of(value)}")
        check = self.item.check
        return tuple([check(item) for item in value])

    def write(self, value: tuple[T, ...], writer: Writer) -> None:
        writer.write(U64.pack(len(value)))
        write = self.item.write
        for item in value:
            write(item, writer)

    def read(self, reader: Reader) -> tuple[T, ...]:
        count = reader.u64()
        if count * self.item.min_bytes > reader.left:
            raise MessageError(
                "expected ",
                Private(count),
                " items, found ",
                Private(reader.left),
                " bytes for them: the message is truncated",
            )
        return self._read_items(count, reader)

    def _read_items(self, count: int, reader: Reader) -> tuple[T, ...]:
        read = self.item.read
        return tuple([read(reader) for _ in range(count)])

    def sample(self) -> tuple[T, ...]:
        return (self.item.sample(), self.item.sample())


class IntegersField(SequenceField[int]):
    """Any number of integers; their bytes are those of a sequence, but made and read at once."""

    def check(self, value: object) -> tuple[int, ...]:
        if type(value) is tuple and {*map(type, value)} <= {int} and _fit(value):
            return value
        return super().check(value)

    def write(self, value: tuple[int, ...], writer: Writer) -> None:
        writer.write(struct.pack(f"<Q{len(value)}q", len(value), *value))

    def _read_items(self, count: int, reader: Reader) -> tuple[int, ...]:
        return struct.unpack(f"<{count}q", reader.take(8 * count))


def _fit(value: tuple[int, ...]) -> bool:
    """Tell whether all integers have 64 bits."""
    return not value or (min(value) >= -(1 << 63) and max(value) < 1 << 63)


@dataclass(frozen=True, slots=True)
class ItemsField:
    """A fixed number of values, each of its own kind."""

    items: tuple[AnyField, ...]
    min_bytes: int

    def check(self, value: object) -> tuple[object, ...]:
        if not isinstance(value, tuple | list) or len(value) != len(self.items):
            raise MisuseError(
                f"expected a tuple of {len(self.items)} items, found {kind_of(value)}"
            )
        return tuple([item.check(part) for item, part in zip(self.items, value, strict=True)])

    def write(self, value: tuple[object, ...], writer: Writer) -> None:
        for item, part in zip(self.items, value, strict=True):
            item.write(part, writer)

    def read(self, reader: Reader) -> tuple[object, ...]:
        return tuple([item.read(reader) for item in self.items])

    def sample(self) -> tuple[object, ...]:
        return tuple([item.sample() for item in self.items])


@dataclass(frozen=True, slots=True)
class CiphertextField(Generic[T]):
    """A value whose bytes the ledger counts as ciphertext."""

    item: Field[T]
    min_bytes: int

    def check(self, value: object) -> T:
        return self.item.check(value)

    def write(self, value: T, writer: Writer) -> None:
        size, ciphertext = writer.size, writer.ciphertext
        self.item.write(value, writer)
        # A mark within the item counts nothing twice.
        writer.ciphertext = ciphertext + writer.size - size

    def read(self, reader: Reader) -> T:
        return self.item.read(reader)

    def sample(self) -> T:
        return self.item.sample()


@dataclass(frozen=True, slots=True)
class RecordField:
    """A message: its fields, one after another."""

    kind: type[Any]
    fields: Mapping[str, AnyField]
    min_bytes: int
    writers: tuple[tuple[str, Callable[[object, Writer], None]], ...] = field(init=False)

    def __post_init__(self) -> None:
        writers = tuple((name, item.write) for name, item in self.fields.items())
        object.__setattr__(self, "writers", writers)

    def check(self, value: object) -> object:
        if type(value) is not self.kind:
            raise MisuseError(f"expected {self.kind.__name__}, found {kind_of(value)}")
        return value

    def write(self, value: object, writer: Writer) -> None:
        for name, write in self.writers:
            write(getattr(value, name), writer)

    def read(self, reader: Reader) -> object:
        values: list[object] = []
        try:
            for item in self.fields.values():
                values.append(item.read(reader))  # noqa: PERF401 - the count tells which one failed
        except MessageError as error:
            name = [*self.fields][len(values)]
            raise MessageError(f"field {name}: ", *error.parts) from None
        return self.kind(*values)

    def sample(self) -> object:
        return self.kind(*[item.sample() for item in self.fields.values()])
