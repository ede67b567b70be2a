"""Values within bins: a number for each code of a binned attribute, as the bins' counts suggest.

The density within a bin is a straight line. Its slope follows from the neighbouring bins, so that a
bin on a falling side has more of its values at its lower end. The line keeps the bin's count and is
nowhere below zero. At a peak or in a valley it is level, which is a uniform draw.

Where a bin ends at a multiple of where it begins, such as the last one of incomes, a line is too
flat: most values are near the lower end. There the density falls as a power of the value, by the
heights of this bin and the next one.

Instead of a draw there is the middle of a bin: the least error for a single value, but the spread
within bins is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "draw_numbers",
    "draw_whole_numbers",
    "middle_numbers",
    "middle_whole_numbers",
    "narrow_numbers",
]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]
LONG: Final = 4.0
"""Ratio of the ends of a bin from which on its density may fall as a power."""
MAX_LOG_RATIO: Final = 690.0
"""Bound on the logarithm of that ratio: a larger one would overflow."""
NARROWEST: Final = 1e-200
"""A bin counts as at least so wide beside the widest one: its height would overflow."""
STEPS: Final = 1000
"""The number of steps into which the narrowest bin is divided, at least: values are rounded."""


def draw_numbers(edges: Sequence[float], codes: Codes, *, generator: np.random.Generator) -> Floats:
    """Draw a number in the bin of each code; a bin is open on the left, the first one is closed.

    Numbers are rounded to as many digits as tell a thousandth of the narrowest bin.
    """
    ends = np.asarray(edges, np.float64)
    widths = np.diff(ends)
    places = _places(codes, starts=ends[:-1], lengths=widths, generator=generator)
    return _rounded(ends, codes, np.minimum(ends[codes] + places * widths[codes], ends[codes + 1]))


def middle_numbers(edges: Sequence[float], codes: Codes) -> Floats:
    """Give the middle of the bin of each code, rounded as drawn numbers are."""
    ends = np.asarray(edges, np.float64)
    return _rounded(ends, codes, (ends[:-1] + np.diff(ends) / 2)[codes])


def middle_whole_numbers(edges: Sequence[float], codes: Codes) -> npt.NDArray[np.int64]:
    """Give the whole number in the middle of the bin of each code, the lower one of two.

    >>> middle_whole_numbers([0, 0.5, 10], np.array([0, 1])).tolist()
    [0, 5]
    """
    first, last = _whole_ends(edges)
    return np.asarray((first + (last - first) // 2)[codes])


def _rounded(ends: Floats, codes: Codes, numbers: Floats) -> Floats:
    """Round numbers to tell a thousandth of the narrowest bin, and keep them in their bins."""
    low, high = ends[codes], ends[codes + 1]
    widths = np.diff(ends)
    digits = int(np.clip(np.ceil(np.log10(STEPS) - np.log10(widths.min())), 0, 15))
    step = 10.0**-digits
    with np.errstate(over="ignore"):  # such numbers have no digits after the point anyway
        rounded = np.round(numbers, digits)
        rounded = np.where(rounded <= low, np.round(rounded + step, digits), rounded)
        rounded = np.where(rounded > high, np.round(rounded - step, digits), rounded)
    is_inside = (rounded > low) & (rounded <= high)
    return np.asarray(np.where(is_inside, rounded, np.where(numbers > low, numbers, high)))


def draw_whole_numbers(
    edges: Sequence[float], codes: Codes, *, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw a whole number in the bin of each code. Each bin has one."""
    first, last = _whole_ends(edges)
    counts = last - first + 1
    places = _places(codes, starts=first.astype(float), lengths=counts, generator=generator)
    steps = np.ceil(places * counts[codes]).astype(np.int64) - 1
    return np.asarray(first[codes] + np.clip(steps, 0, counts[codes] - 1))


