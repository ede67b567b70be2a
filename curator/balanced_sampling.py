"""Balanced samples: rows chosen by weights, such that the sample has the tables of the weights.

A sample drawn at random has tables that are off by the noise of counting: a cell in which m rows
are expected by about the root of m. A *balanced* sample is chosen among the random ones such that
given totals are nearly kept (Deville and Tille 2004, by the cube method). Here thousands of totals
are to be kept, one for each cell of each table, so it is sought by exchanges:

1. A systematic sample takes each row as often as its weight says, rounded down or up.
2. The residual of a cell is the number of rows that are expected in it, minus that of the sample.
   The residuals of a row's cells add up to its *score*. If a row with the score s is replaced by
   one with the score t, the sum of squared residuals over T tables falls by at least 2 (t - s - T).
3. All rows are gone through in blocks in random order. In each block rows with low scores, which
   were rounded up, are exchanged for rows with high ones, which were rounded down. Exchanges of one
   block meet in the same cells; where the sum of squares would not fall, half of them are made.

So rows are still taken as often as their weights say, to within one. With 15 attributes residuals
of one or two rows are left in a cell of a table of pairs; with hundreds of attributes more is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import WorkKind, count_work
from ..privacy.domain import Domain
from .marginal import Numbers
from .sampling import SampleCodes

__all__ = ["balance"]

Whole: TypeAlias = npt.NDArray[np.int64]

MAX_SWEEPS: Final = 6
"""After so many sweeps hardly a row is exchanged any more."""
MAX_SCORED: Final = 500_000_000
"""Residuals looked up in all sweeps beyond the first one: five seconds or so."""
BLOCK: Final = 1000
"""Rows of a block. In larger blocks more exchanges meet in the same cells."""
AT_ONCE: Final = 32
"""Tables of a block whose cells are looked up at once; they fit a processor's cache."""
CELLS_OF_A_ROW: Final = 30
"""Up to so many cells for each one that changes, all of them are counted and nothing is sorted."""
MIN_FALL: Final = 0.02
"""A sweep that lowers the sum of squares by less than this part is the last one."""
MIN_WEIGHT: Final = 0.01
"""A row joins the sample only if it has at least this part of the average weight.

Rows in cells that shall be empty have less.
"""
ROUNDING: Final = 1e-9
"""Relative error of an expected number of rows, so that a whole one is not rounded down."""


