"""Messages as a curator could send them that asks for something else.

A curator that follows the protocol may never send `exact=True`, and then no replay of its messages
shows what a part answers to that. So replays alter flags, numbers and texts in messages of the
author's own kinds, and in what these hold: records and tuples. An absent field is filled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar

from .instance import is_built_in

__all__ = ["Alteration", "alterations", "altered", "telling_alterations"]

M = TypeVar("M")

NUMBERS: Final = (0, 1, 2, 10_000)
MAX_TEXTS: Final = 12
"""Texts that are tried."""


class Alteration(NamedTuple):
    """What stands in all fields of a type; `None` leaves them as they are."""

    flag: bool | None = None
    number: int | None = None
    text: str | None = None


def alterations(constants: Collection[str | float]) -> Iterator[Alteration]:
    """List what is tried: both flags, a few numbers, and texts that the part's program names."""
    yield Alteration(flag=True)
    yield Alteration(flag=False)
    texts = [constant for constant in constants if isinstance(constant, str)]
    for number in NUMBERS:
        yield Alteration(number=number)
    for text in texts[:MAX_TEXTS]:
        yield Alteration(text=text)


def telling_alterations(
    messages: Collection[object], constants: Collection[str | float]
) -> list[Alteration]:
    """List what is tried, without what would alter none of these messages."""
    return [
        alteration
        for alteration in alterations(constants)
        if any(altered(message, alteration) is not message for message in messages)
    ]


def altered(message: M, alteration: Alteration) -> M:
    """Alter the fields of a message of an author's own kind, but for those that cannot be."""
    if is_built_in(type(message)):
        return message
    for field in fields(message):  # type: ignore[arg-type]
        value = getattr(message, field.name)
        for other in _others(value, alteration):
            # One by one, as a field's type or an author's `validate` may refuse some of them, with
            # any error.
            with contextlib.suppress(Exception):
                message = replace(message, **{field.name: other})  # type: ignore[type-var]
                break
    return message


def _others(value: Any, alteration: Alteration) -> Iterator[Any]:
    """List what may stand in a value's place."""
    if isinstance(value, bool):
        others: list[Any] = [alteration.flag]
    elif isinstance(value, int | float):
        others = [alteration.number]
    elif isinstance(value, str):
        others = [alteration.text]
    elif value is None:
        others = [*alteration]
    elif isinstance(value, tuple):
        parts = [next(_others(part, alteration), part) for part in value]
        others = [tuple(parts or [other for other in alteration if other is not None])]
    elif is_dataclass(value) and not isinstance(value, type):
        others = [altered(value, alteration)]
    else:
        others = []
    yield from (other for other in others if other is not None)
