"""Least squares: the distribution of least norm among those with given marginals."""

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
    """Find the distribution of least norm that has these tables as marginals.

    This is Dykstra's algorithm (1983), started at 0. It projects on the tables that agree with each
    marginal in turn: the difference is spread evenly over the cells. Then it cuts what is below 0,
    and remembers what was cut. If no distribution has all the marginals, the result lies between
    them.
    """
    names = tuple(attributes)
    estimate = Marginal(names, np.zeros(domain.shape(names)))
    cut = estimate
    for _ in range(sweeps):
        before = estimate
        for table in tables:
            difference = table - estimate.project(table.attributes)
            estimate = estimate + difference / (estimate.cells / table.cells)
        estimate = (estimate + cut).project(names)
        positive = estimate.map(lambda values: np.maximum(values, 0.0))
        cut, estimate = estimate - positive, positive
        if np.abs((estimate - before).values).sum() < tolerance:
            break
    return estimate.normalise() if estimate.total > 0 else Marginal.uniform(domain, names)
