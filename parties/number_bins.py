"""Edges of bins for numbers and dates: round ones, where the data are.

- About 16 bins: 11 to 24, as a round width allows. Two attributes have 256 cells then, which noise
  at an epsilon of 1 leaves readable in a table of some ten thousand rows. Fewer than 512 rows get
  fewer bins, by Rice's rule, 2 n^(1/3).
- Widths are equal if no bin has more than a quarter of the rows. (A normal distribution over eight
  standard deviations has a fifth in its fullest bin.) Otherwise bins have about equally many rows.
- A value of more than an eighth of the rows, such as a gain of 0, gets a bin of its own: within a
  larger bin it would be lost.
- Edges are as round as the distances to their neighbours allow.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Final

import numpy as np
import numpy.typing as npt

from .bins import has_whole_numbers
from .date_texts import PERIODS, Period

__all__ = ["MAX_BINS", "choose_period", "number_edges"]

Floats = npt.NDArray[np.float64]
MAX_BINS: Final = 16
MAX_PERIODS: Final = 24
"""Bins of dates: two years by month."""
DAYS: Final[dict[Period, float]] = {
    "day": 1,
    "week": 7,
    "month": 30.5,
    "quarter": 91.4,
    "year": 365.3,
    "decade": 3653,
}
FULL_BIN: Final = 1 / 4
"""Share of the rows in one of the bins of equal width with which they are too unequal."""
OWN_BIN: Final = 1 / 8
"""Share of the rows with one value, from which on it has a bin of its own."""
STEPS: Final = (1, 2, 5, 10)


def number_edges(
    values: Floats, weights: npt.NDArray[np.int64], *, is_whole: bool
) -> tuple[tuple[float, ...], str]:
    """Choose the edges of bins for different numbers in rising order, and say how in a few words.

    Args:
        values: The different numbers, at least two, in rising order.
        weights: Number of rows of each of them.
        is_whole: Whether they are whole numbers, which have whole edges.
    """
    rows = int(weights.sum())
    bins = int(np.clip(2 * rows ** (1 / 3), 4, MAX_BINS))
    singled_out = (
        [float(value) for value in values[weights > rows * OWN_BIN]] if len(values) > 2 else []
    )
    equal = _equal_edges(float(values[0]), float(values[-1]), bins=bins, is_whole=is_whole)
    cells = np.clip(np.searchsorted(equal, values, side="left") - 1, 0, len(equal) - 2)
    shares = np.bincount(cells, weights=weights) / rows
    if not singled_out and shares.max() <= FULL_BIN:
        return equal, f"bins of equal width, {equal[1] - equal[0]:g}"
    edges = _quantile_edges(values, weights, singled_out, bins=bins, is_whole=is_whole)
    how = "bins of about equally many rows"
    if singled_out:
        how += f", with {', '.join(f'{value:g}' for value in singled_out)} apart"
    return edges, how


def choose_period(low: float, high: float) -> Period:
    """Choose the shortest period with about 24 bins at most from one day to another."""
    return next(
        (period for period in PERIODS if (high - low + 1) / DAYS[period] <= MAX_PERIODS), "decade"
    )


def round_step(width: float) -> float:
    """Round a width to 1, 2 or 5 times a power of ten, by the least factor.

    >>> [round_step(width) for width in (4.6, 0.03, 1, 8)]
    [5.0, 0.02, 1.0, 10.0]
    """
    power = 10.0 ** floor(log10(width))
    step = min(STEPS, key=lambda step: abs(log10(step * power / width)))
    return float(f"{step * power:.12g}")


def _equal_edges(low: float, high: float, *, bins: int, is_whole: bool) -> tuple[float, ...]:
    step = round_step((high - low) / bins)
    step = max(step, 1.0) if is_whole else step
    first, last = floor(low / step), max(ceil(high / step), floor(low / step) + 1)
    return tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))


def _quantile_edges(
    values: Floats,
    weights: npt.NDArray[np.int64],
    singled_out: list[float],
    *,
    bins: int,
    is_whole: bool,
) -> tuple[float, ...]:
    """Choose edges between which about equally many rows lie, and around values of their own."""
    fixed: set[float] = set()
    for value in singled_out:
        before = values[values < value]
        after = values[values > value]
        if len(before):
            fixed |= {value, value - 1 if is_whole else _between(float(before[-1]), value)}
        elif len(after):  # the first bin is closed, so the value alone is below a small edge
            fixed.add(value + 0.5 if is_whole else _above(value, float(after[0])))
    is_free = ~np.isin(values, singled_out)
    rest, counts = values[is_free], weights[is_free]
    edges = set(fixed)
    if len(rest) > 1:
        parts = max(bins - len(singled_out), 1)
        shares = np.cumsum(counts) / counts.sum()
        places = np.searchsorted(shares, np.arange(1, parts) / parts)
        quantiles = np.unique(rest[np.minimum(places, len(rest) - 1)])
        edges |= set(_rounded(quantiles, low=float(values[0]), high=float(values[-1])))
    low, high = float(values[0]), float(values[-1])
    inner = sorted(edge for edge in edges if low < edge < high)
    if is_whole:
        inner = sorted({edge if edge in fixed else float(round(edge)) for edge in inner})
    first = (
        low if low in singled_out else _outward(low, (inner[0] if inner else high) - low, down=True)
    )
    last = (
        high
        if high in singled_out
        else _outward(high, high - (inner[-1] if inner else low), down=False)
    )
    kept = [first]
    for edge in inner:
        is_split = any(edge < value and kept[-1] >= value for value in singled_out)
        if edge > kept[-1] and edge < last and not is_split:
            kept.append(edge)
    return _with_whole_numbers([*kept, last], is_whole=is_whole, fixed=fixed)


def _with_whole_numbers(
    edges: list[float], *, is_whole: bool, fixed: set[float]
) -> tuple[float, ...]:
    """Leave out edges between which there is no whole number, where numbers are whole."""
    while is_whole and len(edges) > 2 and not has_whole_numbers(edges):
        ends = np.floor(edges)
        starts = np.append(np.ceil(edges[0]), ends[1:-1] + 1)
        index = int(np.argmax(starts > ends[1:]))
        inner = [place for place in (index + 1, index) if 0 < place < len(edges) - 1]
        inner.sort(key=lambda place: edges[place] in fixed)
        del edges[inner[0]]
    return tuple(edges)


def _rounded(quantiles: Floats, *, low: float, high: float) -> list[float]:
    """Round each quantile by at most a quarter of the distance to its nearer neighbour."""
    ends = [low, *(float(value) for value in quantiles if low < value < high), high]
    rounded = []
    for before, value, after in zip(ends, ends[1:], ends[2:], strict=False):
        room = min(value - before, after - value) / 2
        step = _step_below(room)
        rounded.append(float(f"{round(value / step) * step:.12g}"))
    return rounded


def _step_below(room: float) -> float:
    """Give the largest of 1, 2 and 5 times a power of ten that is at most this.

    >>> [_step_below(room) for room in (7, 0.3)]
    [5.0, 0.2]
    """
    power = 10.0 ** floor(log10(room))
    step = max((step for step in STEPS if step * power <= room * (1 + 1e-9)), default=1)
    return float(f"{step * power:.12g}")


def _outward(value: float, width: float, *, down: bool) -> float:
    """Round an outer edge outward, by less than the width of its bin, and not across 0."""
    step = _step_below(width) if width > 0 else 1.0
    places = floor(value / step) if down else ceil(value / step)
    return float(f"{places * step:.12g}")


def _between(before: float, value: float) -> float:
    """Find a round number at or above one number and below another."""
    step = _step_below(value - before)
    for _ in range(20):
        edge = float(f"{floor((value - step / 2) / step) * step:.15g}")
        if before <= edge < value:
            return edge
        step /= 10
    return before


def _above(value: float, after: float) -> float:
    """Find an edge just above a value: a tenth of the way to the next one, rounded."""
    return float(f"{value + _step_below((after - value) / 10):.12g}")
