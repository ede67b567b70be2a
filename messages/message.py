"""`@message`: a class body with annotated fields becomes a message.

    @message
    class NoisyCounts:
        cells: NDArray[np.int64]

A message is frozen. It is checked when it is made, on both sides, since decoding makes it anew.
Messages are compared by their bytes, and none shows its values when printed. A class may add a
check of its own by a method `validate`, which raises `ValueError`.

All parties receive the same from the curator, and secure sums fail where they did not. A message
that may differ from party to party says so:

    @personal
    @message
    class Turn:
        place: int
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final, TypeVar, dataclass_transform

from .buffers import Reader, Writer
from .composed_fields import CiphertextField, RecordField, parts_of
from .errors import MessageError, MisuseError, Private
from .fields import AnyField, BigIntsField
from .layout import fields_of, record_for

__all__ = [
    "decode",
    "encode",
    "encoded_size",
    "has_encrypted_numbers",
    "is_message",
    "message",
    "is_personal",
    "message_fields",
    "personal",
    "to_bytes",
]

M = TypeVar("M")

_RECORDS: Final[dict[type, RecordField]] = {}
"""Compiled layout of each message class; filled by the decorator, read by the codec."""


_PERSONAL: Final[set[type]] = set()
"""Message classes that the curator may send to each party with other content."""


def personal(cls: type[M]) -> type[M]:
    """Declare that the curator may tell each party something else in this message.

    Parties do not compare what they learn from it. So it must not decide what they add to a secure
    sum, or with how much noise.
    """
    if cls not in _RECORDS:
        raise MisuseError(
            f"expected @personal above @message, found {cls.__name__}, which is no message"
        )
    _PERSONAL.add(cls)
    return cls


def is_personal(kind: type) -> bool:
    """Tell whether parties may receive different contents in this message."""
    return kind in _PERSONAL


@dataclass_transform(frozen_default=True, eq_default=False)
def message(cls: type[M]) -> type[M]:
    """Make a message of an annotated class."""
    # A message nested in a protocol may name its neighbours.
    scope = sys._getframe(1).f_locals  # noqa: SLF001
    fields = fields_of(cls, local=dict(scope))
    for name, value in vars(cls).items():
        is_plain = isinstance(value, bool | int | float | str | bytes | tuple | list)
        if is_plain and not name.startswith("_") and name not in fields:
            raise MisuseError(
                f"expected a type for {cls.__name__}.{name}, such as {name}: "
                f"{type(value).__name__}, found none, so it is no field of the message"
            )
    validate = getattr(cls, "validate", None)

    def check(self: Any) -> None:
        name = ""
        try:
            for name, field in fields.items():
                value = getattr(self, name)
                held = field.check(value)
                if held is not value:
                    object.__setattr__(self, name, held)
        except MisuseError as error:
            raise MisuseError(f"{cls.__name__}.{name}: ", *error.parts) from None
        if validate is not None:
            validate(self)

    namespace = {
        "__fields__": fields,
        "__post_init__": check,
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": None,
    }
    for name, value in namespace.items():
        setattr(cls, name, value)
    message_class = dataclass(frozen=True, slots=True, repr=False, eq=False)(cls)
    _RECORDS[message_class] = record_for(message_class)
    return message_class


def _repr(self: object) -> str:
    # Values may be secret, and they are long. The size is neither.
    return f"{type(self).__name__}({encoded_size(self)} bytes)"


def _eq(self: object, other: object) -> bool:
    return type(self) is type(other) and to_bytes(self) == to_bytes(other)


def is_message(kind: object) -> bool:
    """Tell whether this is a message class."""
    return isinstance(kind, type) and kind in _RECORDS


def message_fields(kind: type) -> dict[str, AnyField]:
    """Return a message class's fields by name, in order."""
    return dict(_RECORDS[kind].fields)


def has_encrypted_numbers(kind: type) -> bool:
    """Tell whether a message has big integers that are marked as ciphertexts, such as Paillier's.

    Masked cells and sealed bytes may be marked, too, but are no numbers that could be added up.
    """

    def is_encrypted(field: AnyField, *, marked: bool) -> bool:
        marked = marked or isinstance(field, CiphertextField)
        if isinstance(field, BigIntsField):
            return marked
        return any(is_encrypted(part, marked=marked) for part in parts_of(field))

    return is_encrypted(_RECORDS[kind], marked=False)


def encode(message: object) -> Writer:
    """Write a message's fields one after another."""
    record = _RECORDS.get(type(message))
    if record is None:
        raise MisuseError(
            f"expected a message (a class under @message), found {type(message).__name__}"
        )
    writer = Writer()
    record.write(message, writer)
    return writer


def to_bytes(message: object) -> bytes:
    """Return a message's payload."""
    return b"".join(encode(message).parts())


def encoded_size(message: object) -> int:
    """Count a message's payload bytes, the unit of every predicted cost."""
    return encode(message).size


def decode(kind: type[M], payload: memoryview) -> M:
    """Read a message of this kind; bytes that are no such message are a `MessageError`."""
    reader = Reader(payload)
    try:
        decoded: Any = _RECORDS[kind].read(reader)
    except MessageError as error:
        raise MessageError(f"malformed {kind.__name__}: ", *error.parts) from None
    except (MisuseError, ValueError) as error:
        raise MessageError(f"malformed {kind.__name__}: ", Private(error)) from None
    if reader.left:
        raise MessageError(
            f"malformed {kind.__name__}: expected its end, found ",
            Private(reader.left),
            " bytes left over",
        )
    message: M = decoded
    return message
