"""From annotations to fields: the annotations of a message class fix its one layout in bytes."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import numpy as np

from .array_field import DTYPES, ArrayField
from .composed_fields import (
    CiphertextField,
    IntegersField,
    ItemsField,
    OptionalField,
    RecordField,
    SequenceField,
)
from .errors import MisuseError
from .fields import (
    AnyField,
    BigIntsField,
    BoolField,
    BytesField,
    FloatField,
    IntField,
    StrField,
    UserBitsField,
)
from .values import CIPHERTEXT, USER_BITS, BigInts, Shape

__all__ = ["field_for", "fields_of", "record_for"]

_SIMPLE: Final[dict[object, AnyField]] = {
    bool: BoolField(),
    int: IntField(),
    float: FloatField(),
    bytes: BytesField(),
    str: StrField(),
    BigInts: BigIntsField(),
}

_ALIAS: Final[type[Any] | tuple[()]] = getattr(typing, "TypeAliasType", ())
"""The class of `type X = ...`, which Python has from 3.12 on."""


def expand(annotation: Any) -> Any:
    """Replace an alias made by `type X = ...` by its value. NDArray is one from numpy 2.5 on."""
    while isinstance(alias := get_origin(annotation) or annotation, _ALIAS):
        arguments = get_args(annotation)
        annotation = alias.__value__[arguments] if arguments else alias.__value__
    return annotation


def field_for(annotation: Any, *, owner: str) -> AnyField:
    """Find the field for an annotation; `owner` names it in the error when there is none."""
    annotation = expand(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if hasattr(annotation, "__fields__"):
        return record_for(annotation)
    build = _BUILDERS.get(get_origin(annotation))
    if build is None and (annotation is list or get_origin(annotation) is list):
        item = getattr((*get_args(annotation), "T")[0], "__name__", "T")
        raise MisuseError(
            f"{owner}: expected a tuple, as a message cannot be altered, found {annotation}: "
            f"say tuple[{item}, ...]"
        )
    if build is None:
        raise MisuseError(
            f"{owner}: expected one of bool, int, float, str, bytes, NDArray, BigInts, tuple, "
            f"T | None, or another message, found {annotation}"
        )
    return build(get_args(annotation), owner)


def record_for(kind: type) -> RecordField:
    """Make the field of a message class."""
    fields: Mapping[str, AnyField] = kind.__fields__  # type: ignore[attr-defined]
    return RecordField(kind, fields, sum(field.min_bytes for field in fields.values()))


def fields_of(kind: type, *, local: dict[str, object]) -> dict[str, AnyField]:
    """Read a class's annotations as fields, in order.

    Args:
        kind: the class.
        local: the names of the scope where the class is written.
    """
    hints = get_type_hints(kind, localns=local, include_extras=True)
    return {
        name: field_for(hint, owner=f"{kind.__qualname__}.{name}") for name, hint in hints.items()
    }


Arguments = tuple[Any, ...]


def _annotated(arguments: Arguments, owner: str) -> AnyField:
    field, notes = field_for(arguments[0], owner=owner), arguments[1:]
    for note in notes:
        if isinstance(note, Shape):
            if not isinstance(field, ArrayField):
                raise MisuseError(f"{owner}: expected a shape at an array, found it elsewhere")
            field = ArrayField(field.dtype, note)
    if CIPHERTEXT in notes:
        return CiphertextField(field, field.min_bytes)
    if USER_BITS in notes:
        if not isinstance(field, IntField):
            raise MisuseError(f"{owner}: expected a number of users' bits as an int, found another")
        return UserBitsField()
    return field


def _array(arguments: Arguments, owner: str) -> AnyField:
    scalar = get_args(arguments[1])[0]
    try:
        dtype = np.dtype(scalar).newbyteorder("<")
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in DTYPES.values():
        names = ", ".join(map(str, DTYPES.values()))
        raise MisuseError(f"{owner}: expected an array of one of {names}, found {scalar}")
    return ArrayField(dtype, None)


def _tuple(arguments: Arguments, owner: str) -> AnyField:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = field_for(arguments[0], owner=owner)
        if item.min_bytes == 0:  # A count of 2**60 of them would fit in 8 bytes.
            raise MisuseError(f"{owner}: items of a sequence must take at least one byte")
        return IntegersField(item) if type(item) is IntField else SequenceField(item)
    items = tuple(field_for(argument, owner=owner) for argument in arguments)
    return ItemsField(items, sum(item.min_bytes for item in items))


def _union(arguments: Arguments, owner: str) -> AnyField:
    alternatives = [argument for argument in arguments if argument is not types.NoneType]
    if len(alternatives) != 1 or len(arguments) != 2:
        raise MisuseError(f"{owner}: expected T | None, found a choice of {len(arguments)} types")
    return OptionalField(field_for(alternatives[0], owner=owner))


_BUILDERS: Final[dict[object, Callable[[Arguments, str], AnyField]]] = {
    Annotated: _annotated,
    np.ndarray: _array,
    tuple: _tuple,
    Union: _union,
    types.UnionType: _union,
}