def narrow_numbers(
    edges: Sequence[float], codes: Codes, numbers: Floats, *, dtype: type[np.floating]
) -> npt.NDArray[np.floating] | None:
    """Round numbers to a narrower type, each within its bin, in memory and as it is written.

    The result is `None` if a number has no neighbour of this type within its bin.

    >>> narrow_numbers([0, 0.1, 1], np.array([0]), np.array([0.1]), dtype=np.float32).tolist()
    [0.09999999403953552]
    """
    low, high = np.asarray(edges)[codes], np.asarray(edges)[codes + 1]

    def is_inside(values: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
        is_good = np.ones(len(codes), np.bool_)
        for read in (values.astype(np.float64), values.astype(str).astype(np.float64)):
            is_above = (read > low) | ((codes == 0) & (read == low))
            is_good &= is_above & (read <= high)
        return is_good

    nearest = numbers.astype(dtype)
    best = nearest
    for side in (-np.inf, np.inf):
        best = np.where(is_inside(best), best, np.nextafter(nearest, dtype(side)))
    return best if is_inside(best).all() else None


def _whole_ends(
    edges: Sequence[float],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the first and the last whole number of each bin."""
    ends = np.floor(edges).astype(np.int64)
    first = ends[:-1] + 1
    first[0] = np.ceil(edges[0])
    return first, ends[1:]


def _places(
    codes: Codes, *, starts: Floats, lengths: npt.ArrayLike, generator: np.random.Generator
) -> Floats:
    """Draw a place above 0 and up to 1 in the bin of each code, from the bin's line of density."""
    widths = np.asarray(lengths, np.float64)
    counts = np.bincount(codes, minlength=len(widths))
    # Lengths in relation to the widest bin: only their ratios count, and those do not overflow.
    relative = np.maximum(widths / (widths.max(initial=0.0) or 1.0), NARROWEST)
    heights = counts / relative
    with np.errstate(over="ignore"):  # a steeper line than the steepest is as good as that
        tilts = _tilts(heights, relative)[codes]
    uniform = 1 - generator.random(len(codes))
    root = np.sqrt((1 - tilts) ** 2 + 4 * tilts * uniform)
    places = 2 * uniform / (1 - tilts + root)
    for code, power in _powers(heights, starts, starts + widths):
        rows = codes == code
        falling = _falling_places(
            uniform[rows], ratio=_ratio(starts[code], starts[code] + widths[code]), power=power
        )
        # Of numbers below zero the bin is the mirror image of one above it.
        places[rows] = falling if starts[code] > 0 else 1 - falling + np.finfo(float).eps
    return np.clip(places, np.finfo(float).tiny, 1)


def _powers(heights: Floats, starts: Floats, ends: Floats) -> Iterator[tuple[int, float]]:
    """List the long bins whose density falls away from zero, and the power by which it does.

    The power is that between the middles of two bins: of this one and of the next one towards zero,
    or of the next one on the other side if this is the nearest to zero.
    """
    for code, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if not _is_on_one_side(start, end) or _ratio(start, end) < LONG:
            continue
        away = 1 if start > 0 else -1
        here, sides = heights[code], (code - away, code + away)
        inner, outer = (heights[row] if 0 <= row < len(heights) else None for row in sides)
        if inner is None and outer is not None and 0 < outer < here:
            pair = (code, code + away)
        elif inner is not None and 0 < here < inner and (outer is None or outer <= here):
            pair = (code - away, code)
        else:
            continue  # a peak or a valley
        near, far = (_middle(starts[row], ends[row]) for row in pair)
        if 0 < near < far:
            yield code, log(heights[pair[0]] / heights[pair[1]]) / (log(far) - log(near))


def _is_on_one_side(start: float, end: float) -> bool:
    """Tell whether zero is outside of a bin, and not at its border."""
    return min(start, end) > 0 or max(start, end) < 0


def _middle(start: float, end: float) -> float:
    """Give the middle of a bin on a scale of ratios, or that of a line where zero is in it."""
    if _is_on_one_side(start, end):
        return sqrt(abs(start)) * sqrt(abs(end))
    return abs(start / 2 + end / 2)


def _ratio(start: float, end: float) -> float:
    """Give the end of a bin that is farther from zero over the nearer one, or the bound of it."""
    ends = sorted((abs(start), abs(end)))
    return exp(min(log(ends[1]) - log(ends[0]), MAX_LOG_RATIO))


def _falling_places(uniform: Floats, *, ratio: float, power: float) -> Floats:
    """Draw places in a bin from 1 to `ratio` whose density falls as x to the minus `power`."""
    if abs(power - 1) < 1e-9:
        values = ratio**uniform
    else:
        values = (1 + uniform * (ratio ** (1 - power) - 1)) ** (1 / (1 - power))
    return np.asarray((values - 1) / (ratio - 1))


def _tilts(heights: Floats, widths: Floats) -> Floats:
    """Compute for each bin by how much its line rises to each side, as a share of its height."""
    if len(heights) < 2:
        return np.zeros(len(heights))
    slopes = np.diff(heights) / ((widths[:-1] + widths[1:]) / 2)  # between the bins' middles
    left, right = np.append(slopes[0], slopes), np.append(slopes, slopes[-1])
    is_level = np.sign(left) != np.sign(right)
    slope = np.where(is_level, 0, np.sign(left) * np.minimum(np.abs(left), np.abs(right)))
    # A rise of more than the height is as good as one of the height.
    rises = np.clip(slope * widths / 2, -heights, heights)
    return np.divide(rises, heights, out=np.zeros(len(heights)), where=heights > 0)
