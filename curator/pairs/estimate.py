"""An estimate of all attributes and pairs, from noisy tables at any level of nested groups.

A centre of a pair is its table in a simpler model. An estimate lies between what was measured and
the centres.

1. singles     each from its tables and from the pairs' finest tables, by inverse variance, and
               shrunk towards the uniform distribution
2. pairs       from coarse to fine; the centres are the product of the singles, and a Gaussian
               copula
3. models      latent classes fitted to the pairs, and rows drawn from a junction tree of the
               strongest pairs; both are further centres, and the pairs are estimated again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from ...messages import WorkKind, count_work, is_uncounted, is_unread, scaled_work
from ...privacy.domain import Domain
from ..latent_classes import LatentClasses, latent_classes
from ..marginal import Marginal, Numbers
from ..pair_rows import pair_tree
from ..sampling import SampleCodes, synthesise
from .copulas import fit_copulas
from .evidence import Evidence
from .groups import Pair, PairBatch
from .shrinkage_by_contrasts import shrink_by_contrasts
from .shrinkage_by_level import LevelPosterior, shrink_by_level
from .singles import NoisySingle, SinglePosterior, shrink_singles

__all__ = ["PairEstimate", "estimate_all"]

MODEL_SHARES: Final = (0.5, 0.9, 0.99)
"""Shares of the latent classes, or of the tree, in a centre; the rest is the product of margins."""
TREE_ROWS: Final = 100_000
"""Rows that are drawn from a tree of at most `USUAL_ATTRIBUTES` attributes."""
USUAL_ATTRIBUTES: Final = 60
MIN_TREE_ROWS: Final = 20_000
"""Rows that are drawn from a tree of many attributes: counting pairs grows with their square."""
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
    for _ in range(passes):
        model = latent_classes(domain, tables, generator=generator)
        tree_tables = _tree_tables(domain, tables, shares, generator=generator)
        more = [
            np.concatenate([centre, _mixed(part.batch, product, model, tree_tables)], axis=1)
            for part, centre, product in zip(evidence, centres, products, strict=True)
        ]
        levels, finest = _shrunk(evidence, more, shares, published=published)
        tables = _tables(evidence, finest, shares)
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
    those of all passes. Few rows of a tree stand for all of them.
    """
    with scaled_work(1 + passes):
        finest = shrink_by_contrasts(evidence, centres, shares)
    tables = _tables(evidence, finest, shares)
    if passes:
        with scaled_work(passes):
            _tree_tables(domain, tables, shares, generator=generator, most=UNREAD_ROWS)
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


def _mixed(
    batch: PairBatch,
    product: Numbers,
    model: LatentClasses,
    tree_tables: Mapping[Pair, Numbers],
) -> Numbers:
    """Make centres of the models: pairs, centres, rows, columns.

    An edge of the tree has no centre from the tree, which has its own noise.
    """
    classes = np.stack([model.pair(*pair) for pair in batch.pairs])
    in_tree = np.stack(
        [tree_tables.get(pair, table) for pair, table in zip(batch.pairs, classes, strict=True)]
    )
    return np.stack(
        [
            (1 - share) * product + share * tables
            for tables in (classes, in_tree)
            for share in MODEL_SHARES
        ],
        axis=1,
    )


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


def _tree_tables(
    domain: Domain,
    tables: Mapping[Pair, Marginal],
    shares: Mapping[str, Numbers],
    *,
    generator: np.random.Generator,
    most: int | None = None,
) -> dict[Pair, Numbers]:
    """Compute the tables of all pairs that are in no clique of the junction tree.

    Where `most` is given so few rows stand for all of them.
    """
    singles = {name: Marginal((name,), values) for name, values in shares.items()}
    tree, chain = pair_tree(domain, {**tables}, singles)
    share = min(1.0, (USUAL_ATTRIBUTES / len(shares)) ** 2)
    rows = max(MIN_TREE_ROWS, round(TREE_ROWS * share))
    few = rows if most is None else min(rows, most)
    with scaled_work(rows / few):
        codes = synthesise(chain, few, generator=generator).codes
        counted = _counted(domain, codes)
    inside = {frozenset(pair) for clique in tree.cliques for pair in combinations(clique, 2)}
    return {pair: table for pair, table in counted.items() if frozenset(pair) not in inside}


def _counted(domain: Domain, codes: Sequence[SampleCodes]) -> dict[Pair, Numbers]:
    """Count all pairs of rows, one after another: a product of sparse matrices takes longer."""
    names, sizes, rows = domain.attributes, domain.shape(domain.attributes), len(codes[0])
    columns = [column.astype(np.int64) for column in codes]
    count_work(WorkKind.COUNTED, rows * len(columns) * (len(columns) - 1) / 2)
    counted: dict[Pair, Numbers] = {}
    for first, left in enumerate(columns):
        scaled: dict[int, npt.NDArray[np.int64]] = {}
        for second in range(first + 1, len(columns)):
            size = sizes[second]
            if size not in scaled:
                scaled[size] = left * size
            cells = np.bincount(scaled[size] + columns[second], minlength=sizes[first] * size)
            shares = cells.astype(np.float32) / rows
            counted[names[first], names[second]] = shares.reshape(sizes[first], size)
    return counted
