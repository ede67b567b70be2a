"""The published numbers and dates of an attribute with bins: one in the bin of each row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..curator.within_bins import (
    draw_numbers,
    draw_whole_numbers,
    middle_numbers,
    middle_whole_numbers,
    narrow_numbers,
)
from ..parties import Bins
from ..parties.number_steps import edges_in_steps, numbers_of_steps

__all__ = ["numbers_in_bins"]


def numbers_in_bins(
    rule: Bins,
    codes: npt.NDArray[np.int64],
    *,
    generator: np.random.Generator | None,
    narrow: type[np.floating] | None,
) -> npt.NDArray[np.generic]:
    """Draw a number or a date in the bin of each code.

    Without a generator it is the middle of the bin. `narrow` is the type of numbers that came in.
    """
    if rule.step is not None:
        steps = _whole(edges_in_steps(rule.edges, rule.step), codes, generator=generator)
        drawn = numbers_of_steps(steps, rule.step)
        if rule.kind == "integers":
            return drawn.astype(np.int64)
        return drawn if narrow is None else _narrow_steps(rule, codes, drawn, dtype=narrow)
    if rule.kind == "numbers":
        if generator is None:
            drawn = middle_numbers(rule.edges, codes)
        else:
            drawn = draw_numbers(rule.edges, codes, generator=generator)
        if narrow is not None:
            rounded = narrow_numbers(rule.edges, codes, drawn, dtype=narrow)
            return drawn if rounded is None else rounded
        return drawn
    whole = _whole(rule.edges, codes, generator=generator)
    return whole.astype("datetime64[D]") if rule.kind == "dates" else whole


def _narrow_steps(
    rule: Bins,
    codes: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.float64],
    *,
    dtype: type[np.floating],
) -> npt.NDArray[np.floating]:
    """Round multiples of a step to a narrower type, if they stay in their bins as written."""
    rounded = numbers.astype(dtype)
    written = rounded.astype(str).astype(np.float64)
    return rounded if (rule.bins_of(written) == codes).all() else numbers


def _whole(
    edges: tuple[float, ...],
    codes: npt.NDArray[np.int64],
    *,
    generator: np.random.Generator | None,
) -> npt.NDArray[np.int64]:
    if generator is None:
        return middle_whole_numbers(edges, codes)
    return draw_whole_numbers(edges, codes, generator=generator)
