"""Published marginals, as numbers of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...curator import Marginal
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.many_labels import too_many_labels
from ...privacy.marginal_table import MarginalTable, marginal_table
from .intervals import Interval

__all__ = ["check_marginals", "user_counts"]

MAX_CELLS: Final = 20_000_000


def check_marginals(domain: Domain, ways: int) -> None:
    """Refuse marginals of so many attributes with too many cells, before users are asked."""
    sizes = domain.shape(domain.attributes)
    # The elementary symmetric polynomials of the sizes: the cells of all marginals together.
    cells = [1] + [0] * ways
    for size in sizes:
        for way in range(ways, 0, -1):
            cells[way] += size * cells[way - 1]
    if cells[ways] > MAX_CELLS:
        fewer = f"--set ways={ways - 1}" if ways > 1 else ""
        raise UsageError(too_many_labels("marginals", domain, otherwise=fewer))


def user_counts(
    domain: Domain, tables: Sequence[Marginal], intervals: Sequence[Interval], *, users: int
) -> MarginalTable:
    """Write distributions as numbers of users, to a thousandth, with the interval around each.

    An interval is widened where it does not contain the published number.
    """
    counts = [np.round(table.values * users, 3).reshape(-1) for table in tables]
    table = marginal_table(domain, [table.attributes for table in tables], counts)
    low = np.concatenate([interval.low for interval in intervals]) * users
    high = np.concatenate([interval.high for interval in intervals]) * users
    count = table.numbers["count"]
    return table.with_interval(
        np.minimum(np.floor(low * 1000) / 1000, count),
        np.maximum(np.ceil(high * 1000) / 1000, count),
    )
