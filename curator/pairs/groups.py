"""Nested groups of an attribute's labels, and batches of pairs whose tables have the same shapes.

A table with many cells is measured in groups of labels where single cells would be lost in noise.
Each attribute has at most 8 groups of neighbouring labels, at most 32 if it has many labels, and
the labels themselves. Before these it has at most 4 groups, or at most 2 where noise is large. A
group is divided into two halves of about equal mass. So a pair has a few levels, from coarse to
fine. A cell of one level is a rectangle of cells of the next.

Two groups do not show whether labels have an order, four do, and their tables have four times the
cells. There is never a level of 2 and one of 4 groups: a plan that could use every halving would
measure at each in turn, and spend budget on what the next one shows as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import pi, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...messages import WorkKind, count_work
from ..marginal import Numbers

__all__ = [
    "Groups",
    "Level",
    "NestedGroups",
    "Pair",
    "PairBatch",
    "batches_of",
    "first_halvings",
    "nested_groups",
]

Pair: TypeAlias = tuple[str, ...]
Level: TypeAlias = int
Groups: TypeAlias = npt.NDArray[np.int64]
"""The group of each label."""
NestedGroups: TypeAlias = Mapping[str, Sequence[Groups]]
"""The groups of each attribute, from coarse to fine; the finest are the labels."""

FURTHER_HALVINGS: Final = (3, 5)
"""Numbers of halvings that make a level after the first one: at most 8 and 32 groups."""
MAX_NOISE: Final = 0.26
"""Most noise of a table of 4 by 4 groups, as a distance, with which these are the first level.

With more noise two groups do better (docs/adaptive-pairs-trials.md): it hides dependence in so many
cells.
"""
FEW_GROUPS: Final = 8
"""Up to so many groups are a level of their own, even if most of them have one label."""
MIN_GROUP_SIZE: Final = 2
"""More groups are a level of their own only if they have so many labels on average."""
MIN_MASS: Final = 1e-6
"""Added to the mass of a label, so that labels without mass are halved as well."""
MAX_NUMBERS: Final = 1 << 22
"""Most numbers in an array of a batch."""


def first_halvings(pairs: int, *, table_precision: float, power: int) -> int:
    """Choose the halvings of the first level: 2 where a table of 4 by 4 groups shows enough, or 1.

    Args:
        pairs: the number of pairs, which are taken to share the measurement evenly.
        table_precision: the precision of a table that has the whole budget of the measurement.
        power: how precision grows with a share of the budget: 1 in rho, 2 in epsilon.
    """
    deviation = sqrt(max(pairs, 1) ** power / table_precision)
    return 2 if 16 * sqrt(2 / pi) * deviation / 2 <= MAX_NOISE else 1


def nested_groups(shares: Numbers, *, first: int) -> tuple[Groups, ...]:
    """Halve labels, in their order, into groups of about equal mass; the labels come last.

    >>> [groups.tolist() for groups in nested_groups(np.array([0.4, 0.1, 0.2, 0.3]), first=1)]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]

    Args:
        shares: the distribution of the labels.
        first: the number of halvings that make the first level.
    """
    measured = (first, *FURTHER_HALVINGS)
    labels = len(shares)
    ends = np.concatenate([[0.0], np.cumsum(np.maximum(shares, 0) + MIN_MASS)])
    segments = [(0, labels)]
    levels = []
    for halvings in range(1, measured[-1] + 1):
        halves = []
        for start, stop in segments:
            if stop - start == 1:
                halves.append((start, stop))
                continue
            half = (ends[start] + ends[stop]) / 2
            middle = start + 1 + int(np.argmin(np.abs(ends[start + 1 : stop] - half)))
            halves += [(start, middle), (middle, stop)]
        segments = halves
        if halvings in measured:
            is_fine = len(segments) > FEW_GROUPS and MIN_GROUP_SIZE * len(segments) > labels
            sizes = [1] * labels if is_fine else [stop - start for start, stop in segments]
            levels.append(np.repeat(np.arange(len(sizes)), sizes))
    return (*levels, np.arange(labels))


@dataclass(frozen=True)
class PairBatch:
    """Pairs whose tables have the same shape at each level. Arrays have an axis for the pairs."""

    pairs: tuple[Pair, ...]
    steps: tuple[int, ...]
    """For each level, the step of the attributes' nested groups."""
    groups: tuple[tuple[Groups, Groups], ...]
    """For each level the group of each label of the pairs' first and second attributes."""

    @property
    def levels(self) -> int:
        """The number of levels; the last has the labels themselves."""
        return len(self.steps)

    @property
    def finest(self) -> Level:
        """The level of the labels themselves."""
        return len(self.steps) - 1

    def cells(self, level: Level) -> int:
        """Count the cells of a table at a level."""
        _, rows, columns = self.shape(level)
        return rows * columns

    def shape(self, level: Level) -> tuple[int, int, int]:
        """Give the shape of all tables at a level."""
        return len(self.pairs), *self._numbers_of_groups[level]

    def merge(self, tables: Numbers, *, start: Level, level: Level) -> Numbers:
        """Add up cells of tables at the level `start`, for a coarser level.

        Tables may have more axes after the one of the pairs.
        """
        if start == level:
            return tables
        count_work(WorkKind.ARRAY, 12)
        rows, columns = self._matrices(start, level, axes=tables.ndim)
        return np.asarray(rows @ tables @ np.swapaxes(columns, -1, -2))

    def spread(self, tables: Numbers, *, start: Level, level: Level) -> Numbers:
        """Give each cell of a finer level the value of the cell that it is part of."""
        if start == level:
            return tables
        count_work(WorkKind.ARRAY, 12)
        rows, columns = self._matrices(level, start, axes=tables.ndim)
        return np.asarray(np.swapaxes(rows, -1, -2) @ tables @ columns)

    def margins(self, singles: Mapping[str, Numbers], level: Level) -> tuple[Numbers, Numbers]:
        """Add up the attributes' distributions for a level: of all rows, and of all columns."""
        rows, columns = (
            np.stack([singles[pair[side]] for pair in self.pairs])[:, :, None] for side in (0, 1)
        )
        if level < self.finest:
            left, right = self._parents[self.finest, level]
            rows, columns = left @ rows, right @ columns
        return rows[:, :, 0], columns[:, :, 0]

    def parents_of(self, place: int, level: Level, side: int) -> Groups:
        """Give the group at the level before of each group of one attribute of a pair.

        At the coarsest level it is 0.
        """
        fine = self.groups[level][side][place]
        parents = np.zeros(int(fine.max()) + 1, np.int64)
        if level:
            parents[fine] = self.groups[level - 1][side][place]
        return parents

    def chosen(self, flags: npt.NDArray[np.bool_]) -> PairBatch:
        """Keep the pairs with a flag."""
        if flags.all():
            return self
        pairs = tuple(pair for pair, flag in zip(self.pairs, flags.tolist(), strict=True) if flag)
        groups = tuple((left[flags], right[flags]) for left, right in self.groups)
        return PairBatch(pairs, self.steps, groups)

    def _matrices(self, fine: Level, coarse: Level, *, axes: int) -> tuple[Numbers, Numbers]:
        """Give the matrices of rows and columns, shaped for tables with so many axes."""
        rows, columns = (
            matrix.reshape(len(matrix), *[1] * (axes - 3), *matrix.shape[1:])
            for matrix in self._parents[fine, coarse]
        )
        return rows, columns

    @cached_property
    def _numbers_of_groups(self) -> list[tuple[int, int]]:
        """The numbers of rows and of columns at each level."""
        return [(int(rows.max()) + 1, int(columns.max()) + 1) for rows, columns in self.groups]

    @cached_property
    def _parents(self) -> dict[tuple[Level, Level], tuple[Numbers, Numbers]]:
        """For each level and each coarser one the matrices that add up rows and columns."""
        return {
            (fine, coarse): (
                _parents(self.groups[fine][0], self.groups[coarse][0]),
                _parents(self.groups[fine][1], self.groups[coarse][1]),
            )
            for fine in range(self.levels)
            for coarse in range(fine)
        }


