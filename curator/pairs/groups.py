"""Nested groups of an attribute's labels, and batches of pairs whose tables have the same shapes.

A table of two attributes with many labels is measured in groups where its cells would be lost in
noise. Each attribute has at most 2, 4 and 8 groups of neighbouring labels, and its labels; groups
are halved where their mass is. So a pair has up to four levels, and a cell of one level is a
rectangle of cells of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..marginal import Numbers

__all__ = ["Level", "NestedGroups", "Pair", "PairBatch", "batches_of", "nested_groups"]

Pair: TypeAlias = tuple[str, ...]
Level: TypeAlias = int
Groups: TypeAlias = npt.NDArray[np.int64]
"""The group of each label."""
NestedGroups: TypeAlias = Mapping[str, Sequence[Groups]]
"""The groups of each attribute, from coarse to fine; the finest are the labels."""

HALVINGS: Final = 3
"""Halvings of the labels: at most 2, 4 and 8 groups."""
MIN_MASS: Final = 1e-6
"""Added to the mass of a label, so that labels without mass are halved as well."""


def nested_groups(shares: Numbers) -> tuple[Groups, ...]:
    """Halve labels, in their order, into groups of about equal mass; the labels come last.

    >>> [groups.tolist() for groups in nested_groups(np.array([0.4, 0.1, 0.2, 0.3]))]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]
    """
    labels = len(shares)
    ends = np.concatenate([[0.0], np.cumsum(np.maximum(shares, 0) + MIN_MASS)])
    segments = [(0, labels)]
    levels = []
    for _ in range(HALVINGS):
        halves = []
        for start, stop in segments:
            if stop - start == 1:
                halves.append((start, stop))
                continue
            half = (ends[start] + ends[stop]) / 2
            middle = start + 1 + int(np.argmin(np.abs(ends[start + 1 : stop] - half)))
            halves += [(start, middle), (middle, stop)]
        segments = halves
        sizes = [stop - start for start, stop in segments]
        levels.append(np.repeat(np.arange(len(segments)), sizes))
    return (*levels, np.arange(labels))


@dataclass(frozen=True)
class PairBatch:
    """Pairs whose tables have the same shape at each level. Arrays have an axis for the pairs."""

    pairs: tuple[Pair, ...]
    steps: tuple[int, ...]
    """The step of the attributes' nested groups that each level is made of."""
    left: tuple[Numbers, ...]
    """For each level the matrices that add up rows of the finest table: pairs, groups, labels."""
    right: tuple[Numbers, ...]

    @property
    def levels(self) -> int:
        """The number of levels; the last has the labels themselves."""
        return len(self.steps)

    def cells(self, level: Level) -> int:
        """Count the cells of a table at a level."""
        _, rows, columns = self.shape(level)
        return rows * columns

    def shape(self, level: Level) -> tuple[int, int, int]:
        """Give the shape of all tables at a level."""
        return len(self.pairs), self.left[level].shape[1], self.right[level].shape[1]

    def merge(self, tables: Numbers, *, start: Level, level: Level) -> Numbers:
        """Add up cells of tables at the level `start`, for a coarser level.

        Tables may have more axes after the one of the pairs.
        """
        if start == level:
            return tables
        rows, columns = self._parents[start][level]
        more = tables.ndim - 3
        rows = rows.reshape(len(rows), *[1] * more, *rows.shape[1:])
        columns = columns.reshape(len(columns), *[1] * more, *columns.shape[1:])
        return np.asarray(rows @ tables @ np.swapaxes(columns, -1, -2))

    def spread(self, tables: Numbers, *, start: Level, level: Level) -> Numbers:
        """Give each cell of a finer level the value of the cell that it is part of."""
        if start == level:
            return tables
        rows, columns = self._parents[level][start]
        more = tables.ndim - 3
        rows = rows.reshape(len(rows), *[1] * more, *rows.shape[1:])
        columns = columns.reshape(len(columns), *[1] * more, *columns.shape[1:])
        return np.asarray(np.swapaxes(rows, -1, -2) @ tables @ columns)

    def chosen(self, flags: npt.NDArray[np.bool_]) -> PairBatch:
        """Keep these pairs alone."""
        if flags.all():
            return self
        pairs = tuple(pair for pair, flag in zip(self.pairs, flags.tolist(), strict=True) if flag)
        left, right = (tuple(part[flags] for part in side) for side in (self.left, self.right))
        return PairBatch(pairs, self.steps, left, right)

    @cached_property
    def _parents(self) -> list[list[tuple[Numbers, Numbers]]]:
        """For each level and each coarser one the matrices that add up rows and columns."""
        return [
            [
                (
                    _parents(self.left[level], self.left[coarse]),
                    _parents(self.right[level], self.right[coarse]),
                )
                for coarse in range(level)
            ]
            for level in range(self.levels)
        ]


def batches_of(groups: NestedGroups, *, most_cells: int = 1 << 21) -> list[PairBatch]:
    """Sort all pairs of attributes into batches of the same shapes, of bounded size."""
    shapes: dict[tuple[tuple[int, int], ...], list[Pair]] = {}
    for pair in combinations(groups, 2):
        sizes = zip(*([int(part.max()) + 1 for part in groups[name]] for name in pair), strict=True)
        shapes.setdefault(tuple(sizes), []).append(pair)
    batches = []
    for levels, pairs in shapes.items():
        steps = [step for step, shape in enumerate(levels) if shape not in levels[step + 1 :]]
        rows, columns = levels[-1]
        most = max(1, most_cells // (rows * columns))
        batches += [
            _batch(groups, pairs[start : start + most], steps)
            for start in range(0, len(pairs), most)
        ]
    return batches


def _batch(groups: NestedGroups, pairs: Sequence[Pair], steps: Sequence[int]) -> PairBatch:
    left, right = (
        tuple(np.stack([_indicators(groups[pair[side]][step]) for pair in pairs]) for step in steps)
        for side in (0, 1)
    )
    return PairBatch(tuple(pairs), tuple(steps), left, right)


def _indicators(groups: Groups) -> Numbers:
    """Make the matrix of groups by labels that is 1 where a label is in a group."""
    return np.asarray((np.arange(groups.max() + 1)[:, None] == groups).astype(float))


def _parents(fine: Numbers, coarse: Numbers) -> Numbers:
    """Make the matrices of coarse by fine groups that are 1 where a group is part of another."""
    common = coarse @ np.swapaxes(fine, -1, -2)
    return np.asarray((common > 0).astype(float))
