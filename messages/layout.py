"""From annotations to fields: what a message class says of itself becomes its one layout in
bytes.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import MisuseError
from .fields import (
    DTYPES,
    ArrayField,
    BigIntsField,
    BoolField,
    BytesField,
    Field,
    FloatField,
    IntField,
    ItemsField,
    OptionalField,
    RecordField,
    SecretField,
    SequenceField,
    StrField,
    TallyField,
)
from .values import CIPHERTEXT, USER_BITS, BigInts, Shape

__all__ = ["field_for", "fields_of", "record_for"]

_SIMPLE: Final[dict[Any, Field]] = {
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


def field_for(annotation: Any, *, owner: str) -> Field:
    """Find the field for an annotation; `owner` names it in the error when there is none."""
    annotation = expand(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if hasattr(annotation, "__fields__"):
        return record_for(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    build = _COMPOSED.get(origin)
    if build is None:
        known = (
            "bool, int, float, str, bytes, NDArray, BigInts, tuple, T | None, or another message"
        )
        raise MisuseError(f"{owner}: expected one of {known}, found {annotation}")
    return build(arguments, owner)


def record_for(kind: type[Any]) -> Field:
    fields: dict[str, Field] = kind.__fields__
    return RecordField(kind, fields, sum(field.least for field in fields.values()))


def fields_of(kind: type[Any], *, local: dict[str, Any]) -> dict[str, Field]:
    """Read a class's annotations, in order, as fields. `local` holds the names of the scope where
    it is written.
    """
    hints = get_type_hints(kind, localns=local, include_extras=True)
    return {
        name: field_for(hint, owner=f"{kind.__qualname__}.{name}") for name, hint in hints.items()
    }


def _annotated(arguments: tuple[Any, ...], owner: str) -> Field:
    field = field_for(arguments[0], owner=owner)
    for note in arguments[1:]:
        if isinstance(note, Shape):
            if not isinstance(field, ArrayField):
                raise MisuseError(f"{owner}: a shape belongs to an array")
            field = ArrayField(field.dtype, note)
    if CIPHERTEXT in arguments[1:]:
        return SecretField(field, field.least)
    if USER_BITS in arguments[1:]:
        if not isinstance(field, IntField):
            raise MisuseError(f"{owner}: a number of users' bits is an int")
        return TallyField()
    return field


def _array(arguments: tuple[Any, ...], owner: str) -> Field:
    scalar = get_args(arguments[1])[0]
    try:
        dtype = np.dtype(scalar).newbyteorder("<")
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in DTYPES.values():
        names = ", ".join(str(known) for known in DTYPES.values())
        raise MisuseError(f"{owner}: expected an array of one of {names}, found {scalar}")
    return ArrayField(dtype, None)


def _tuple(arguments: tuple[Any, ...], owner: str) -> Field:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = field_for(arguments[0], owner=owner)
        if item.least == 0:  # a count of 2**60 of them would fit in 8 bytes
            raise MisuseError(f"{owner}: items of a sequence must take at least one byte")
        return SequenceField(item)
    items = tuple(field_for(argument, owner=owner) for argument in arguments)
    return ItemsField(items, sum(item.least for item in items))


def _union(arguments: tuple[Any, ...], owner: str) -> Field:
    rest = [argument for argument in arguments if argument is not types.NoneType]
    if len(rest) != 1 or len(arguments) != 2:
        raise MisuseError(f"{owner}: expected T | None, found a choice of {len(arguments)} types")
    return OptionalField(field_for(rest[0], owner=owner))


_COMPOSED: Final[dict[Any, Callable[[tuple[Any, ...], str], Field]]] = {
    Annotated: _annotated,
    np.ndarray: _array,
    tuple: _tuple,
    Union: _union,
    types.UnionType: _union,
}
