"""Estimates: marginals with the variance of their noise, combined and made consistent.

Several noisy tables estimate one marginal. A sum over C cells has C times the variance of a cell.
The best unbiased combination weighs each table by the inverse of its variance. (PrivIncr prints
1/(C n), which gives the worse table more weight: spec E1.) `make_consistent` makes overlapping
tables agree (Barak et al. 2007, with the order of PriView and the weights of CALM and JTree).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from .marginal import Marginal, Numbers
from .projections import norm_sub

__all__ = ["Estimate", "agree", "combine", "intersections", "make_consistent", "rescaled"]

EMPTY_SET: Final[frozenset[str]] = frozenset()
TINY: Final = 1e-300
"""A variance where parties without a row are left."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A table with independent noise of one variance in all cells."""

    table: Marginal
    variance: float

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise ValueError(f"expected a variance above 0, found {self.variance:g}")

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.table.attributes

    def project(self, attributes: Sequence[str]) -> Estimate:
        """Sum over the other attributes; the variances of the cells add up."""
        table = self.table.project(attributes)
        return Estimate(table, self.variance * (self.table.cells // table.cells))


def rescaled(estimates: Iterable[Estimate], *, rows: int, total: int) -> list[Estimate]:
    """Scale tables of so many rows to another total: that of the parties that were left later."""
    factor = total / max(rows, 1)
    return [
        estimate
        if rows == total
        else Estimate(estimate.table * factor, max(estimate.variance * factor**2, TINY))
        for estimate in estimates
    ]


def combine(estimates: Iterable[Estimate], attributes: Sequence[str]) -> Estimate:
    """Average by inverse variance all estimates that cover these attributes.

    >>> first = Estimate(Marginal(("x",), np.array([0.2])), 1 / 1000)
    >>> second = Estimate(Marginal(("x",), np.array([0.1])), 1 / 3000)
    >>> combine([first, second], ["x"]).table.values.round(9).tolist()
    [0.125]
    """
    covering = [estimate for estimate in estimates if estimate.table.covers(attributes)]
    views = [estimate.project(attributes) for estimate in covering]
    if not views:
        raise ValueError(f"expected an estimate that covers {', '.join(attributes)}, found none")
    precision = sum(1 / view.variance for view in views)
    first, *rest = (view.table * (1 / (view.variance * precision)) for view in views)
    return Estimate(sum(rest, start=first), 1 / precision)


def intersections(sets: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """List all intersections of two or more of these sets, and the empty set; the smaller first."""
    counts = Counter(frozenset(attributes) for attributes in sets)
    shared = {EMPTY_SET}
    new = {a & b for a, b in combinations(counts, 2)}
    new |= {attributes for attributes, count in counts.items() if count > 1}
    while new - shared:
        shared |= new
        new = {a & b for a in new for b in counts}
    return sorted((tuple(sorted(names)) for names in shared), key=lambda names: (len(names), names))


def make_consistent(estimates: Sequence[Estimate], *, total: float | None = None) -> list[Estimate]:
    """Make tables agree on all attributes that they share, by the least change.

    For each shared set of attributes, tables move to their weighted average, and the difference is
    spread evenly over their cells. Smaller sets come first. They stay consistent, because a later
    change has sum 0 over every smaller set. Cells may be negative.

    The tables keep their variances, although their cells now vary less and are correlated. Do not
    combine them again with the estimates from which they come.

    Args:
        estimates: Tables with the variance of their cells.
        total: Sum of each table, if the number of rows is public. Otherwise the sums are averaged,
            too.
    """
    tables = [estimate.table for estimate in estimates]
    for shared in intersections(table.attributes for table in tables):
        indices = [index for index, table in enumerate(tables) if table.covers(shared)]
        views = [Estimate(tables[i], estimates[i].variance).project(shared) for i in indices]
        is_public = total is not None and not shared
        mean = Marginal((), np.array(total)) if is_public else combine(views, shared).table
        for index, view in zip(indices, views, strict=True):
            if is_public or len(indices) > 1:
                cells = tables[index].cells // mean.cells
                tables[index] = tables[index] + (mean - view.table) / cells
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
    end: Literal["distributions", "consistent"] = "distributions",
) -> list[Estimate]:
    """Alternate between making tables consistent and making them distributions.

    Each step undoes a little of the other. After the last projection, shared marginals differ a
    little. After the last consistency step, some cells may be a little below 0. `end` says which
    step is the last. A sweep is consistency, then projection, as in CALM. JTree projects once
    before.
    """
    if sweeps < 1:
        raise ValueError(f"expected at least 1 sweep, found {sweeps}")
    if end not in {"distributions", "consistent"}:
        raise ValueError(f"expected end to be distributions or consistent, found {end!r}")
    for _ in range(sweeps):
        estimates = [
            Estimate(estimate.table.map(lambda values: project(values, total)), estimate.variance)
            for estimate in make_consistent(estimates, total=total)
        ]
    return make_consistent(estimates, total=total) if end == "consistent" else list(estimates)
