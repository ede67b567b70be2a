"""Estimates: marginals with the variance of their noise, put together and made to agree.

Several noisy tables say something about one marginal. Summed over C cells each, they have C times
the variance; the best unbiased combination weighs each by the inverse of that (PrivIncr prints 1/(C
n), which weighs the worse more: spec E1). Where tables overlap, `consistent` makes them agree
(Barak et al. 2007, PriView's order of sets, CALM's and JTree's weights).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .marginal import Marginal, Numbers
from .projections import norm_sub

__all__ = ["Estimate", "agree", "combine", "consistent", "intersections"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A table whose cells have independent noise of one variance."""

    table: Marginal
    variance: float

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise ValueError(f"expected a variance above 0, found {self.variance:g}")

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.table.attributes

    def project(self, attributes: Sequence[str]) -> Estimate:
        """Sum out the other attributes; variances of the cells add up."""
        table = self.table.project(attributes)
        return Estimate(table, self.variance * (self.table.cells // table.cells))


def combine(estimates: Iterable[Estimate], attributes: Sequence[str]) -> Estimate:
    """Average what all that cover these attributes say of them, by inverse variance.

    >>> ask = lambda value, users: Estimate(Marginal(("x",), np.array([value])), 1 / users)
    >>> combine([ask(0.2, 1000), ask(0.1, 3000)], ["x"]).table.values.round(9).tolist()
    [0.125]
    """
    views = [
        estimate.project(attributes) for estimate in estimates if estimate.table.covers(attributes)
    ]
    if not views:
        raise ValueError(f"expected an estimate that covers {', '.join(attributes)}, found none")
    precision = sum(1 / view.variance for view in views)
    first, *rest = (view.table * (1 / (view.variance * precision)) for view in views)
    return Estimate(sum(rest, start=first), 1 / precision)


def intersections(sets: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """List all sets that are intersections of two or more of these, the empty one included, smaller
    ones first.
    """
    own = Counter(frozenset(attributes) for attributes in sets)
    found: set[frozenset[str]] = {frozenset()}
    new = {a & b for a, b in combinations(own, 2)} | {
        one for one, times in own.items() if times > 1
    }
    while new - found:
        found |= new
        new = {a & b for a in new for b in own}
    return sorted((tuple(sorted(one)) for one in found), key=lambda one: (len(one), one))


def consistent(estimates: Sequence[Estimate], *, total: float | None = None) -> list[Estimate]:
    """Make tables agree on all that they share, by the least change: their weighted average, spread
    evenly over the cells.

    Sets in rising order of size, so that what agrees already stays: a later change has sum 0 over
    every smaller set. `total` is known when the number of rows is public; without it, totals are
    averaged like everything else. Cells may be negative. The tables keep the variances they came
    with, though their cells now vary less, and together: do not combine them again with estimates
    that went into them.
    """
    tables = [estimate.table for estimate in estimates]
    for shared in intersections(table.attributes for table in tables):
        here = [at for at, table in enumerate(tables) if table.covers(shared)]
        views = [Estimate(tables[at], estimates[at].variance).project(shared) for at in here]
        known = total is not None and not shared
        mean = Marginal((), np.array(total)) if known else combine(views, shared).table
        for at, view in zip(here, views, strict=True):
            if known or len(here) > 1:
                cells = tables[at].cells // mean.cells
                tables[at] = tables[at] + (mean - view.table) / cells
    return [
        Estimate(table, estimate.variance)
        for table, estimate in zip(tables, estimates, strict=True)
    ]


def agree(
    estimates: Sequence[Estimate],
    *,
    total: float,
    sweeps: int = 5,
    project: Callable[[Numbers, float], Numbers] = norm_sub,
    end: str = "distributions",
) -> list[Estimate]:
    """Alternate between tables that agree and tables that are distributions, ending with the one or
    the other.

    Each alone breaks the other: after the last projection, shared marginals differ a little; after
    the last consistency, some cells may be a little below 0. A sweep is consistency, then
    projection, as in CALM; JTree projects once before.
    """
    if sweeps < 1:
        raise ValueError(f"expected at least 1 sweep, found {sweeps}")
    if end not in {"distributions", "consistent"}:
        raise ValueError(f"expected end to be distributions or consistent, found {end!r}")
    for _ in range(sweeps):
        estimates = [
            Estimate(estimate.table.map(lambda values: project(values, total)), estimate.variance)
            for estimate in consistent(estimates, total=total)
        ]
    return consistent(estimates, total=total) if end == "consistent" else list(estimates)
