"""Exact numbers: computed from records and not released. Messages refuse to carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..messages.values import Unsendable

__all__ = ["ExactArray", "mark_exact", "unmark"]

T = TypeVar("T")
Scalar = TypeVar("Scalar", bound=np.generic)

SHAPE_ONLY: Final = frozenset((np.zeros_like, np.ones_like, np.empty_like, np.full_like))
"""Functions whose results have nothing of their argument but its shape."""


class ExactArray(Unsendable):
    """An array from records. Arrays that numpy computes from it are exact, too.

    This catches mistakes; it does not stop an attacker. `np.asarray` takes the mark off, as a
    mechanism does when it adds its noise. pandas does not know the mark, and a single number taken
    out of the array has none. The conformance suite looks for records that leave in other ways.
    """

    refusal: ClassVar[str] = (
        "expected what was released, found exact numbers from records: "
        "pass them through party.release"
    )

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Iterable[type],
        args: Iterable[object],
        kwargs: Mapping[str, object],
    ) -> object:
        result = super().__array_function__(func, types, args, kwargs)
        return np.asarray(result) if func in SHAPE_ONLY else _marked(result)

    def __round__(self, digits: int | None = None) -> npt.NDArray[Any]:
        """Round a single number, as `round` does with numbers of numpy; it stays exact."""
        if self.ndim:
            raise TypeError("expected one number to round, found an array: use numpy.round")
        rounded = np.asarray(np.round(np.asarray(self), digits or 0))
        return mark_exact(rounded if digits is not None else rounded.astype(np.int64))


def mark_exact(numbers: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Mark numbers as exact."""
    return cast("npt.NDArray[Scalar]", numbers.view(ExactArray))


def unmark(answer: T) -> T:
    """Take the mark off a mechanism's answer, if that is an array; pages keep what they have."""
    return cast("T", np.asarray(answer)) if isinstance(answer, ExactArray) else answer


def _marked(result: object) -> object:
    if isinstance(result, tuple | list):
        parts = [_marked(part) for part in result]
        if isinstance(result, list):
            return parts
        return result._make(parts) if hasattr(result, "_make") else tuple(parts)
    return result.view(ExactArray) if type(result) is np.ndarray else result
