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
from .options import Options
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
        if kind_of_function := _waits(getattr(kind, method)):
            raise UsageError(
                f"expected {method} of {reference} as a plain function, found {kind_of_function}"
            )
        try:
            _signature(getattr(kind, method)).bind(None, None)
        except TypeError:
            raise UsageError(
                f"expected {reference} to define {method}(self, {role}), found other arguments"
            ) from None
    _check_defaults(kind, reference)


def _waits(method: object) -> str:
    """Name a kind of function whose body does not run when it is called; empty for others."""
    if inspect.iscoroutinefunction(method):
        return "one with async"
    is_generator = inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method)
    return "one with yield" if is_generator else ""


def _check_types(parameters: type[Options], reference: str) -> None:
    """Refuse `rounds = 3` in a class of parameters: without a type it is no parameter."""
    for base in parameters.__mro__:
        if not issubclass(base, Options) or base is Options:
            continue
        typed = inspect.get_annotations(base)
        for name, value in vars(base).items():
            is_plain = isinstance(value, bool | int | float | str | tuple | list)
            if is_plain and not name.startswith("_") and name not in typed:
                kind = type(value).__name__
                raise UsageError(
                    f"expected a type for {base.__name__}.{name} in {reference}, such as "
                    f"{name}: {kind}, found none, so it is no parameter"
                )


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
    _check_types(kind.Parameters, reference)
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
