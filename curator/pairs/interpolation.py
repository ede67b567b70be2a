"""Tables of finer groups, by interpolation between groups of neighbouring labels.

A centre is scaled to the table of the level before by one factor for each of its cells. If the
factor is the same for all labels of a group, the table has steps at the groups' borders. Here it is
interpolated linearly between the middles of groups: the eldest of one group are much like the
youngest of the next. Then the table is scaled by steps until it has the sums of the level before.

Two groups do not show whether labels have an order, so nothing is interpolated between two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from ...messages import WorkKind, count_work
from ..marginal import Numbers
from .groups import Groups, Level, PairBatch
from .shrinkage_by_level import with_sums

__all__ = ["changes_within_groups", "smoothly_scaled"]

ROUNDS: Final = 3
"""Times that a table is scaled to the sums of the level before."""
FEW_GROUPS: Final = 2
"""Nothing is interpolated between so few groups."""
MIN_MASS: Final = 1e-12


def smoothly_scaled(
    batch: PairBatch,
    centres: Numbers,
    coarse: Numbers,
    level: Level,
    *,
    margins: tuple[Numbers, Numbers],
) -> Numbers:
    """Scale centres to the tables of the level before, without steps between groups.

    Args:
        batch: the pairs.
        centres: tables of this level: pairs, centres, rows, columns.
        coarse: tables of the level before: pairs, rows, columns.
        level: the level, which is not the coarsest.
        margins: the distributions of rows and columns at this level.
    """
    count_work(WorkKind.CELL, 4 * ROUNDS * centres.size)
    left, right = (_weights_of_groups(batch, level, side, margins[side]) for side in (0, 1))
    tables, rows, columns = centres, left[:, None], np.swapaxes(right, 1, 2)[:, None]
    for step in range(ROUNDS + 1):
        sums = batch.merge(tables, start=level, level=level - 1)
        factors = coarse[:, None] / np.maximum(sums, MIN_MASS)
        if step == 0:
            tables = tables * (rows @ factors @ columns)
        else:
            tables = tables * batch.spread(factors, start=level - 1, level=level)
    return tables


def changes_within_groups(
    batch: PairBatch, singles: Mapping[str, Numbers], coarse: Numbers, level: Level
) -> Numbers:
    """Compute how far each pair's table is from even groups if it changes linearly between them.

    It is the distance of the two ways in which a product of attributes gets the sums of the level
    before. Where nothing is interpolated it is 0, up to rounding.

    Args:
        batch: the pairs.
        singles: the distributions of attributes.
        coarse: the tables of the level before: pairs, rows, columns.
        level: the level, which is not the coarsest.
    """
    rows, columns = batch.margins(singles, level)
    products = (rows[:, :, None] * columns[:, None, :])[:, None]
    smooth = smoothly_scaled(batch, products, coarse, level, margins=(rows, columns))
    even = with_sums(batch, products, coarse[:, None], level)
    return np.asarray(np.abs(smooth - even).sum(axis=(1, 2, 3)) / 2)


def _weights_of_groups(batch: PairBatch, level: Level, side: int, margins: Numbers) -> Numbers:
    """Stack the matrices of one side's attributes: pairs, labels, groups of the level before."""
    matrices: dict[str, Numbers] = {}
    names = [pair[side] for pair in batch.pairs]
    for place, name in enumerate(names):
        if name not in matrices:
            matrices[name] = weights_between(margins[place], batch.parents_of(place, level, side))
    return np.stack([matrices[name] for name in names])


def weights_between(shares: Numbers, parents: Groups) -> Numbers:
    """Weigh, for each label, the two groups between whose middles its own middle lies.

    A middle is a place in the order of all records. Labels before the first middle or behind the
    last one have the whole weight of one group.

    >>> weights_between(np.full(6, 1 / 6), np.array([0, 0, 1, 1, 2, 2])).round(2).tolist()[1:3]
    [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]

    Args:
        shares: the distribution of the labels.
        parents: the group of each label; groups are of neighbouring labels.
    """
    places, count = np.arange(len(shares)), int(parents.max()) + 1
    weights = np.zeros((len(shares), count))
    if count <= FEW_GROUPS:
        weights[places, parents] = 1.0
        return weights
    masses = shares + MIN_MASS
    middles = np.cumsum(shares) - shares / 2
    centres = np.bincount(parents, masses * middles) / np.bincount(parents, masses)
    lower = np.clip(np.searchsorted(centres, middles) - 1, 0, count - 2)
    gaps = np.maximum(centres[lower + 1] - centres[lower], MIN_MASS)
    upper = np.clip((middles - centres[lower]) / gaps, 0, 1)
    weights[places, lower] = 1 - upper
    weights[places, lower + 1] += upper
    return weights
