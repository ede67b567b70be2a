"""Maximum entropy: the marginal that assumes nothing beyond what overlapping tables say of it.

By iterative proportional fitting from the uniform table: each table in turn rescales the estimate until all agree (Deming and
Stephan 1940); the limit is the distribution of largest entropy that has these marginals (Csiszar 1975).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..privacy.domain import Domain
from .bayesian_network import maximal
from .estimates import Estimate, combine
from .marginal import Marginal

__all__ = ["fit", "reconstruct"]


def fit(
    domain: Domain, attributes: Sequence[str], tables: Sequence[Marginal], *, sweeps: int = 100, tolerance: float = 1e-9
) -> Marginal:
    """Find the distribution over `attributes` of largest entropy with these tables for marginals.

    The tables must be distributions. When they agree this is exact in the limit; when they do not quite, the last one wins.
    Stops when a sweep moves less than `tolerance`, in L1.
    """
    targets = [table.normalise() for table in tables]
    found = Marginal.uniform(domain, attributes)
    for _ in range(sweeps):
        before = found
        for target in targets:
            found = (found * (target / found.project(target.attributes))).project(attributes)
        if np.abs((found - before).values).sum() < tolerance:
            break
    # A table that is 0 where another is not leaves nothing there.
    return found.normalise() if found.total > 0 else Marginal.uniform(domain, attributes)


def reconstruct(domain: Domain, attributes: Sequence[str], estimates: Sequence[Estimate], *, sweeps: int = 100) -> Marginal:
    """Say what estimates say of one marginal, as CALM does.

    Where some cover it, their combination by inverse variance; otherwise the maximum entropy under all that they say of
    subsets of it, each subset's estimates combined.
    """
    if any(estimate.table.covers(attributes) for estimate in estimates):
        table = combine(estimates, attributes).table
        return table.map(lambda values: np.maximum(values, 0.0)).normalise()
    wanted = set(attributes)
    parts = maximal([tuple(name for name in attributes if name in estimate.attributes) for estimate in estimates])
    if not wanted <= {name for part in parts for name in part}:
        missing = sorted(wanted - {name for part in parts for name in part})
        raise ValueError(f"expected estimates that cover {', '.join(missing)}, found none")
    tables = [combine(estimates, part).table.map(lambda values: np.maximum(values, 0.0)) for part in parts if part]
    return fit(domain, attributes, tables, sweeps=sweeps)
