"""Exact numbers: what was computed from records and not released. Messages refuse to carry them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..messages.values import Unsendable

__all__ = ["Exact", "exact", "released"]

EMPTY: Final = frozenset((np.zeros_like, np.ones_like, np.empty_like, np.full_like))
"""Whose results have nothing of their argument but its shape."""


class Exact(Unsendable):
    """An array from records. What numpy computes from it is one again.

    A belt, not a wall: `np.asarray` takes it off, as a mechanism does that adds its noise, pandas
    does not know it, and a number taken out of it is a number. That no record is said in another
    way is what the conformance suite looks for.
    """

    refusal: ClassVar[str] = (
        "expected what was released, found exact numbers from records: pass them through party.release"
    )

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        made = super().__array_function__(func, types, args, kwargs)
        return np.asarray(made) if func in EMPTY else _marked(made)


def exact(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Mark numbers as exact."""
    return numbers.view(Exact)


def released(answer: Any) -> Any:
    """Take the mark off what a mechanism answered, if that is an array; pages keep what they
    have.
    """
    return np.asarray(answer) if isinstance(answer, Exact) else answer


def _marked(made: Any) -> Any:
    if isinstance(made, tuple | list):
        parts = [_marked(part) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    return exact(made) if type(made) is np.ndarray else made
