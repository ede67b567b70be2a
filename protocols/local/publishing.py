"""Published marginals, as numbers of users."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from ...curator import Marginal
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.domain import marginal_table

if TYPE_CHECKING:
    import pandas as pd

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
        raise UsageError(
            f"expected marginals of at most {MAX_CELLS:,} cells in all, found "
            f"{comb(len(sizes), ways):,} of {cells[ways]:,}: --set ways={max(ways - 1, 1)}, "
            "or fewer attributes"
        )


def user_counts(domain: Domain, tables: Sequence[Marginal], *, users: int) -> pd.DataFrame:
    """Write distributions as numbers of users, to a thousandth."""
    counts = [np.round(table.values * users, 3).reshape(-1) for table in tables]  # noqa: PD011
    return marginal_table(domain, [table.attributes for table in tables], counts)
