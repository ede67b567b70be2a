"""Checks of what an author declares in a protocol's class, before anything is run."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Final, get_args
from weakref import WeakSet

import msgspec

from ..messages import Private, UsageError
from ..messages.message import is_message
from ..privacy import Neighbours
from .protocol import AnyProtocol

__all__ = ["check_definition"]

_RIGHT: Final[WeakSet[type[Any]]] = WeakSet()
"""Classes of parameters whose defaults were checked; looking up their types takes milliseconds."""
_signature: Final = functools.lru_cache(maxsize=100)(inspect.signature)
"""The signature of a method, of which a rehearsal asks a thousand times."""


def check_definition(kind: type[AnyProtocol], reference: str) -> None:
    """Refuse a class that lacks something, or says it in a way that would fail later.

    Raises:
        UsageError: the text names the class and what it must say.
    """
    missing = sorted(kind.__abstractmethods__)
    missing += [name for name in ("name", "neighbours") if not hasattr(kind, name)]
    if missing:
        raise UsageError(f"expected {reference} to define {', '.join(missing)}")
    if kind.neighbours not in (relations := get_args(Neighbours)):
        raise UsageError(
            f"expected neighbours of {reference} as one of {', '.join(relations)}, "
            f"found {kind.neighbours!r}"
        )
    _check_uses(kind, reference)
    for method, role in (("party", "me"), ("curator", "desk")):
        try:
            _signature(getattr(kind, method)).bind(None, None)
        except TypeError:
            raise UsageError(
                f"expected {reference} to define {method}(self, {role}), found other arguments"
            ) from None
    _check_defaults(kind, reference)


def _check_uses(kind: type[AnyProtocol], reference: str) -> None:
    """Every class in `uses` declares the messages of a sub-protocol."""
    uses: object = kind.uses
    if not isinstance(uses, tuple | list) or not all(isinstance(part, type) for part in uses):
        raise UsageError(
            f"expected classes in a tuple as uses of {reference}, such as uses = (SecureSums,), "
            f"found {type(uses).__name__}"
        )
    for part in uses:
        if not any(is_message(value) for base in part.__mro__ for value in vars(base).values()):
            raise UsageError(
                f"expected classes with messages in uses of {reference}, such as SecureSums, "
                f"found {part.__name__}, which has none"
            )


def _check_defaults(kind: type[AnyProtocol], reference: str) -> None:
    """Every default of a plain type has the type and the bounds that its parameter declares."""
    if kind.Parameters in _RIGHT:
        return
    for parameter in msgspec.structs.fields(kind.Parameters):
        if not isinstance(parameter.default, int | float | str):
            continue
        try:
            msgspec.convert(parameter.default, parameter.type)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"expected a default of {kind.Parameters.__name__}.{parameter.name} in {reference} "
                "that has its type, found ",
                Private(f"{parameter.default!r}: {error}"),
            ) from None
    _RIGHT.add(kind.Parameters)
