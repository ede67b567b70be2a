"""Maximum entropy: the marginal that follows from overlapping tables without other assumptions.

It is found by iterative proportional fitting from the uniform table. Each table in turn rescales
the estimate, until all agree (Deming and Stephan 1940). The limit is the distribution of largest
entropy that has these marginals (Csiszar 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from ..messages import WorkKind, count_work
from ..privacy.domain import Domain
from .bayesian_network import maximal
from .estimates import Estimate, combine
from .marginal import Marginal, Numbers
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
    """Find the distribution over `attributes` of largest entropy that has these marginals.

    The tables must not be negative. If a distribution has all these marginals, this converges to
    it. Convergence is slow if a cell is 0 only in the limit. If no distribution has them, the
    result lies between the tables, and the last one counts most. If they leave no cell above 0, the
    result is uniform.

    Args:
        domain: The attributes and their labels.
        attributes: Attributes of the result.
        tables: Marginals of the result.
        sweeps: The largest number of sweeps over all tables.
        tolerance: It ends when a sweep moves less than this, in L1.
    """
    names, shape = tuple(attributes), domain.shape(attributes)
    targets = [_on_axes(table.normalise(), names, shape) for table in tables]
    estimate: Numbers = np.full(shape, 1 / prod(shape))
    for _ in range(sweeps):
        before = estimate
        for target in targets:
            sums = estimate.sum(axis=target.others, keepdims=True)
            estimate = estimate * np.divide(
                target.values, sums, out=np.zeros_like(sums), where=sums != 0
            )
        count_work(WorkKind.TABLE, len(targets))
        count_work(WorkKind.CELL, 3 * estimate.size * len(targets))
        if np.abs(estimate - before).sum() < tolerance:
            break
    if not estimate.sum() > 0:
        return Marginal.uniform(domain, names)
    return Marginal(names, estimate).normalise()


class _Target(NamedTuple):
    """A table on the axes of a larger one."""

    values: Numbers
    """Its numbers, with an axis of length 1 for each attribute that it lacks."""
    others: tuple[int, ...]
    """The axes of these attributes."""


def _on_axes(table: Marginal, attributes: tuple[str, ...], shape: tuple[int, ...]) -> _Target:
    """Put a table on the axes of these attributes.

    Raises:
        ValueError: It has another attribute.
    """
    if not set(table.attributes) <= set(attributes):
        raise ValueError(
            f"expected tables of {', '.join(attributes)}, found {', '.join(table.attributes)}"
        )
    shared = [name for name in attributes if name in table.attributes]
    sizes = [
        size if name in table.attributes else 1
        for name, size in zip(attributes, shape, strict=True)
    ]
    others = tuple(axis for axis, name in enumerate(attributes) if name not in table.attributes)
    return _Target(table.project(shared).values.reshape(sizes), others)


def reconstruct(
    domain: Domain,
    attributes: Sequence[str],
    estimates: Sequence[Estimate],
    *,
    total: float = 1.0,
    sweeps: int = 100,
    combined: dict[tuple[str, ...], Marginal] | None = None,
) -> Marginal:
    """Reconstruct a marginal, as a distribution, from estimates of others, as CALM does.

    If estimates cover it, they are combined by inverse variance. Otherwise it has the maximum
    entropy under the estimates of its largest covered subsets. Estimates of smaller subsets are not
    used, so make all of them consistent first.

    Args:
        domain: The attributes and their labels.
        attributes: Attributes of the marginal.
        estimates: Tables that sum to about `total`.
        total: Sum of each table.
        sweeps: See `fit`.
        combined: Distributions that earlier calls with these estimates combined; new ones are
            added.
    """
    combined = {} if combined is None else combined

    def distribution(names: Sequence[str]) -> Marginal:
        key = tuple(names)
        if key not in combined:
            table = combine(estimates, names).table
            combined[key] = table.map(lambda values: norm_sub(values / total))
        return combined[key]

    if any(estimate.table.covers(attributes) for estimate in estimates):
        return distribution(attributes)
    subsets = maximal(
        [
            tuple(name for name in attributes if name in estimate.attributes)
            for estimate in estimates
            if not {*attributes}.isdisjoint(estimate.attributes)
        ]
    )
    if missing := set(attributes).difference(*subsets):
        raise ValueError(f"expected estimates that cover {', '.join(sorted(missing))}, found none")
    tables = [distribution(subset) for subset in subsets if subset]
    return fit(domain, attributes, tables, sweeps=sweeps)
