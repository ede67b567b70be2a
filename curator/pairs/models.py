"""Models of all pairs together: what each says about a pair whose own table is mostly noise.

    classes     latent classes: the mean of several fits, which differ by how they begin
    tree        rows drawn from a junction tree of the strongest pairs
    factors     correlations that a few factors explain (`factors`)

Their errors differ. So the mean of three estimates, each with one of the models, is closer than one
estimate that chooses a model for each pair: a few noisy numbers hardly tell which model is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from ...messages import WorkKind, count_work, scaled_work
from ...privacy.domain import Domain
from ..latent_classes import LatentClasses, latent_classes
from ..marginal import Marginal, Numbers
from ..pair_rows import pair_tree
from ..sampling import SampleCodes, synthesise
from .evidence import Evidence
from .groups import Pair, PairBatch

__all__ = [
    "MODELS",
    "class_models",
    "class_tables",
    "count_class_fits",
    "counted_tree",
    "mixed",
    "record_counts",
    "tables_of",
    "tree_tables",
]

MODELS: Final = 3
MODEL_SHARES: Final = (0.5, 0.9, 0.99)
"""Shares of a model in a centre; the rest is the product of margins."""
CLASSES: Final = 8
CLASS_ROUNDS: Final = 300
"""Steps of a fit of latent classes."""
FITS: Final = 4
"""Fits of latent classes, which begin at random."""
MANY_LABELS: Final = 1000
"""With more labels than this there is one fit: the time of a fit grows with their square."""
UNMEASURED: Final = 0.05
"""Count of a pair that was not measured; that of a usual pair is 1 more."""
TREE_ROWS: Final = 100_000
"""Rows that are drawn from a tree of at most `USUAL_ATTRIBUTES` attributes."""
USUAL_ATTRIBUTES: Final = 60
MIN_TREE_ROWS: Final = 20_000
"""Rows that are drawn from a tree of many attributes: counting pairs grows with their square."""


def mixed(products: Numbers, tables: Numbers) -> Numbers:
    """Mix tables of a model with products of margins: pairs, shares of the model, rows, columns."""
    return np.stack([(1 - share) * products + share * tables for share in MODEL_SHARES], axis=1)


def class_models(
    domain: Domain,
    evidence: Sequence[Evidence],
    tables: Mapping[Pair, Marginal],
    *,
    generator: np.random.Generator,
) -> list[LatentClasses]:
    """Fit latent classes to the tables of all pairs, several times.

    A pair counts as so many records as have the noise of its measurements by chance.
    """
    counts, fits = record_counts(evidence), count_class_fits(domain)
    return [
        latent_classes(
            domain,
            tables,
            generator=generator,
            classes=CLASSES,
            rounds=CLASS_ROUNDS,
            counts=counts,
        )
        for _ in range(fits)
    ]


def class_tables(evidence: Sequence[Evidence], fits: Sequence[LatentClasses]) -> list[Numbers]:
    """Compute the mean tables of several fits: for each batch pairs, rows, columns."""
    return [np.mean([tables_of(part.batch, model) for model in fits], axis=0) for part in evidence]


def count_class_fits(domain: Domain) -> int:
    """Give the number of fits of latent classes, and count their work."""
    labels = sum(domain.shape(domain.attributes))
    fits = FITS if labels <= MANY_LABELS else 1
    count_work(WorkKind.ARRAY, 10 * fits * CLASS_ROUNDS)
    count_work(WorkKind.CELL, 1.5 * fits * CLASS_ROUNDS * labels**2)
    return fits


def tables_of(batch: PairBatch, model: LatentClasses) -> Numbers:
    """Compute the finest tables of a batch by latent classes."""
    return np.stack([model.pair(*pair) for pair in batch.pairs])


def record_counts(evidence: Sequence[Evidence]) -> dict[Pair, float]:
    """Compute the number of records for each pair, over that of most pairs.

    A cell with the share c of n records has about the variance c / n, and c is on average one over
    the number of cells.
    """
    counts: dict[Pair, float] = {}
    for part in evidence:
        records = sum(
            precision / part.batch.cells(level) for level, precision in enumerate(part.precisions)
        )
        counts |= dict(zip(part.batch.pairs, np.asarray(records).tolist(), strict=True))
    measured = [count for count in counts.values() if count > 0]
    usual = float(np.median(measured)) if measured else 1.0
    return {pair: count / usual + UNMEASURED for pair, count in counts.items()}


def tree_tables(
    domain: Domain,
    evidence: Sequence[Evidence],
    tables: Mapping[Pair, Marginal],
    shares: Mapping[str, Numbers],
    *,
    others: Sequence[Numbers],
    generator: np.random.Generator,
) -> list[Numbers]:
    """Compute the tables of all pairs by rows of a junction tree: for each batch as above.

    A pair within a clique of the tree would have its own noise. It gets the table of another model,
    of which `others` has all tables.
    """
    counted = counted_tree(domain, tables, shares, generator=generator)
    return [
        np.stack(
            [counted.get(pair, table) for pair, table in zip(part.batch.pairs, other, strict=True)]
        )
        for part, other in zip(evidence, others, strict=True)
    ]


def counted_tree(
    domain: Domain,
    tables: Mapping[Pair, Marginal],
    shares: Mapping[str, Numbers],
    *,
    generator: np.random.Generator,
    most: int | None = None,
) -> dict[Pair, Numbers]:
    """Count the rows of a junction tree: all pairs that are in none of its cliques.

    Where `most` is given so few rows stand for all of them.
    """
    singles = {name: Marginal((name,), values) for name, values in shares.items()}
    tree, chain = pair_tree(domain, {**tables}, singles)
    share = min(1.0, (USUAL_ATTRIBUTES / len(singles)) ** 2)
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