def batches_of(groups: NestedGroups) -> list[PairBatch]:
    """Sort all pairs of attributes into batches of the same shapes, of bounded size."""
    pairs_by_shapes: dict[tuple[tuple[int, int], ...], list[Pair]] = {}
    for pair in combinations(groups, 2):
        sizes = zip(*([int(part.max()) + 1 for part in groups[name]] for name in pair), strict=True)
        pairs_by_shapes.setdefault(tuple(sizes), []).append(pair)
    batches = []
    for shapes, pairs in pairs_by_shapes.items():
        steps = [step for step, shape in enumerate(shapes) if shape not in shapes[step + 1 :]]
        rows, columns = shapes[-1]
        # Eleven centres of a table, and the contrasts of each attribute.
        most = max(1, MAX_NUMBERS // max(11 * rows * columns, rows**2, columns**2))
        batches += [
            _batch(groups, pairs[start : start + most], steps)
            for start in range(0, len(pairs), most)
        ]
    return batches


def _batch(groups: NestedGroups, pairs: Sequence[Pair], steps: Sequence[int]) -> PairBatch:
    first, second = (
        [np.stack([groups[pair[side]][step] for pair in pairs]) for step in steps]
        for side in (0, 1)
    )
    return PairBatch(tuple(pairs), tuple(steps), tuple(zip(first, second, strict=True)))


def _parents(fine: Groups, coarse: Groups) -> Numbers:
    """Make the matrices of coarse by fine groups that are 1 where a group is part of another."""
    count, fine_groups = len(fine), int(fine.max()) + 1
    parents = np.zeros((count, fine_groups), np.int64)
    np.put_along_axis(parents, fine, coarse, axis=1)
    return np.asarray((np.arange(int(coarse.max()) + 1)[:, None] == parents[:, None]).astype(float))
