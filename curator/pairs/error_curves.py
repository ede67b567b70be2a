"""Predicted errors of a pair's table, as a function of what is measured of it.

    dependence  root of the sum of squares over levels
    level       over spreads s of the level's posterior: half of sqrt(2 / pi) sqrt(t / (1 + t prec))
                in each cell, with t = s M (1 - M) and prec the precision of a cell at this level

A table that is measured at one level is also known at all coarser levels, with more precision. It
tells nothing of finer levels.

Parties may have named a pair and its distance from the estimate (`named_pairs`). If the distance is
larger than was predicted, the levels that were not measured yet hide more than was expected. Their
spreads are scaled up until the predicted distance is the named one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from .evidence import Evidence, Flags
from .shrinkage_by_level import HALF
from .spreads import MAX_DISTANCE, SpreadDistribution

__all__ = ["AMOUNTS", "ErrorCurves", "error_curves", "scales_by_distance"]

AMOUNTS: Final = np.geomspace(1e-5, 1, 46)
"""Shares of a round's budget that a table may have."""
GRID: Final = np.geomspace(1.0, 1e13, 66)
"""Precisions at which the error of a level is tabulated."""
CELL_GROUPS: Final = 16
"""Groups of a table's cells; the mean of a group stands for its cells."""
CHUNK: Final = 256
"""Pairs that are tabulated at once."""


@dataclass(frozen=True)
class ErrorCurves:
    """How the error of each level falls with its precision, for the pairs of a batch."""

    evidence: Evidence
    precisions: list[Numbers]
    """By level, the precision of a cell so far."""
    curves: list[Numbers]
    """By level, the logarithm of the error on the grid of precisions, for each pair."""

    def chosen(self, flags: Flags) -> ErrorCurves:
        """Keep the pairs with a flag."""
        return ErrorCurves(
            self.evidence.chosen(flags),
            [precision[flags] for precision in self.precisions],
            [curves[flags] for curves in self.curves],
        )

    def put(self, flags: Flags, others: ErrorCurves) -> None:
        """Replace the curves of the pairs with a flag."""
        for curves, replacing in zip(self.curves, others.curves, strict=True):
            curves[flags] = replacing

    def current(self) -> Numbers:
        """Predict the errors as they are now: levels, pairs."""
        return np.stack(
            [
                _read(curves, precision[:, None])[:, 0]
                for curves, precision in zip(self.curves, self.precisions, strict=True)
            ]
        )

    def squares(self, *, table_precision: float, power: int) -> Numbers:
        """Tabulate the squared error of each pair's dependence: pairs, levels to measure, amounts.

        The first of the levels stands for no measurement.

        Args:
            table_precision: the precision of a table that has the whole budget of the round.
            power: how precision grows with a share of the budget.
        """
        batch = self.evidence.batch
        gains = table_precision * AMOUNTS**power
        squares = np.zeros((len(batch.pairs), batch.levels + 1, len(AMOUNTS)))
        for level, (curves, precision) in enumerate(zip(self.curves, self.precisions, strict=True)):
            unchanged = _read(curves, precision[:, None]) ** 2
            squares[:, : level + 1] += unchanged[:, None]
            for fine in range(level, batch.levels):
                more = gains * batch.cells(level) / batch.cells(fine)
                squares[:, fine + 1] += _read(curves, precision[:, None] + more) ** 2
        return squares


def error_curves(
    evidence: Evidence, spreads: Sequence[SpreadDistribution], scales: Numbers
) -> ErrorCurves:
    """Tabulate the errors of a batch's levels.

    Args:
        evidence: what was measured.
        spreads: how far tables may be from their centres, by level.
        scales: factors of these distances: levels, pairs. They are below 1 where a path of other
            pairs explains a part, and above 1 where parties named a larger distance.
    """
    batch = evidence.batch
    precisions = []
    for level in range(batch.levels):
        precision = np.zeros(len(batch.pairs))
        for fine in range(level, batch.levels):
            precision += evidence.precisions[fine] * batch.cells(level) / batch.cells(fine)
        precisions.append(precision)
    curves = [_curves(spread, scale**2) for spread, scale in zip(spreads, scales, strict=True)]
    return ErrorCurves(evidence, precisions, curves)


def scales_by_distance(curves: ErrorCurves, distances: Numbers) -> Numbers:
    """Compute how much more the levels hide that were not measured yet: levels, pairs.

    Args:
        curves: the errors as they were predicted.
        distances: the distance of each pair's table from its estimate, as parties named it; NaN
            where they named none.
    """
    errors = curves.current()
    is_open = np.stack(curves.precisions) == 0
    hidden = np.sqrt((is_open * errors**2).sum(axis=0))
    seen = (~is_open * errors**2).sum(axis=0)
    rest = np.sqrt(np.maximum(np.nan_to_num(distances) ** 2 - seen, 0))
    factors = np.maximum(np.minimum(rest, MAX_DISTANCE) / np.maximum(hidden, 1e-9), 1)
    return np.where(is_open & ~np.isnan(distances), factors, 1.0)


def _curves(spread: SpreadDistribution, factors: Numbers) -> Numbers:
    """Tabulate the logarithm of a level's error on the grid of precisions, for each pair."""
    cells = np.sort(spread.even, axis=1)
    groups = np.array_split(cells, min(CELL_GROUPS, cells.shape[1]), axis=1)
    means = np.stack([group.mean(axis=1) for group in groups], axis=1)
    sizes = [group.shape[1] for group in groups]
    likely = np.flatnonzero(spread.weights.max(axis=0) > 1e-4)
    curves = np.empty((len(cells), len(GRID)))
    count_work(WorkKind.CELL, 5 * len(groups) * len(likely) * curves.size)
    for start in range(0, len(cells), CHUNK):
        part = slice(start, start + CHUNK)
        values = spread.values[part][:, likely] * factors[part, None]
        weights, total = spread.weights[part][:, likely], np.zeros((len(values), len(GRID)))
        for group, size in enumerate(sizes):
            variance = (values * means[part, group, None])[:, :, None]
            errors = variance * GRID
            errors += 1
            np.sqrt(np.divide(variance, errors, out=errors), out=errors)
            total += size * np.einsum("ps,psg->pg", weights, errors)
        curves[part] = np.log(np.maximum(HALF * total, 1e-12))
    return curves


def _read(curves: Numbers, precision: Numbers) -> Numbers:
    """Read the curves, which are linear in logarithms."""
    step = float(np.log(GRID[1] / GRID[0]))
    place = np.clip(np.log(np.maximum(precision, GRID[0])) / step, 0, len(GRID) - 1.001)
    index = place.astype(np.int64)
    rows = np.arange(len(curves))[:, None]
    low, high = curves[rows, index], curves[rows, index + 1]
    return np.asarray(np.exp(low + (place - index) * (high - low)))
