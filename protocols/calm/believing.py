"""What CALM's noisy tables say together, each pair believed as far as its noise allows.

The paper averages tables until they agree and clips them; at epsilon 1 and 2 what is left of most pairs is noise, and a table
of independent attributes is better (spec E16). Here one-way and pair information are combined, and each pair is somewhere
between what was measured and what simpler knowledge says of it (`curator.shrinkage`):

1. margins      of every attribute from all tables that have it, by inverse variance, and the nearest distribution
2. first pass   each pair between the product of its margins and what was measured, with exactly these margins
3. likeness     latent classes fitted to all pairs at once
4. second pass  each pair between the product, the likeness, mixtures of the two, and what was measured
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from ...curator import Marginal
from ...curator.latent_classes import latent_classes
from ...curator.projections import norm_sub
from ...curator.shrinkage import shrink, views, with_margins
from ...privacy import Domain
from ..local import Answer

__all__ = ["believed"]

LIKENESS: Final = (0.5, 0.9, 0.99)
"""Shares of the likeness in a centre; the rest is the product of the margins."""


def believed(
    domain: Domain, answers: Sequence[Answer], *, generator: np.random.Generator
) -> tuple[dict[str, Marginal], dict[tuple[str, ...], Marginal]]:
    """Make tables of single attributes and of pairs that agree: distributions."""
    noisy = [own.noisy(domain) for own in answers]
    # 1.
    ones = {name: own.table.map(norm_sub) for (name,), own in views(noisy, ways=1).items()}
    pairs = views(noisy, ways=2)
    product = {pair: np.outer(ones[pair[0]].values, ones[pair[1]].values) for pair in pairs}

    def fitted(
        centres: Mapping[tuple[str, ...], list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]],
    ) -> dict[tuple[str, ...], Marginal]:
        return {
            pair: Marginal(pair, with_margins(mean, variance, ones[pair[0]].values, ones[pair[1]].values))
            for pair, (mean, variance) in shrink(pairs, centres).items()
        }

    if not pairs:
        return ones, {pair: ones[pair[0]] * ones[pair[1]] for pair in combinations(ones, 2)}
    # 2.
    first = fitted({pair: [own] for pair, own in product.items()})
    # 3.
    model = latent_classes(domain, first, generator=generator)
    # 4.
    likeness = {pair: model.pair(*pair) for pair in pairs}
    second = fitted(
        {pair: [own, *((1 - share) * own + share * likeness[pair] for share in LIKENESS)] for pair, own in product.items()}
    )
    return ones, {pair: ones[pair[0]] * ones[pair[1]] for pair in combinations(ones, 2)} | second
