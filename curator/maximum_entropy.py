"""Maximum entropy: the marginal that assumes nothing beyond what overlapping tables say of it.

By iterative proportional fitting from the uniform table: each table in turn rescales the estimate
until all agree (Deming and Stephan 1940); the limit is the distribution of largest entropy that has
these marginals (Csiszar 1975).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..privacy.domain import Domain
from .bayesian_network import maximal
from .estimates import Estimate, combine
from .marginal import Marginal
from .projections import norm_sub

__all__ = ["fit", "reconstruct"]


def fit(
    domain: Domain,
    attributes: Sequence[str],
    tables: Sequence[Marginal],
    *,
    sweeps: int = 100,
    tolerance: float = 1e-9,
) -> Marginal:
    """Find the distribution over `attributes` of largest entropy with these tables for marginals.

    The tables must not be negative. Where some distribution has them all this finds it in the
    limit, slowly where they leave cells that only the limit has at 0; it stops when a sweep moves
    less than `tolerance`, in L1, or after so many sweeps. Where none has, what is found lies
    between them, the last counting most; it is uniform where they leave no cell at all.
    """
    targets = [table.normalise() for table in tables]
    found = Marginal.uniform(domain, attributes)
    for _ in range(sweeps):
        before = found
        for target in targets:
            found = (found * (target / found.project(target.attributes))).project(attributes)
        if np.abs((found - before).values).sum() < tolerance:
            break
    return found.normalise() if found.total > 0 else Marginal.uniform(domain, attributes)


def reconstruct(
    domain: Domain,
    attributes: Sequence[str],
    estimates: Sequence[Estimate],
    *,
    total: float = 1.0,
    sweeps: int = 100,
) -> Marginal:
    """Say what estimates, tables that sum to about `total`, say of one marginal, as CALM does: as a
    distribution.

    Where some cover it, their combination by inverse variance; otherwise the maximum entropy under
    all that they say of the largest subsets of it, each subset's estimates combined. What is said
    of smaller subsets is left out, so make the estimates `consistent` first.
    """

    def distribution(own: Sequence[str]) -> Marginal:
        return combine(estimates, own).table.map(lambda values: norm_sub(values / total))

    if any(estimate.table.covers(attributes) for estimate in estimates):
        return distribution(attributes)
    wanted = set(attributes)
    parts = maximal(
        [
            tuple(name for name in attributes if name in estimate.attributes)
            for estimate in estimates
        ]
    )
    if not wanted <= {name for part in parts for name in part}:
        missing = sorted(wanted - {name for part in parts for name in part})
        raise ValueError(f"expected estimates that cover {', '.join(missing)}, found none")
    return fit(domain, attributes, [distribution(part) for part in parts if part], sweeps=sweeps)