def balance(
    domain: Domain,
    codes: Sequence[SampleCodes],
    weights: Numbers,
    tables: Iterable[tuple[str, ...]],
    chosen: Whole,
    *,
    generator: np.random.Generator,
) -> Whole:
    """Exchange rows of a sample until the tables of these attributes are those of the weights.

    Args:
        domain: the attributes, in the order of the codes.
        codes: the codes of all rows from which the sample was chosen.
        weights: the weight of each row.
        tables: the attributes of each table.
        chosen: the places of the sample's rows, each as often as it was chosen.
        generator: draws the order of blocks, and that of the rows that are returned.
    """
    cells = _Cells(domain, codes, tables)
    size = len(weights)
    if not cells.tables or not len(chosen):
        return chosen
    expected = weights * (len(chosen) / weights.sum())
    taken = np.bincount(chosen, minlength=size)
    residuals = cells.totals(expected - taken)
    least = np.floor(expected + ROUNDING).astype(np.int64)
    possible = expected >= MIN_WEIGHT * expected.mean()
    squares = float(residuals @ residuals)
    for _ in range(min(MAX_SWEEPS, 1 + MAX_SCORED // (cells.tables * size))):
        count_work(WorkKind.RAKED, size * cells.codes_of_tables)
        before = squares
        for rows in np.array_split(generator.permutation(size), -(-size // BLOCK)):
            rounded_up = taken[rows] > least[rows]
            squares += _exchange(
                cells,
                rows[rounded_up],
                rows[~rounded_up & possible[rows]],
                taken=taken,
                residuals=residuals,
            )
        if squares > (1 - MIN_FALL) * before:
            break
    return np.asarray(generator.permutation(np.repeat(np.arange(size), taken)))


def _exchange(
    cells: _Cells, may_leave: Whole, may_join: Whole, *, taken: Whole, residuals: Numbers
) -> float:
    """Exchange rows, and return by how much the sum of squared residuals changes.

    How often rows are `taken`, and the `residuals`, are changed here.
    """
    scores = [cells.scores(rows, residuals) for rows in (may_leave, may_join)]
    orders = [np.argsort(scores[0], kind="stable"), np.argsort(-scores[1], kind="stable")]
    most = min(map(len, orders))
    gains = scores[1][orders[1][:most]] - scores[0][orders[0][:most]]
    number = int(np.count_nonzero(gains > cells.tables))
    while number:
        leaving, joining = may_leave[orders[0][:number]], may_join[orders[1][:number]]
        touched, changes = cells.changed(leaving, joining)
        change = float(changes @ (2 * residuals[touched] + changes))
        if change < 0:
            residuals[touched] += changes
            taken[leaving] -= 1
            taken[joining] += 1
            return change
        number //= 2
    return 0.0


class _Cells:
    """The cells of many tables, numbered through."""

    def __init__(
        self, domain: Domain, codes: Sequence[SampleCodes], tables: Iterable[tuple[str, ...]]
    ) -> None:
        families = list(tables)
        self.tables = len(families)
        self.codes_of_tables = sum(1 + len(family) for family in families)
        self._codes = np.stack(codes)  # as narrow as they come: there may be 300 attributes
        places = {name: place for place, name in enumerate(domain.attributes)}
        widest = max(map(len, families), default=0)
        self._columns = np.zeros((widest, len(families)), np.int64)
        """The k-th attribute of each table."""
        self._strides = np.zeros((widest, len(families), 1), np.int64)
        """By how much its code counts in the number of a cell; 0 where the table has no k-th."""
        sizes = [domain.cells(family) for family in families]
        self._first = np.cumsum([0, *sizes])[:-1, None]
        """The number of each table's first cell."""
        self._number = sum(sizes)
        for index, family in enumerate(families):
            shape = domain.shape(family)
            for place, name in enumerate(family):
                self._columns[place, index] = places[name]
                self._strides[place, index] = prod(shape[place + 1 :])

    def changed(self, leaving: Whole, joining: Whole) -> tuple[Whole | slice, Numbers]:
        """Give cells, and what is added to their residuals if some rows leave and others join."""
        left, joined = (self._of(self._codes[:, rows]).ravel() for rows in (leaving, joining))
        if self._number < CELLS_OF_A_ROW * len(left):
            counts = [np.bincount(places, minlength=self._number) for places in (left, joined)]
            return slice(None), np.asarray(counts[0] - counts[1], np.float64)
        touched, where = np.unique(np.concatenate([left, joined]), return_inverse=True)
        changes = np.bincount(where, np.repeat([1.0, -1.0], len(left)), minlength=len(touched))
        return np.asarray(touched, np.int64), np.asarray(changes, np.float64)

    def scores(self, rows: Whole, residuals: Numbers) -> Numbers:
        """Add up the residuals of each row's cells."""
        scores, codes = np.zeros(len(rows)), self._codes[:, rows].astype(np.int64)
        for start in range(0, self.tables, AT_ONCE):
            scores += residuals.take(self._of(codes, slice(start, start + AT_ONCE))).sum(axis=0)
        return scores

    def totals(self, values: Numbers) -> Numbers:
        """Add up a value of each row in its cells."""
        totals = np.zeros(self._number)
        for index in range(self.tables):
            first = self._first[index, 0]
            cells = self._of(self._codes, slice(index, index + 1))[0]
            counts = np.bincount(cells - first, values)
            totals[first : first + len(counts)] = counts
        return totals

    def _of(self, codes: SampleCodes | Whole, tables: slice = slice(None)) -> Whole:
        """Give the cells of rows with these codes in some of the tables."""
        cells = np.repeat(self._first[tables], codes.shape[1], axis=1)
        for columns, strides in zip(self._columns, self._strides, strict=True):
            cells += codes[columns[tables]] * strides[tables]
        return cells
