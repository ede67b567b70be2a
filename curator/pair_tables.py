"""Tables of all pairs of attributes from noisy tables, each trusted as far as its noise allows.

It is not enough to average tables until they agree and to clip them. Where noise is large, most
pairs are then mostly noise, and a table of independent attributes is better (spec E16). Here all
noisy tables are combined, and each pair lies between what was measured and what simpler models say
of it (`shrinkage`):

1. margins      of each attribute from all tables that have it, by inverse variance; then the
                nearest distribution
2. first pass   each pair between the product of its margins and what was measured, with exactly
                these margins
3. classes      latent classes fitted to all pairs at once
4. next passes  each pair between the product, the latent classes, mixtures of the two, and what was
                measured; then the latent classes again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from ..privacy.domain import Domain
from .latent_classes import LatentClasses, latent_classes
from .marginal import Marginal, Numbers
from .projections import norm_sub
from .shrinkage import NoisyTable, PairPosterior, pooled_marginals, shrink, with_margins

__all__ = ["PairTables", "estimate_pairs"]

CLASS_SHARES: Final = (0.5, 0.9, 0.99)
"""Shares of the latent classes in a centre; the rest is the product of the margins."""
STACK: Final = 1 << 16
"""Cells of tables that get their margins at the same time: they stay in the cache."""

Pair: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairTables:
    """Distributions of single attributes and of all pairs, which agree.

    Pairs stand in the order of the domain.
    """

    singles: dict[str, Marginal]
    """Uniform for an attribute that no noisy table has."""
    pairs: dict[Pair, Marginal]
    """The product of its margins for a pair that no noisy table has."""
    posteriors: dict[Pair, PairPosterior]
    """What the noisy tables say of the pairs that they have."""


def estimate_pairs(
    domain: Domain,
    noisy: Sequence[NoisyTable],
    *,
    generator: np.random.Generator,
    passes: int = 2,
) -> PairTables:
    """Estimate the tables from noisy ones whose attributes stand in the order of the domain.

    Args:
        domain: the attributes and their labels.
        noisy: tables of frequencies; a table may come twice.
        generator: randomness of latent classes.
        passes: the number of passes with latent classes.
    """
    # 1.
    margins = pooled_marginals(noisy, ways=1)
    singles = {
        name: margins[name,].table.map(norm_sub)
        if (name,) in margins
        else Marginal.uniform(domain, (name,))
        for name in domain.attributes
    }
    products: dict[Pair, Marginal] = {
        pair: singles[pair[0]] * singles[pair[1]] for pair in combinations(singles, 2)
    }
    measured = pooled_marginals(noisy, ways=2)
    if not measured:
        return PairTables(singles, products, {})
    # 2.
    centres = {
        pair: np.outer(singles[pair[0]].values, singles[pair[1]].values) for pair in measured
    }
    posteriors, tables = _fit(
        measured, {pair: [centre] for pair, centre in centres.items()}, singles
    )
    for _ in range(passes):
        # 3.
        model = latent_classes(domain, tables, generator=generator)
        # 4.
        mixtures = {pair: _class_centres(pair, centre, model) for pair, centre in centres.items()}
        posteriors, tables = _fit(measured, mixtures, singles)
    return PairTables(singles, products | tables, posteriors)


def _class_centres(pair: Pair, product: Numbers, model: LatentClasses) -> list[Numbers]:
    return [product, *_mixtures(product, model.pair(*pair))]


def _mixtures(product: Numbers, model_table: Numbers) -> list[Numbers]:
    return [(1 - share) * product + share * model_table for share in CLASS_SHARES]


def _fit(
    measured: Mapping[Pair, NoisyTable],
    centres: Mapping[Pair, list[Numbers]],
    singles: Mapping[str, Marginal],
) -> tuple[dict[Pair, PairPosterior], dict[Pair, Marginal]]:
    """Shrink each measured pair towards its centres, and give it the margins of its attributes."""
    posteriors = shrink(measured, centres)
    of_shape: dict[tuple[int, ...], list[Pair]] = {}
    for pair, posterior in posteriors.items():
        of_shape.setdefault(posterior.mean.shape, []).append(pair)
    fitted: dict[Pair, Marginal] = {}
    for shape, pairs in of_shape.items():
        size = max(1, STACK // (shape[0] * shape[1]))
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            stack = with_margins(
                np.stack([posteriors[pair].mean for pair in part]),
                np.stack([posteriors[pair].variance for pair in part]),
                np.stack([singles[left].values for left, _ in part]),
                np.stack([singles[right].values for _, right in part]),
            )
            for pair, cells in zip(part, stack, strict=True):
                fitted[pair] = Marginal(pair, cells)
    return posteriors, {pair: fitted[pair] for pair in posteriors}
