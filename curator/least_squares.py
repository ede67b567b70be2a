"""Least squares: of all tables with the marginals that are said, the one nearest to nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..privacy.domain import Domain
from .marginal import Marginal
from .projections import norm_sub

__all__ = ["least_squares"]


def least_squares(
    domain: Domain, attributes: Sequence[str], tables: Sequence[Marginal], *, sweeps: int = 200, tolerance: float = 1e-12
) -> Marginal:
    """Find the table of least norm with these marginals, and the distribution nearest to it.

    From 0, spread what each table says more or less evenly over its cells, in turn: projections on the planes of solutions,
    which end at the solution of least norm (Kaczmarz 1937). Unlike maximum entropy it may leave cells below 0, which are then
    cut; tables need not be free of them.
    """
    found = Marginal(tuple(attributes), np.zeros(domain.shape(attributes)))
    for _ in range(sweeps):
        before = found
        for table in tables:
            found = found + (table - found.project(table.attributes)) / (found.cells / table.cells)
        if np.abs((found - before).values).sum() < tolerance:
            break
    return found.project(attributes).map(norm_sub)
