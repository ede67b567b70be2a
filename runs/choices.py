"""The words that an option or a parameter takes, for errors that list them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

__all__ = ["choices_of"]


def choices_of(kind: Any) -> list[str]:
    """List the words that a type takes, if it takes nothing else.

    >>> choices_of(Literal["a", "b"] | None)
    ['a', 'b']
    """
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    inner = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
    return [choice for part in inner for choice in choices_of(part)]
