"""Numbers on a public grid: from noisy counts to a range, to finer cells, and to quantile bins.

The first grid does not depend on data: 0, and 1, 2 and 5 times every power of ten from 1e-9 to
1e12, with both signs. A cell is open on the left and closed on the right, as a bin is. So the cell
that ends at 0 holds zeros, and negative numbers that are almost zero. Cells whose noisy counts are
within the noise are taken as empty. The others give a range, and cut points that split their rows
about evenly. These are the edges of the next histogram. All histograms together give the quantiles.

All functions work on what was released, and no privacy loss follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

__all__ = ["COARSE_EDGES", "Histogram", "finer_edges", "quantile_edges"]

Numbers = npt.NDArray[np.float64]

_STEPS: Final = [float(f"{digit}e{power}") for power in range(-9, 12) for digit in (1, 2, 5)]
_POSITIVE: Final = np.array([*_STEPS, 1e12])
COARSE_EDGES: Final[Numbers] = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
"""Edges of the first histogram. Numbers outside count in the first or in the last cell."""
_ZERO_CELL: Final = (-_POSITIVE[0], 0.0)

EMPTY_BELOW: Final = 2.0
"""Standard deviations of the noise up to which a cell is taken as empty."""
STANDS_OUT: Final = 4.0
"""What neighbouring cells together must exceed to be taken as rows, in the noise of their sum."""
RANGE_ABOVE: Final = 4.0
"""Standard deviations that the fullest cell must exceed, or else no range is known."""
ROUNDING: Final = 1.0
"""Variance of the number of all rows, which is exact."""
ROWS_OF_A_BIN: Final = 2.0
"""Standard deviations of the noise that a bin's rows must have, on average."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Noisy counts of the rows between edges, and the variance of the noise in each."""

    edges: Numbers
    counts: Numbers
    variance: float

    @property
    def deviation(self) -> float:
        return sqrt(self.variance)

    @property
    def has_range(self) -> bool:
        """Whether some cell stands out of the noise."""
        return bool(self.counts.max() > RANGE_ABOVE * self.deviation)

    def occupied(self) -> Histogram:
        """Cut the cells that are within the noise off both ends, and empty those in between.

        Neighbouring cells stand out together: the noise of many cells is in some of them large.
        """
        deviation = self.deviation
        counts = np.where(self.counts > EMPTY_BELOW * deviation, self.counts, 0.0)
        runs = np.cumsum(counts == 0)
        sums = np.bincount(runs, weights=counts)
        lengths = np.bincount(runs, weights=counts > 0)
        is_clear = sums > STANDS_OUT * deviation * np.sqrt(lengths)
        counts = np.where(is_clear[runs], counts, 0.0)
        places = np.flatnonzero(counts)
        if not len(places):
            places = np.array([int(np.argmax(self.counts))])
            counts[places] = 1.0
        first, last = int(places[0]), int(places[-1]) + 1
        return Histogram(self.edges[first : last + 1], counts[first:last], self.variance)


def finer_edges(histograms: Sequence[Histogram], *, rows: int, bins: int, whole: bool) -> Numbers:
    """Choose the edges of the next histogram: about equally many rows in each cell.

    The edges of `whole` numbers are whole.
    """
    edges = _cut(*_ranks(histograms, rows=rows), cells=bins)
    if not whole:
        return edges
    inner = np.rint(edges[1:-1])
    inner = inner[(inner > edges[0]) & (inner < edges[-1])]
    return np.unique(np.concatenate([edges[:1], inner, edges[-1:]]))


def quantile_edges(
    histograms: Sequence[Histogram], *, rows: int, bins: int, whole: bool
) -> Numbers:
    """Choose the edges of at most so many bins with about equally many rows.

    There are fewer where the noise of the last histogram does not carry as many. The edges of
    `whole` numbers are whole.
    """
    carried = int(rows / (ROWS_OF_A_BIN * max(histograms[-1].deviation, 1e-9)))
    edges = _cut(*_ranks(histograms, rows=rows), cells=max(2, min(bins, carried)))
    return _whole(edges) if whole else edges


