"""Least squares: of all distributions with the marginals that are said, the most even in
squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..privacy.domain import Domain
from .marginal import Marginal

__all__ = ["least_squares"]


def least_squares(
    domain: Domain,
    attributes: Sequence[str],
    tables: Sequence[Marginal],
    *,
    sweeps: int = 100,
    tolerance: float = 1e-9,
) -> Marginal:
    """Find the distribution of least norm with these marginals.

    From 0, in turn: spread what each table says more or less evenly over its cells, which is the
    projection on the tables that agree with it, and cut what is below 0, remembering what was cut
    (Dykstra 1983). Where no distribution has all the marginals, as they may disagree, what is found
    lies between them.
    """
    names = tuple(attributes)
    found = Marginal(names, np.zeros(domain.shape(names)))
    cut = found
    for _ in range(sweeps):
        before = found
        for table in tables:
            found = found + (table - found.project(table.attributes)) / (found.cells / table.cells)
        found = (found + cut).project(names)
        positive = found.map(lambda values: np.maximum(values, 0.0))
        cut, found = found - positive, positive
        if np.abs((found - before).values).sum() < tolerance:
            break
    return found.normalise() if found.total > 0 else Marginal.uniform(domain, names)
