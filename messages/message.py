"""`@message`: a class body with annotated fields becomes something that can be said.

    @message
    class NoisyCounts:
        cells: NDArray[np.int64]

A message is frozen, checked when it is made (on both sides: decoding makes it anew), compared by
its bytes, and never shows its values when printed. A class may add a check of its own by a method
`validate`, which raises `ValueError`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final, TypeVar, dataclass_transform

from .buffers import Reader, Writer
from .errors import MessageError, MisuseError
from .fields import Field
from .layout import fields_of, record_for

__all__ = [
    "decode",
    "encode",
    "encoded_size",
    "is_message",
    "message",
    "message_fields",
    "to_bytes",
]

M = TypeVar("M")

_RECORDS: Final[dict[type[Any], Field]] = {}
"""The compiled layout of each message class; filled by the decorator, read by the codec."""


@dataclass_transform(frozen_default=True, eq_default=False)
def message(cls: type[M]) -> type[M]:
    """Make a message of an annotated class."""
    scope = sys._getframe(1).f_locals  # noqa: SLF001 - a message nested in a protocol may name its neighbours
    fields = fields_of(cls, local=dict(scope))
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
            raise MisuseError(f"{cls.__name__}.{name}: {error.what}") from None
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
    made = dataclass(frozen=True, slots=True, repr=False, eq=False)(cls)
    _RECORDS[made] = record_for(made)
    return made


def _repr(self: Any) -> str:
    # Values may be secret, and they are long; the size is neither.
    return f"{type(self).__name__}({encode(self).size} bytes)"


def _eq(self: Any, other: object) -> bool:
    return type(self) is type(other) and to_bytes(self) == to_bytes(other)


def is_message(kind: object) -> bool:
    return isinstance(kind, type) and kind in _RECORDS


def message_fields(kind: type[Any]) -> dict[str, Field]:
    fields: dict[str, Field] = kind.__fields__
    return fields


def encode(said: object) -> Writer:
    """Write a message's fields one after another."""
    record = _RECORDS.get(type(said))
    if record is None:
        raise MisuseError(
            f"expected a message (a class under @message), found {type(said).__name__}"
        )
    out = Writer()
    record.write(said, out)
    return out


def to_bytes(said: object) -> bytes:
    return b"".join(encode(said).parts())


def encoded_size(said: object) -> int:
    """Say how many payload bytes a message takes: the unit of every predicted cost."""
    return encode(said).size


def decode(kind: type[M], payload: memoryview) -> M:
    """Read a message of the kind expected; whatever else the bytes are is a `MessageError`."""
    source = Reader(payload)
    try:
        said: M = _RECORDS[kind].read(source)
    except MessageError as error:
        raise MessageError(f"malformed {kind.__name__}: {error.what}") from None
    except (MisuseError, ValueError) as error:
        raise MessageError(f"malformed {kind.__name__}: {error}") from None
    if source.left:
        raise MessageError(
            f"malformed {kind.__name__}: expected its end, found {source.left} bytes left over"
        )
    return said