def _whole(edges: Numbers) -> Numbers:
    """Round edges to whole numbers, the outer ones outwards; there is one bin at least."""
    low, high = np.floor(edges[0]), np.ceil(edges[-1])
    return np.unique(np.concatenate([[low], np.rint(edges[1:-1]), [max(high, low + 1.0)]]))


def _ranks(histograms: Sequence[Histogram], *, rows: int) -> tuple[Numbers, Numbers]:
    """Estimate how many rows are up to each edge of the histograms. The first is the coarse one.

    The rows of a coarse cell are spread evenly over it. Each part's variance before the counts is
    the square of its rows, so that empty cells stay empty. Least squares then take all histograms
    and the public number of rows into account, and the ranks are made to rise.
    """
    coarse = histograms[0].occupied()
    histograms = [coarse, *histograms[1:]]
    edges = np.unique(np.concatenate([histogram.edges for histogram in histograms]))
    widths = np.diff(edges)
    cells_of = [
        np.searchsorted(histogram.edges, edges[1:], side="left") - 1 for histogram in histograms
    ]
    shares = widths / np.bincount(cells_of[0], weights=widths)[cells_of[0]]
    expected = rows * (coarse.counts / coarse.counts.sum())[cells_of[0]] * shares
    sums = np.concatenate(
        [
            *(
                cells == np.arange(len(histogram.counts))[:, np.newaxis]
                for cells, histogram in zip(cells_of, histograms, strict=True)
            ),
            np.ones((1, len(widths))),
        ]
    ).astype(np.float64)
    counts = np.concatenate([*(histogram.counts for histogram in histograms), [float(rows)]])
    noise = np.concatenate(
        [
            *(np.full(len(part.counts), max(part.variance, ROUNDING)) for part in histograms),
            [ROUNDING],
        ]
    )
    spread = np.square(expected)
    total = (sums * spread) @ sums.T + np.diag(noise)
    estimate = expected + spread * (sums.T @ np.linalg.solve(total, counts - sums @ expected))
    ranks = isotonic_regression(np.cumsum([0.0, *estimate])).x
    ranks = np.clip(ranks, 0.0, rows)  # the first is 0 or less
    ranks[-1] = rows
    return edges, ranks


def _cut(edges: Numbers, ranks: Numbers, *, cells: int) -> Numbers:
    """Cut a range into at most so many cells with equally many rows.

    The cell of zeros is never cut: zeros are at its end.
    """
    targets = ranks[-1] * np.arange(1, cells) / cells
    rising = ranks + np.arange(len(ranks)) * (1e-9 * max(ranks[-1], 1.0))
    inner = np.interp(targets, rising, edges)
    inner = np.where((inner > _ZERO_CELL[0]) & (inner < _ZERO_CELL[1]), _ZERO_CELL[1], inner)
    low, high = edges[0], edges[-1]
    # Rounding moves no edge beyond another.
    rounded = _rounded(inner, tolerance=_tolerances(np.concatenate([[low], inner, [high]])))
    return np.unique(np.concatenate([[low], rounded, [high]]))


def _tolerances(edges: Numbers) -> Numbers:
    """Allow each inner edge to move by a twentieth of the narrower bin beside it."""
    widths = np.diff(edges)
    return np.minimum(widths[:-1], widths[1:]) / 20


def _rounded(edges: Numbers, *, tolerance: Numbers) -> Numbers:
    """Round each edge to the fewest digits within its tolerance."""
    return np.array(
        [
            next(
                (
                    value
                    for digits in range(1, 17)
                    if abs((value := float(f"{edge:.{digits}g}")) - edge) <= allowed
                ),
                edge,
            )
            for edge, allowed in zip(edges.tolist(), tolerance.tolist(), strict=True)
        ]
    )
