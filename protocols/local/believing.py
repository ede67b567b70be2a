"""What noisy tables say together, each pair believed as far as its noise allows.

To average tables until they agree and to clip them is not enough: at epsilon 1 and 2 what is left
of most pairs is noise, and a table of independent attributes is better (spec E16). Here one-way and
pair information are combined, and each pair is somewhere between what was measured and what simpler
knowledge says of it (`curator.shrinkage`):

1. margins      of every attribute from all tables that have it, by inverse variance, and the nearest distribution
2. first pass   each pair between the product of its margins and what was measured, with exactly these margins
3. likeness     latent classes fitted to all pairs at once
4. next passes  each pair between the product, the likeness, mixtures of the two, and what was measured; the likeness anew
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from ...curator import Marginal
from ...curator.latent_classes import latent_classes
from ...curator.marginal import Numbers
from ...curator.projections import norm_sub
from ...curator.shrinkage import PairPosterior, pooled_marginals, shrink, with_margins
from ...privacy import Domain
from ..survey import Answer

__all__ = ["Believed", "believe"]

LIKENESS: Final = (0.5, 0.9, 0.99)
"""Shares of the likeness in a centre; the rest is the product of the margins."""

Pair = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Believed:
    """Tables of single attributes and of all pairs that agree: distributions; and what is behind
    those that were measured.

    Pairs stand in the domain's order, and answers have to. Of an attribute of which nobody was
    asked all labels are alike.
    """

    ones: dict[str, Marginal]
    pairs: dict[Pair, Marginal]
    shrunk: dict[Pair, PairPosterior]


def believe(
    domain: Domain, answers: Sequence[Answer], *, generator: np.random.Generator, passes: int = 2
) -> Believed:
    """Make tables of what users said; `passes` with the likeness."""
    noisy = [own.noisy(domain) for own in answers]
    # 1.
    known = pooled_marginals(noisy, ways=1)
    ones = {
        name: known[name,].table.map(norm_sub)
        if (name,) in known
        else Marginal.uniform(domain, (name,))
        for name in domain.attributes
    }
    pairs = pooled_marginals(noisy, ways=2)
    product = {pair: np.outer(ones[pair[0]].values, ones[pair[1]].values) for pair in pairs}
    every: dict[Pair, Marginal] = {
        pair: ones[pair[0]] * ones[pair[1]] for pair in combinations(ones, 2)
    }
    if not pairs:
        return Believed(ones, every, {})

    def fitted(
        centres: Mapping[Pair, list[Numbers]],
    ) -> tuple[dict[Pair, Marginal], dict[Pair, PairPosterior]]:
        shrunk = shrink(pairs, centres)
        tables = {
            pair: Marginal(
                pair,
                with_margins(own.mean, own.variance, ones[pair[0]].values, ones[pair[1]].values),
            )
            for pair, own in shrunk.items()
        }
        return tables, shrunk

    # 2.
    found, shrunk = fitted({pair: [own] for pair, own in product.items()})
    for _ in range(passes):
        # 3.
        model = latent_classes(domain, found, generator=generator)
        # 4.
        likeness = {pair: model.pair(*pair) for pair in pairs}
        found, shrunk = fitted(
            {
                pair: [own, *((1 - share) * own + share * likeness[pair] for share in LIKENESS)]
                for pair, own in product.items()
            }
        )
    return Believed(ones, every | found, shrunk)
