"""What is published of users: marginals, as numbers of users."""

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

__all__ = ["check_size", "published"]

MOST_CELLS: Final = 20_000_000


def check_size(domain: Domain, ways: int) -> None:
    """Refuse to publish more than anybody reads, before anybody is asked."""
    sizes = domain.shape(domain.attributes)
    # The elementary symmetric polynomials of the sizes: all marginals' cells together.
    cells = [1] + [0] * ways
    for size in sizes:
        for way in range(ways, 0, -1):
            cells[way] += size * cells[way - 1]
    if cells[ways] > MOST_CELLS:
        raise UsageError(
            f"expected marginals of at most {MOST_CELLS:,} cells in all, found {comb(len(sizes), ways):,} of {cells[ways]:,}: "
            f"--set ways={max(ways - 1, 1)}, or fewer attributes"
        )


def published(domain: Domain, tables: Sequence[Marginal], *, users: int) -> pd.DataFrame:
    """Write distributions as numbers of users, to a thousandth."""
    counts = [np.round(own.values * users, 3).reshape(-1) for own in tables]  # noqa: PD011 - not of pandas
    return marginal_table(domain, [own.attributes for own in tables], counts)
