"""Answers of releases: copies of them, and other answers in their place.

An answer is a number, a text, an array, or a composition of these. Whoever plays a part again hands
out copies, as a part may change an array in place. What a part does with another answer shows what
it computes from the answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import singledispatch
from typing import Any, Final, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = ["copy_answer", "other_answers"]

T = TypeVar("T")
Numbers = npt.NDArray[Any]
Change = Callable[[Numbers], Numbers]

FAR: Final = 1000
"""Least factor by which cells of the last of the other answers are larger."""


def copy_answer(answer: T) -> T:
    """Copy an answer; what cannot be copied is returned as it is."""
    try:
        return copy.deepcopy(answer)
    except TypeError:
        return answer


def other_answers(answer: T, *, seed: int) -> Iterator[T]:
    """Change every number and every text of an answer, in three ways.

    The first answer has 1 or 2 more in each cell, so sums and differences of cells change. The
    second has the opposite signs, so comparisons of cells change. In the last each cell has a large
    factor of its own, so thresholds are crossed.

    Raises:
        TypeError: the answer holds something else than numbers and texts.
    """
    generator = np.random.default_rng(seed)

    def drawn(cells: Numbers, *, least: int, below: int) -> Numbers:
        return np.asarray(generator.integers(least, below, cells.shape).astype(cells.dtype))

    changes: list[Change] = [
        lambda cells: cells + drawn(cells, least=1, below=3),
        lambda cells: -cells,
        lambda cells: (
            drawn(cells, least=FAR, below=2 * FAR) * (np.abs(cells) + cells.dtype.type(1))
        ),
    ]
    with np.errstate(all="ignore"):
        for change in changes:
            yield cast("T", changed(answer, change))


@singledispatch
def changed(answer: object, change: Change) -> object:
    """Change all numbers and texts of an answer."""
    if is_dataclass(answer) and not isinstance(answer, type):
        return replace(
            answer,
            **{
                field.name: changed(getattr(answer, field.name), change)
                for field in fields(answer)
                if field.init
            },
        )
    raise TypeError(f"expected numbers and texts, found {type(answer).__name__}")


@changed.register
def _(answer: None, change: Change) -> None:  # noqa: ARG001 - nothing to change
    return None


@changed.register
def _(answer: bool, change: Change) -> bool:  # noqa: ARG001, FBT001 - an answer
    return not answer


@changed.register(int)
@changed.register(float)
def _(answer: float, change: Change) -> float:
    # Integers beyond 64 bits are changed as they are.
    dtype = object if isinstance(answer, int) and abs(answer) >> 48 else type(answer)
    return cast("float", change(np.array([answer], dtype)).tolist()[0])


@changed.register
def _(answer: str, change: Change) -> str:  # noqa: ARG001 - another text is enough
    return f"{answer}?"


@changed.register
def _(answer: bytes, change: Change) -> bytes:  # noqa: ARG001 - another text is enough
    return bytes(octet ^ 1 for octet in answer)


@changed.register
def _(answer: np.ndarray, change: Change) -> object:
    if answer.dtype.kind == "b":
        return ~answer
    if answer.dtype.kind not in "iuf":
        raise TypeError(f"expected an array of numbers, found one of {answer.dtype}")
    return change(answer) if answer.ndim else change(answer.reshape(1)).reshape(())


@changed.register
def _(answer: np.generic, change: Change) -> object:
    return cast("Numbers", changed(np.asarray(answer), change))[()]


@changed.register(list)
@changed.register(tuple)
def _(answer: list[Any] | tuple[Any, ...], change: Change) -> object:
    parts = [changed(part, change) for part in answer]
    if hasattr(answer, "_make"):
        return answer._make(parts)
    return type(answer)(parts)


@changed.register
def _(answer: Mapping, change: Change) -> object:  # type: ignore[type-arg]
    return {key: changed(value, change) for key, value in answer.items()}


@changed.register
def _(answer: msgspec.Struct, change: Change) -> object:
    values = {
        name: changed(getattr(answer, name), change) for name in type(answer).__struct_fields__
    }
    return msgspec.structs.replace(answer, **values)
