"""From noisy tables of clusters to tables of cliques that agree: section 4.3, and the way we go by
default.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np

from ...curator import Estimate, Marginal, agree, make_consistent
from ...curator.marginal import Numbers
from ...curator.projections import norm_sub, threshold

__all__ = ["agreeing", "as_printed", "believed"]

SWEEPS: Final = 5
SPREADS: Final = np.concatenate([[0.0], np.geomspace(1e-5, 3.0, 30)])
PRIOR: Final = np.where(SPREADS > 0, 0.5 / (len(SPREADS) - 1), 0.5)
"""That a table is just the product is as likely as that it is not."""


def as_printed(estimates: Sequence[Estimate], *, total: float) -> list[Marginal]:
    """Make tables agree, then cut every one by itself: which breaks it again, by up to 0.44 of all
    rows (spec J5).
    """
    return [
        own.table.map(lambda values: threshold(values, total))
        for own in make_consistent(estimates, total=total)
    ]


def agreeing(estimates: Sequence[Estimate], *, total: float) -> list[Marginal]:
    """Project, make agree, project, five times."""
    first = [
        Estimate(own.table.map(lambda values: norm_sub(values, total)), own.variance)
        for own in estimates
    ]
    return [own.table for own in agree(first, total=total, sweeps=SWEEPS)]


def believed(
    clusters: Sequence[Estimate], ones: Sequence[Estimate], *, total: float
) -> list[Marginal]:
    """Put tables of clusters and of single attributes together, each cluster believed as far as its
    noise allows.

    A cluster's table is drawn around the product of its margins, which are known best, and noise
    comes on top (the model of `curator.shrinkage`, for tables of any number of attributes). How
    widely it is drawn is judged by the table itself.
    """
    known = make_consistent([*clusters, *ones], total=total)
    margins = {
        own.attributes[0]: norm_sub(own.table.values, total) for own in known[len(clusters) :]
    }
    fixed = [
        Estimate(Marginal((name,), values), min(own.variance for own in ones) * 1e-9)
        for name, values in margins.items()
    ]
    near = make_consistent([*clusters, *fixed], total=total)[: len(clusters)]
    shrunk = []
    for own in near:
        beside = [margins[name] / total for name in own.attributes]
        table = total * _shrunk(own.table.values / total, own.variance / total**2, beside)
        shrunk.append(Estimate(Marginal(own.attributes, table), own.variance))
    return agreeing([*shrunk, *ones], total=total)


def _shrunk(table: Numbers, variance: float, margins: Sequence[Numbers]) -> Numbers:
    """Move a table towards the product of its margins, as far as its noise says."""
    centre = reduce(np.multiply.outer, margins)
    residual, even = table - centre, np.maximum(centre * (1 - centre), 1e-12)
    # What margins determine says nothing of how far the table is from their product.
    free = 1 - (sum(len(own) - 1 for own in margins) + 1) / table.size
    fits = np.array([_fit(residual, spread * even + variance, free) for spread in SPREADS])
    likely = PRIOR * np.exp(fits - fits.max())
    belief = np.zeros(table.shape)
    for weight, spread in zip(likely / likely.sum(), SPREADS, strict=True):
        belief += weight * spread * even / (spread * even + variance)
    return np.asarray(centre + belief * residual)


def _fit(residual: Numbers, variance: Numbers, free: float) -> float:
    return float(-0.5 * (residual**2 / variance + free * np.log(variance)).sum())
