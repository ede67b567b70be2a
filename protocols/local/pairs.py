"""Tables of all pairs of attributes from noisy answers, each trusted as far as its noise allows.

It is not enough to average tables until they agree and to clip them. At epsilon 1 and 2 most pairs
are then mostly noise, and a table of independent attributes is better (spec E16). Here all answers
are combined, and each pair lies between what was measured and what simpler models say of it
(`curator.shrinkage`):

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

from ...curator import Marginal
from ...curator.latent_classes import latent_classes
from ...curator.marginal import Numbers
from ...curator.projections import norm_sub
from ...curator.shrinkage import (
    NoisyTable,
    PairPosterior,
    pooled_marginals,
    shrink,
    with_margins,
)
from ...privacy import Domain
from ..survey import Answer

__all__ = ["PairTables", "estimate_pairs"]

CLASS_SHARES: Final = (0.5, 0.9, 0.99)
"""Shares of the latent classes in a centre; the rest is the product of the margins."""

Pair: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairTables:
    """Distributions of single attributes and of all pairs, which agree.

    Pairs stand in the order of the domain.
    """

    singles: dict[str, Marginal]
    """Uniform for an attribute that no answer has."""
    pairs: dict[Pair, Marginal]
    """The product of its margins for a pair that no answer has."""
    posteriors: dict[Pair, PairPosterior]
    """What the answers say of the pairs that they have."""


def estimate_pairs(
    domain: Domain, answers: Sequence[Answer], *, generator: np.random.Generator, passes: int = 2
) -> PairTables:
    """Estimate the tables from answers whose attributes stand in the order of the domain.

    `passes` is the number of passes with latent classes.
    """
    noisy = [answer.noisy(domain) for answer in answers]
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
        mixtures = {}
        for pair, centre in centres.items():
            classes = model.pair(*pair)
            mixtures[pair] = [
                centre,
                *((1 - share) * centre + share * classes for share in CLASS_SHARES),
            ]
        posteriors, tables = _fit(measured, mixtures, singles)
    return PairTables(singles, products | tables, posteriors)


def _fit(
    measured: Mapping[Pair, NoisyTable],
    centres: Mapping[Pair, list[Numbers]],
    singles: Mapping[str, Marginal],
) -> tuple[dict[Pair, PairPosterior], dict[Pair, Marginal]]:
    """Shrink each measured pair towards its centres, and give it the margins of its attributes."""
    posteriors = shrink(measured, centres)
    tables = {}
    for pair, posterior in posteriors.items():
        left, right = (singles[name].values for name in pair)
        cells = with_margins(posterior.mean, posterior.variance, left, right)
        tables[pair] = Marginal(pair, cells)
    return posteriors, tables
