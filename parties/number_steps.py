"""Steps: numbers that are multiples of one, such as prices in cents or weights by half a kilogram.

Numbers on a grid are published on it. Counted in steps they are whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["common_step", "edges_in_steps", "numbers_of_steps", "step_of_texts"]

PLAIN_NUMBER: Final = re.compile(r"\s*[-+]?[0-9]+(?:\.([0-9]*))?\s*")
MAX_DIGITS: Final = 6
"""Digits after the point of a step that is looked for."""
MIN_VALUES: Final = 20
"""Fewest different numbers from which a step follows: all are even by chance once in a million."""
NEAR: Final = 1e-6
"""An edge so few steps from a multiple stands for it, as 0.3 / 0.1 is a little below 3."""
MAX_WHOLE: Final = 2.0**53


def step_of_texts(texts: Iterable[str]) -> float | None:
    """Give the power of ten of which numbers are multiples, by their digits after the point.

    >>> step_of_texts(["1.5", "20"]), step_of_texts(["1", "-2.250"]), step_of_texts(["3"])
    (0.1, 0.01, 1.0)
    >>> step_of_texts(["1e-3"]), step_of_texts(["0.1234567"])
    (None, None)
    """
    most = 0
    for text in texts:
        if (number := PLAIN_NUMBER.fullmatch(text)) is None:
            return None
        most = max(most, len((number[1] or "").rstrip("0")))
        if most > MAX_DIGITS:
            return None
    return float(Decimal(1).scaleb(-most))


def common_step(values: npt.NDArray[np.float64]) -> float | None:
    """Find the largest number of which all are multiples, or none.

    >>> common_step(np.arange(40) / 20), common_step(np.arange(40) * 15.0)
    (0.05, 15.0)
    >>> common_step(np.arange(40) / 7), common_step(np.array([1.5, 2.5]))
    (None, None)
    """
    with np.errstate(over="ignore"):
        units = values * 10.0**MAX_DIGITS
    whole = np.round(units)
    if len(values) < MIN_VALUES or not (np.abs(whole) < MAX_WHOLE).all():
        return None
    # A number is read to 16 digits, of which its multiple of a millionth keeps 15.
    if not np.allclose(units, whole, rtol=1e-14, atol=1e-7):
        return None
    step = int(np.gcd.reduce(whole.astype(np.int64)))
    return float(Decimal(step).scaleb(-MAX_DIGITS)) if step else None


def edges_in_steps(edges: Sequence[float], step: float) -> tuple[float, ...]:
    """Count edges in steps; one that is a multiple of the step is a whole number.

    Rounding may put an edge a little below a multiple, or above it. It then counts as half a step
    below or above, so that the multiple stays on its side of the edge.

    >>> edges_in_steps([0.1, 0.3, 0.45, 0.8999999999999999], 0.1)
    (1.0, 3.0, 4.5, 8.5)
    """
    ends = np.asarray(edges, np.float64)
    counts = ends / step
    whole = np.round(counts)
    if np.abs(whole).max() > MAX_WHOLE:
        return tuple(counts.tolist())
    is_near = np.abs(counts - whole) <= np.maximum(NEAR, 4 * np.spacing(np.abs(counts)))
    side = np.sign(ends - numbers_of_steps(whole.astype(np.int64), step)) / 2
    return tuple(np.where(is_near, whole + side, counts).tolist())


def numbers_of_steps(counts: npt.NDArray[np.int64], step: float) -> npt.NDArray[np.float64]:
    """Multiply by the step, and round to its digits, so that 3 times 0.1 is 0.3.

    >>> numbers_of_steps(np.array([3, 7]), 0.1).tolist()
    [0.3, 0.7]
    """
    exponent = Decimal(str(step)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    return np.asarray(np.round(counts * step, digits))
