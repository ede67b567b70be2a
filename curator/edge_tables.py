"""Tables of pairs, as far as they are more than noise, and a tree of the strongest of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from .estimates import Estimate, agree, make_consistent
from .information import mutual_information
from .marginal import Marginal
from .projections import norm_mul, norm_sub
from .shrinkage import NoisyTable, shrink
from .spanning_forest import SpanningForest

__all__ = ["shrunk_tables", "strongest_forest"]

PRECISE: Final = 1e-9
"""Variance of margins over that of the noisiest table: they are taken as exact."""


def shrunk_tables(
    pairs: Sequence[Estimate], singles: Sequence[Estimate], *, total: float
) -> list[Marginal]:
    """Shrink each pair towards the product of its margins, and make all tables agree.

    A pair of which only noise is known becomes the product. How often that is so is learnt from all
    pairs together (`shrinkage`).
    """
    combined = make_consistent([*pairs, *singles], total=total)
    margins = {
        estimate.attributes[0]: norm_sub(estimate.table.values, total)
        for estimate in combined[len(pairs) :]
    }
    least = min(estimate.variance for estimate in [*pairs, *singles]) * PRECISE
    exact = [Estimate(Marginal((name,), values), least) for name, values in margins.items()]
    noisy = {
        estimate.attributes: NoisyTable(
            estimate.table / total, base=estimate.variance / total**2, slope=0.0
        )
        for estimate in make_consistent([*pairs, *exact], total=total)[: len(pairs)]
    }
    centres = {names: [np.outer(*(margins[name] / total for name in names))] for names in noisy}
    shrunk = [
        Estimate(Marginal(estimate.attributes, total * posterior.mean), variance=estimate.variance)
        for estimate, posterior in zip(pairs, shrink(noisy, centres).values(), strict=True)
    ]
    sharp = [
        Estimate(Marginal(single.attributes, margins[single.attributes[0]]), single.variance)
        for single in singles
    ]
    return [estimate.table for estimate in agree([*shrunk, *sharp], total=total)]


def strongest_forest(tables: Sequence[Marginal]) -> list[tuple[str, ...]]:
    """Take the pairs of a forest with the most mutual information, the strongest first."""
    pairs = [table for table in tables if len(table.attributes) == 2]
    information = [
        mutual_information(table.map(norm_mul), table.attributes[:1], base=2) for table in pairs
    ]
    forest = SpanningForest()
    for place in sorted(range(len(pairs)), key=lambda place: -information[place]):
        names = pairs[place].attributes
        if forest.joins(*names):
            forest.add(*names)
    return forest.edges
