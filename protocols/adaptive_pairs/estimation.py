"""The estimate of all pairs from the tables that were measured, each weighted by its variance.

Tables without groups are estimated together (`curator.pair_tables`). Of a pair that was measured in
groups alone, the table of groups is estimated, and spread over labels in proportion to the
attributes' own distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...curator import Marginal
from ...curator.marginal import Numbers
from ...curator.pair_tables import PairTables, estimate_pairs
from ...curator.shrinkage import pooled_marginals, shrink, with_margins
from ...privacy import Domain
from ..secure_sum import Family
from .tables import Grouping, MeasuredTable

__all__ = ["estimate"]


def estimate(
    domain: Domain,
    measured: Sequence[MeasuredTable],
    *,
    generator: np.random.Generator,
    last: bool,
) -> PairTables:
    """Estimate single attributes and pairs; the last estimate of a run takes more passes."""
    tables = estimate_pairs(
        domain,
        [table.noisy() for table in measured if not table.is_grouped],
        generator=generator,
        passes=2 if last else 1,
        tree_passes=1 if last else 0,
    )
    in_groups = [
        table
        for table in measured
        if table.is_grouped
        and len(table.table.attributes) == 2
        and table.table.attributes not in tables.posteriors
    ]
    pairs = tables.pairs | _spread(in_groups, tables.singles)
    return PairTables(tables.singles, pairs, tables.posteriors)


def _spread(
    measured: Sequence[MeasuredTable], singles: Mapping[str, Marginal]
) -> dict[Family, Marginal]:
    """Estimate tables of groups, and spread them over labels.

    If a pair was measured in several groupings, the last of them counts.
    """
    groupings = {table.table.attributes: table.table.groupings for table in measured}
    pooled = pooled_marginals(
        [
            table.noisy()
            for table in measured
            if table.table.groupings == groupings[table.table.attributes]
        ],
        ways=2,
    )
    if not pooled:
        return {}
    members = {
        pair: [
            _members(grouping, singles[name])
            for name, grouping in zip(pair, groupings[pair], strict=True)
        ]
        for pair in pooled
    }
    margins = {
        pair: [each @ singles[name].values for name, each in zip(pair, members[pair], strict=True)]
        for pair in pooled
    }
    posteriors = shrink(pooled, {pair: [np.outer(*margins[pair])] for pair in pooled})
    spread = {}
    for pair, posterior in posteriors.items():
        rows, columns = margins[pair]
        cells = with_margins(posterior.mean, posterior.variance, rows, columns)
        product = np.outer(rows, columns)
        ratio = np.divide(cells, product, out=np.zeros_like(cells), where=product > 0)
        left, right = members[pair]
        table = np.outer(*(singles[name].values for name in pair)) * (left.T @ ratio @ right)
        spread[pair] = Marginal(pair, table)
    return spread


def _members(grouping: Grouping, single: Marginal) -> Numbers:
    """Make the matrix of groups by labels that is 1 where a label is in a group."""
    labels = single.cells
    groups = np.array(grouping or range(labels))
    return np.asarray((np.arange(groups.max() + 1)[:, None] == groups).astype(float))
