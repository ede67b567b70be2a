"""Exact numbers: what was computed from records and not released. Messages refuse to carry them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

__all__ = ["Exact", "exact"]


class Exact(np.ndarray[Any, np.dtype[Any]]):
    """An array from records. What is computed from it by numpy's operators and functions is one again.

    A belt, not a wall: `np.asarray` takes it off, as a mechanism does that adds its noise, and a number taken out of it is
    a number. That no record is said without a release in another way is what the conformance suite checks.
    """

    unsayable: ClassVar[str] = "expected what was released, found exact numbers from records: pass them through party.release"


def exact(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Mark numbers as exact."""
    return numbers.view(Exact)
