"""Pairs that parties name because their estimated tables are far from the parties' records.

Groups of labels may hide dependence, and nothing in the sums shows how much. So parties are asked
(`protocols.adaptive_pairs.choices`). What they answer has noise, and costs budget.

A named distance is that of the estimate which the parties saw. The next sum changes the estimate.
If it moves towards the real table, at a right angle to what is still missing, then the squares of
both distances add up. So the square of the change is subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import Final

import numpy as np

from ..marginal import Numbers
from .estimate import PairEstimate
from .groups import Pair

__all__ = ["MIN_CELLS", "NamedPair", "doubtful_pairs", "remaining_distances"]

MIN_CELLS: Final = 17
"""Fewest cells of a pair that parties are asked about.

Groups hide little of a smaller table: they are at most 4 by 4 at the first level.
"""


@dataclass(frozen=True, slots=True)
class NamedPair:
    """A pair that parties named."""

    distance: float
    """The total variation distance of its table from the estimate, as the parties released it."""
    table: Numbers
    """The estimate that they compared."""


def doubtful_pairs(
    estimate: PairEstimate, planned: frozenset[Pair], *, max_cells: int
) -> dict[Pair, Numbers]:
    """Give the estimated tables of pairs of which groups may hide much.

    These are pairs with many cells that were never measured label by label. Where they are too
    many, those with the strongest estimated dependence come first.

    Args:
        estimate: the estimate of all pairs.
        planned: pairs that are about to be measured label by label.
        max_cells: most cells of all these tables together.
    """
    unmeasured = {
        pair
        for part in estimate.evidence
        for pair, precision in zip(part.batch.pairs, part.precisions[-1].tolist(), strict=True)
        if not precision
    }
    candidates = unmeasured - planned
    tables = {
        pair: table.values
        for pair, table in estimate.tables.items()
        if pair in candidates and table.values.size >= MIN_CELLS
    }
    if sum(table.size for table in tables.values()) <= max_cells:
        return tables
    strongest = sorted(tables, key=lambda pair: _dependence(tables[pair]), reverse=True)
    cells = accumulate(tables[pair].size for pair in strongest)
    kept = [pair for pair, total in zip(strongest, cells, strict=True) if total <= max_cells]
    return {pair: tables[pair] for pair in kept}


def remaining_distances(
    named: Mapping[Pair, NamedPair], estimate: PairEstimate
) -> dict[Pair, float]:
    """Compute how far the named pairs are from an estimate that has changed since."""
    distances = {}
    for pair, entry in named.items():
        change = float(np.abs(estimate.tables[pair].values - entry.table).sum()) / 2
        distances[pair] = sqrt(max(entry.distance**2 - change**2, 0.0))
    return distances


def _dependence(table: Numbers) -> float:
    """Compute the distance of a table from the product of its margins."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.abs(table - product).sum()) / 2
