"""From noisy tables of clusters to tables that agree (section 4.3), one function for each variant.

Two tables agree if they have the same marginal of the attributes that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np

from ...curator import Estimate, Marginal, agree, make_consistent
from ...curator.marginal import Numbers
from ...curator.projections import norm_sub, threshold

__all__ = ["agreeing_tables", "believed_tables", "printed_tables"]

SWEEPS: Final = 5
"""Turns of projection and agreement."""
SPREADS: Final = np.concatenate([[0.0], np.geomspace(1e-5, 3.0, 30)])
"""Spreads of a cluster's table around the product of its margins; 0 is the product itself."""
PRIOR: Final = np.where(SPREADS > 0, 0.5 / (len(SPREADS) - 1), 0.5)
"""Prior probabilities of the spreads: a table is just the product with probability 1/2."""


def printed_tables(estimates: Sequence[Estimate], *, total: float) -> list[Marginal]:
    """Make tables agree, then cut each by itself, as printed.

    Cutting makes them disagree again, by up to 0.44 of all rows (spec J5).
    """
    return [
        estimate.table.map(lambda values: threshold(values, total))
        for estimate in make_consistent(estimates, total=total)
    ]


def agreeing_tables(estimates: Sequence[Estimate], *, total: float) -> list[Marginal]:
    """Project the tables to distributions, then make them agree and project again, five times."""
    projected = [
        Estimate(estimate.table.map(lambda values: norm_sub(values, total)), estimate.variance)
        for estimate in estimates
    ]
    return [estimate.table for estimate in agree(projected, total=total, sweeps=SWEEPS)]


def believed_tables(
    clusters: Sequence[Estimate], singles: Sequence[Estimate], *, total: float
) -> list[Marginal]:
    """Combine tables of clusters and of single attributes, each cluster as far as it is precise.

    A cluster's table varies around the product of its margins, which are the most precise tables.
    Noise comes on top. This is the model of `curator.shrinkage`, for tables of any number of
    attributes. How widely a table varies is judged by the table itself.
    """
    combined = make_consistent([*clusters, *singles], total=total)
    margins = {
        estimate.attributes[0]: norm_sub(estimate.table.values, total)
        for estimate in combined[len(clusters) :]
    }
    precise = min(estimate.variance for estimate in singles) * 1e-9
    fixed = [Estimate(Marginal((name,), values), precise) for name, values in margins.items()]
    shrunk = []
    for estimate in make_consistent([*clusters, *fixed], total=total)[: len(clusters)]:
        frequencies = [margins[name] / total for name in estimate.attributes]
        table = _shrink(estimate.table.values / total, estimate.variance / total**2, frequencies)
        shrunk.append(Estimate(Marginal(estimate.attributes, total * table), estimate.variance))
    return agreeing_tables([*shrunk, *singles], total=total)


def _shrink(table: Numbers, variance: float, margins: Sequence[Numbers]) -> Numbers:
    """Move a table towards the product of its margins, the more the noisier it is."""
    centre = reduce(np.multiply.outer, margins)
    residual, even = table - centre, np.maximum(centre * (1 - centre), 1e-12)
    # What the margins determine does not tell how far a table is from their product.
    free = 1 - (sum(len(margin) - 1 for margin in margins) + 1) / table.size
    fits = np.array(
        [_log_likelihood(residual, spread * even + variance, free) for spread in SPREADS]
    )
    posterior = PRIOR * np.exp(fits - fits.max())
    belief = np.zeros(table.shape)
    for weight, spread in zip(posterior / posterior.sum(), SPREADS, strict=True):
        belief += weight * spread * even / (spread * even + variance)
    return np.asarray(centre + belief * residual)


def _log_likelihood(residual: Numbers, variance: Numbers, free: float) -> float:
    return float(-0.5 * (residual**2 / variance + free * np.log(variance)).sum())
