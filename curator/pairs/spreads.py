"""How far a pair's table may be from its centres, at each level.

`error_curves` predicts errors from it. Where the level before has groups of neighbouring labels,
the dependence within them is predicted by how far the table changes from group to group: schooling
changes from one group of ages to the next in childhood, so it changes within these groups as well.
Where it has no more than two groups, it is predicted by the dependence between them. Either is
multiplied by a ratio, which is learnt from pairs that were measured at both levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..marginal import Numbers
from ..shrinkage import SPREADS
from .estimate import PairEstimate
from .evidence import Flags
from .groups import PairBatch
from .interpolation import changes_within_groups
from .shrinkage_by_level import HALF, LevelPosterior
from .singles import SinglePosterior

__all__ = [
    "MAX_DISTANCE",
    "SpreadDistribution",
    "changes_of_levels",
    "hidden_ratios",
    "spreads_of_levels",
]

FIRST_DISTANCES: Final = (0.01, 0.03, 0.1)
"""Distances of a pair from independence at its coarsest level, before anything is known of it."""
MAX_DISTANCE: Final = 0.9
USUAL_RATIO: Final = 1.3
"""Distance at a level over what is foreseen of it, where nothing is known of this ratio."""
CHANGES: Final = 4.0
"""Distance that is foreseen over the linear change within groups.

With the usual ratio the distance is 5 times such a change. In made-up tables it is 6 times in the
median, and 5 to 8 for each structure; in real ones it is 2 to 7.5. The logarithm of this ratio has
the standard deviation .56 over 1,709 pairs of made-up tables, and that of the ratio to the distance
at the level before has .98. On real tables it is smaller or equal on most, and larger on Bean and
Shoppers (`benchmarks/hidden_dependence.py`).
"""
MIN_CHANGE: Final = 1e-6
"""A smaller change is due to rounding."""
RATIO_FACTORS: Final = np.array([0.4, 1.3, 3.0]) / USUAL_RATIO
"""Factors for a low, a middle and a high ratio: it differs tenfold between pairs."""
RATIO_PAIRS: Final = 5
"""Number of pairs, with the distance `RATIO_DISTANCE`, as which the usual ratio counts."""
RATIO_DISTANCE: Final = 0.03
LIKELIHOOD_SHARE: Final = 0.9
"""Share of a pair's own likelihood in the distribution by which budgets are planned.

The posterior has the rest. It knows from all pairs that dependence is rare, which is right on
average. By itself it would stop measuring the few dependent pairs where noise is large.
"""


@dataclass(frozen=True)
class SpreadDistribution:
    """A distribution of spreads for each pair of a batch, at one level."""

    weights: Numbers
    """Pairs, spreads; they sum to 1."""
    values: Numbers
    """The spreads."""
    even: Numbers
    """M (1 - M) of the centre's cells."""

    def chosen(self, flags: Flags) -> SpreadDistribution:
        """Keep the pairs with a flag."""
        return SpreadDistribution(self.weights[flags], self.values[flags], self.even[flags])


def changes_of_levels(estimate: PairEstimate) -> list[list[Numbers]]:
    """Compute by batch and level how far pairs change linearly within groups of the level before.

    It is 0 at the coarsest level.
    """
    shares = {name: single.shares for name, single in estimate.singles.items()}
    return [
        [
            changes_within_groups(part.batch, shares, levels[level - 1].tables, level)
            if level
            else np.zeros(len(part.batch.pairs))
            for level in range(part.batch.levels)
        ]
        for part, levels in zip(estimate.evidence, estimate.levels, strict=True)
    ]


def _foreseen(distances: Numbers, changes: Numbers) -> Numbers:
    """Foresee distances at a level, up to a ratio: from changes, or from the level before."""
    return np.where(changes > MIN_CHANGE, CHANGES * changes, distances)


def hidden_ratios(estimate: PairEstimate, changes: Sequence[Sequence[Numbers]]) -> list[float]:
    """Learn the ratio of the distance at each level to what is foreseen of it."""
    ratios = [1.0]
    for level in range(1, max(len(levels) for levels in estimate.levels)):
        before = after = 0.0
        for levels, of_levels in zip(estimate.levels, changes, strict=True):
            if level < len(levels):
                both = levels[level].measured & levels[level - 1].measured
                foreseen = _foreseen(levels[level - 1].distance, of_levels[level])
                before += float(foreseen[both].sum())
                after += float(levels[level].distance[both].sum())
        usual = RATIO_PAIRS * RATIO_DISTANCE
        ratios.append((after + usual * USUAL_RATIO) / (before + usual))
    return ratios


def spreads_of_levels(
    batch: PairBatch,
    singles: Mapping[str, SinglePosterior],
    *,
    levels: Sequence[LevelPosterior] | None,
    copula_distances: Numbers | None,
    ratios: Sequence[float] | None,
    changes: Sequence[Numbers] | None,
) -> list[SpreadDistribution]:
    """Give the distribution of spreads at each level: by the posterior, or else by a guess.

    Args:
        batch: the pairs.
        singles: the posteriors of attributes.
        levels: the posteriors of the batch's levels; `None` before any pair was measured.
        copula_distances: the expected distances of the coarsest tables from their mean copula.
        ratios: distances at levels over what is foreseen of them.
        changes: how far pairs change linearly within groups, by level.
    """
    products = np.stack(
        [np.outer(singles[left].shares, singles[right].shares) for left, right in batch.pairs]
    )
    count = len(batch.pairs)
    distances = np.tile(FIRST_DISTANCES, (count, 1))
    spreads = []
    for level in range(batch.levels):
        if levels is None:
            cells = batch.merge(products, start=batch.finest, level=level)
            even = (cells * (1 - cells)).reshape(count, -1)
        else:
            even = levels[level].even
        even = np.maximum(even, 1e-12)
        unit = HALF * np.sqrt(even).sum(axis=1)  # the distance that a spread of 1 means
        if level:
            ratio = USUAL_RATIO if ratios is None else ratios[level]
            if levels is not None and changes is not None:
                foreseen = _foreseen(distances, changes[level][:, None])
                measured = levels[level - 1].measured[:, None]
                distances = np.where(measured, foreseen, distances)
            guesses = (distances[:, :, None] * (ratio * RATIO_FACTORS)).reshape(count, -1)
            distances = np.quantile(guesses, (1 / 6, 1 / 2, 5 / 6), axis=1).T
        distances = np.minimum(distances, MAX_DISTANCE)
        weights, values = np.zeros((count, len(SPREADS))), np.tile(SPREADS, (count, 1))
        weights[:, : distances.shape[1]] = 1 / distances.shape[1]
        values[:, : distances.shape[1]] = (distances / unit[:, None]) ** 2
        if levels is not None and levels[level].measured.any():
            measured = levels[level].measured
            posterior = (1 - LIKELIHOOD_SHARE) * levels[level].weights
            posterior += LIKELIHOOD_SHARE * levels[level].spread_likelihoods
            posterior /= posterior.sum(axis=1, keepdims=True)
            expected = unit * (posterior @ np.sqrt(np.array(SPREADS)))
            weights[measured], values[measured] = posterior[measured], SPREADS
            if level == 0 and copula_distances is not None:
                # The copula was fitted to the same tables, so the posterior knows too much.
                vague = measured & (copula_distances > expected)
                weights[vague] = np.arange(len(SPREADS)) == 0
                values[vague, 0] = (copula_distances[vague] / unit[vague]) ** 2
                expected = np.maximum(expected, copula_distances)
            distances = np.where(measured[:, None], expected[:, None], distances)
        spreads.append(SpreadDistribution(weights, values, even))
    return spreads
