"""An estimate of all attributes and pairs, from noisy tables at any level of nested groups.

A centre of a pair is its table in a simpler model. An estimate lies between what was measured and
the centres.

1. singles     each from its tables and from the pairs' finest tables, by inverse variance, and
               shrunk towards the uniform distribution
2. pairs       from coarse to fine; the centres are the product of the singles, and a Gaussian
               copula
3. models      latent classes, rows of a junction tree, and factors (`models`) are further centres,
               and the pairs are estimated again; the estimate for publication is the mean of
               three, each with the centres of one model
4. joint       for publication one distribution of all attributes is fitted to the pairs (`joint`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from ...messages import is_uncounted, is_unread, scaled_work
from ...privacy.domain import Domain
from ..latent_classes import LatentClasses
from ..marginal import Marginal, Numbers
from .copulas import fit_copulas
from .correlations import MAX_FUNCTIONS
from .evidence import Evidence
from .factors import count_fits, factor_tables
from .groups import Pair, PairBatch
from .joint import count_joint_fit, joint_tables
from .models import (
    MODELS,
    class_models,
    class_tables,
    count_class_fits,
    counted_tree,
    mixed,
    tree_tables,
)
from .shrinkage_by_contrasts import shrink_by_contrasts
from .shrinkage_by_level import LevelPosterior, shrink_by_level
from .singles import NoisySingle, SinglePosterior, shrink_singles

__all__ = ["PairEstimate", "estimate_all"]

UNREAD_ROWS: Final = 2000
"""Rows that are drawn from a tree where nobody reads the tables and work is only counted."""
FITTING_ROUNDS: Final = 30


@dataclass(frozen=True)
class PairEstimate:
    """Posteriors of attributes and pairs."""

    singles: dict[str, SinglePosterior]
    evidence: list[Evidence]
    levels: list[list[LevelPosterior]]
    """By batch and level; empty in an estimate for publication, by which nothing is planned."""
    copula_distances: list[Numbers]
    """Expected distances of the coarsest tables from their mean copula, as its r is uncertain."""
    tables: dict[Pair, Marginal]
    """The finest tables; they agree on single attributes."""

    @property
    def shares(self) -> dict[str, Marginal]:
        """The distributions of single attributes."""
        return {name: Marginal((name,), single.shares) for name, single in self.singles.items()}


def estimate_all(
    domain: Domain,
    singles: Mapping[str, NoisySingle],
    evidence: list[Evidence],
    *,
    generator: np.random.Generator,
    passes: int = 1,
    published: bool = False,
) -> PairEstimate:
    """Estimate all attributes and pairs.

    Args:
        domain: the attributes; each has two labels or more.
        singles: the noisy table of each attribute.
        evidence: what was measured of the pairs.
        generator: for latent classes and rows of a tree.
        passes: how often models of all pairs are fitted.
        published: whether the tables are for publication, and not for a plan.
    """
    # 1.
    posteriors = shrink_singles(_pooled(singles, evidence))
    shares = {name: single.shares for name, single in posteriors.items()}
    if not evidence or (published and is_uncounted()):
        return PairEstimate(posteriors, [], [], [], _products_of(shares))
    # 2.
    products = [_products(part.batch, shares) for part in evidence]
    copulas, distances = fit_copulas(evidence, shares)
    centres = [
        np.stack([product, product if published and _is_saturated(part.batch) else copula], axis=1)
        for part, product, copula in zip(evidence, products, copulas, strict=True)
    ]
    passes = passes if any(part.measured.any() for part in evidence) else 0
    if published and is_unread():
        tables = _stand_in(domain, evidence, centres, shares, generator=generator, passes=passes)
        return PairEstimate(posteriors, evidence, [], distances, tables)
    levels, finest = _shrunk(evidence, centres, shares, published=published)
    tables = _tables(evidence, finest, shares)
    # 3.
    by_factors = factor_tables(evidence, shares) if passes else []
    fits = list[LatentClasses]()
    for _ in range(passes):
        fits = class_models(domain, evidence, tables, generator=generator)
        by_classes = class_tables(evidence, fits)
        by_tree = tree_tables(
            domain, evidence, tables, shares, others=by_classes, generator=generator
        )
        models = (by_classes, by_tree, by_factors)
        levels, finest = _with_models(evidence, centres, models, shares, published=published)
        tables = _tables(evidence, finest, shares)
    # 4.
    if published and passes:
        joint = joint_tables(domain, evidence, tables, shares, start=fits, generator=generator)
        if joint is not None:
            tables = _tables(evidence, joint, shares)
    return PairEstimate(posteriors, evidence, levels, distances, tables)


def _stand_in(
    domain: Domain,
    evidence: Sequence[Evidence],
    centres: Sequence[Numbers],
    shares: Mapping[str, Numbers],
    *,
    generator: np.random.Generator,
    passes: int,
) -> dict[Pair, Marginal]:
    """Give tables that nobody reads, and count the work of those for publication.

    Shrinking by contrasts counts as much with any number of centres, so the first ones stand for
    those of all estimates. Few rows of a tree stand for all of them.
    """
    with scaled_work(1 + MODELS * passes):
        finest = shrink_by_contrasts(evidence, centres, shares)
    tables = _tables(evidence, finest, shares)
    if passes:
        count_joint_fit(domain)
        functions = min(sum(domain.shape(domain.attributes)) - len(shares), MAX_FUNCTIONS)
        count_fits(len(shares), functions=functions)
        with scaled_work(passes):
            count_class_fits(domain)
            counted_tree(domain, tables, shares, generator=generator, most=UNREAD_ROWS)
    return tables


def _pooled(
    singles: Mapping[str, NoisySingle], evidence: Sequence[Evidence]
) -> dict[str, NoisySingle]:
    pooled = dict(singles)
    for part in evidence:
        rows, of_rows, columns, of_columns = part.margins()
        for place in np.flatnonzero(of_rows).tolist():
            left, right = part.batch.pairs[place]
            pooled[left] = pooled[left].pooled(NoisySingle(rows[place], float(of_rows[place])))
            pooled[right] = pooled[right].pooled(
                NoisySingle(columns[place], float(of_columns[place]))
            )
    return pooled


def _products_of(shares: Mapping[str, Numbers]) -> dict[Pair, Marginal]:
    return {
        pair: Marginal(pair, np.outer(*(shares[name] for name in pair)))
        for pair in combinations(shares, 2)
    }


def _products(batch: PairBatch, shares: Mapping[str, Numbers]) -> Numbers:
    return np.stack([np.outer(shares[left], shares[right]) for left, right in batch.pairs])


def _is_saturated(batch: PairBatch) -> bool:
    """Tell whether a copula fits any tables of these pairs, and would take noise for signal."""
    return batch.cells(batch.finest) == 4


def _shrunk(
    evidence: Sequence[Evidence],
    centres: Sequence[Numbers],
    shares: Mapping[str, Numbers],
    *,
    published: bool,
) -> tuple[list[list[LevelPosterior]], list[Numbers]]:
    """Shrink tables towards their centres: posteriors of levels, for plans, and finest tables."""
    if published:
        return [], shrink_by_contrasts(evidence, centres, shares)
    levels = shrink_by_level(evidence, centres, shares)
    return levels, [posteriors[-1].tables for posteriors in levels]


def _with_models(
    evidence: Sequence[Evidence],
    centres: Sequence[Numbers],
    models: Sequence[Sequence[Numbers]],
    shares: Mapping[str, Numbers],
    *,
    published: bool,
) -> tuple[list[list[LevelPosterior]], list[Numbers]]:
    """Shrink tables towards the centres of models as well.

    For publication it is done once for each model. The mean of these tables is the estimate.

    Args:
        evidence: what was measured of each batch.
        centres: the first centres of each batch.
        models: for each model the tables of each batch.
        shares: the distributions of attributes.
        published: whether the tables are for publication, and not for a plan.
    """
    if not published:
        return _shrunk(evidence, _joined(centres, models), shares, published=False)
    estimates = [
        shrink_by_contrasts(evidence, _joined(centres, [of_model]), shares) for of_model in models
    ]
    return [], [np.mean(of_batch, axis=0) for of_batch in zip(*estimates, strict=True)]


def _joined(centres: Sequence[Numbers], models: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    """Add centres of models to the first centres, of which one is the product of the margins."""
    return [
        np.concatenate([first, *(mixed(first[:, 0], tables) for tables in of_models)], axis=1)
        for first, *of_models in zip(centres, *models, strict=True)
    ]


def _tables(
    evidence: Sequence[Evidence],
    finest: Sequence[Numbers],
    shares: Mapping[str, Numbers],
) -> dict[Pair, Marginal]:
    """Give the finest tables the distributions of their attributes, in the order of the domain."""
    fitted: dict[Pair, Numbers] = {}
    for part, posterior in zip(evidence, finest, strict=True):
        pairs, (rows, columns) = part.batch.pairs, part.batch.margins(shares, part.batch.finest)
        tables = posterior + 1e-7 * rows[:, :, None] * columns[:, None, :]
        for _ in range(FITTING_ROUNDS):
            tables *= (rows / tables.sum(axis=2))[:, :, None]
            tables *= (columns / tables.sum(axis=1))[:, None, :]
        fitted |= dict(zip(pairs, tables, strict=True))
    return {pair: Marginal(pair, fitted[pair]) for pair in combinations(shares, 2)}
