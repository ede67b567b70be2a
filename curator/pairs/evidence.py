"""What was measured of the pairs of a batch: a table for each level, with its precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..marginal import Numbers
from .groups import Level, PairBatch

__all__ = ["Evidence", "Flags"]

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Evidence:
    """Tables of a batch's pairs, by level. A pair that was not measured has the precision 0."""

    batch: PairBatch
    tables: list[Numbers]
    precisions: list[Numbers]
    """One over the variance of a cell, for each pair."""

    @classmethod
    def none(cls, batch: PairBatch) -> Evidence:
        """Make evidence without any measurement."""
        return cls(
            batch,
            [np.zeros(batch.shape(level)) for level in range(batch.levels)],
            [np.zeros(len(batch.pairs)) for _ in range(batch.levels)],
        )

    def add(self, place: int, level: Level, table: Numbers, precision: float) -> None:
        """Take in a measured table, weighted by its precision."""
        before = self.precisions[level][place]
        total = before + precision
        mean = before * self.tables[level][place] + precision * table
        self.tables[level][place] = mean / total
        self.precisions[level][place] = total

    def chosen(self, flags: Flags) -> Evidence:
        """Keep the pairs with a flag."""
        return Evidence(
            self.batch.chosen(flags),
            [tables[flags] for tables in self.tables],
            [precision[flags] for precision in self.precisions],
        )

    @property
    def measured(self) -> Flags:
        """Which pairs were measured at any level."""
        return np.asarray(sum(self.precisions) > 0)

    def pooled(self, level: Level) -> tuple[Numbers, Numbers]:
        """Estimate the tables of a level from it and all finer ones: values and precisions.

        Each cell is weighted by its precision. Cells without any are 0.
        """
        weights, sums = np.zeros(self.batch.shape(level)), np.zeros(self.batch.shape(level))
        for fine in range(level, self.batch.levels):
            precision = self.precisions[fine]
            if not precision.any():
                continue
            cells = self.batch.merge(np.ones(self.batch.shape(fine)), start=fine, level=level)
            weight = precision[:, None, None] / cells
            weights += weight
            sums += weight * self.batch.merge(self.tables[fine], start=fine, level=level)
        return np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0), weights

    def margins(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Sum up finest tables: rows' values and precisions, and columns'."""
        table, precision = self.tables[-1], self.precisions[-1]
        _, rows, columns = table.shape
        return table.sum(axis=2), precision / columns, table.sum(axis=1), precision / rows
