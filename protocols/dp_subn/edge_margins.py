"""The published counts of single attributes, and the groups of labels that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...curator import Estimate
from ...curator.label_groups import LabelGroups
from ...curator.pairs import NoisySingle, shrink_singles
from ...messages import CURATOR, MessageError
from ...parties import Party
from .edge_plan import EdgePlan
from .messages import Messages

__all__ = ["merge_single", "receive_groups", "smooth_counts"]

MAX_COUNT: Final = 1 << 50
"""The largest count of a label that a party accepts."""


def smooth_counts(single: Sequence[Estimate], *, rows: int) -> dict[str, list[int]]:
    """Compute whole counts of every attribute's labels from noisy ones, which are shrunk."""
    noisy = {
        estimate.attributes[0]: NoisySingle(
            estimate.table.values / rows, precision=rows**2 / estimate.variance
        )
        for estimate in single
    }
    return {
        name: np.rint(rows * posterior.shares).astype(np.int64).tolist()
        for name, posterior in shrink_singles(noisy).items()
    }


def merge_single(estimate: Estimate, groups: LabelGroups, *, total: int) -> Estimate:
    """Give an attribute's table in groups, with the variance of a group's noise."""
    (name,) = estimate.attributes
    table = groups.shares(name) * total
    labels = estimate.table.cells
    return Estimate(
        type(estimate.table)((name,), table), variance=estimate.variance * labels / len(table)
    )


def receive_groups(me: Party, *, plan: EdgePlan) -> LabelGroups:
    """Receive the published counts, and merge labels by them as the curator does.

    Raises:
        MessageError: there are not as many counts as labels, or a count is negative or too large.
    """
    domain, cells = me.records.domain, me.receive(Messages.Margins, source=CURATOR).cells
    sizes = domain.shape(domain.attributes)
    if cells.size != sum(sizes) or cells.min(initial=0) < 0 or cells.max(initial=0) > MAX_COUNT:
        raise MessageError(
            f"expected {sum(sizes)} counts, found {cells.size}, or some that cannot be",
            where=me.where,
        )
    tables = np.split(cells, np.cumsum(sizes)[:-1])
    counts: Mapping[str, Sequence[int]] = {
        name: table.tolist() for name, table in zip(domain.attributes, tables, strict=True)
    }
    return LabelGroups.of(domain, counts, most=plan.groups)
