"""The rounds in which a schema is learnt, and the part of the budget that each column has in each.

Every learnt column has the same part of the budget. A column of numbers is counted in two or three
histograms. Of a column whose kind is not known, the first histogram also counts texts. A column of
texts has the rest of its part in one release at each party. All of this follows from public
figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from ...parties import SchemaPlan
from ...privacy.budget import Budget
from ..secure_sum import SumBatch
from .grid import COARSE_EDGES

__all__ = ["Rounds"]

TWO: Final = (0.5, 0.5)
THREE: Final = (0.25, 0.375, 0.375)
"""Parts of a column's budget in its histograms."""
ROWS_FOR_THREE: Final = 5.0
"""Standard deviations of the noise that a bin's rows must have for a third histogram."""
EXTRA_CELLS: Final = 2
"""Cells of the first histogram beside those of the grid: texts, and absent values."""
TEXTS_DELTA: Final = 0.1
"""Part of the run's delta that releases of texts may spend."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The histograms of a plan, and what each of them costs.

    Args:
        plan: the plan of the schema.
        budget: the budget of all that is learnt.
        delta: the delta of the run.
    """

    plan: SchemaPlan
    budget: Budget
    delta: float

    @property
    def counted_first(self) -> list[str]:
        """Columns of the first histogram: those that are not declared to be texts."""
        return [name for name, rule in self.plan.learnt.items() if rule.kind != "categories"]

    @property
    def first_cells(self) -> int:
        """Cells of a column in the first histogram."""
        return len(COARSE_EDGES) - 1 + EXTRA_CELLS

    def parts(self, *, parties: int, rows: int, colluding: int) -> tuple[float, ...]:
        """List the parts of the budget: three where the noise carries a third histogram."""
        names = self.counted_first
        if not names:
            return TWO
        bins = max(self.plan.learnt[name].bins for name in names)
        batch = self._batch(THREE[-1], columns=len(names), cells=bins * len(names))
        noisy = batch.among(parties=parties, rows=rows, colluding=colluding)
        deviation = sqrt(noisy.variance(shares=True))
        return THREE if rows > ROWS_FOR_THREE * bins * deviation else TWO

    def variance(self, *, parties: int, rows: int, colluding: int) -> float:
        """Compute the variance of a count that all histograms have, each weighted by its inverse.

        Histograms share the budget of their column. The noise of a part p of epsilon has 1 / p^2
        times the variance, and that of a part of rho 1 / p times. So how the noise of both compares
        depends on the parts. Columns of texts alone are counted once, with their whole budget.
        """
        if not self.plan.learnt:
            return 0.0  # the curator refuses such a plan
        parts = self.parts(parties=parties, rows=rows, colluding=colluding)
        precision = 0.0
        for part in parts if self.counted_first else (1.0,):
            batch = self._batch(part, columns=1, cells=1)
            noisy = batch.among(parties=parties, rows=rows, colluding=colluding)
            precision += 1 / noisy.variance(shares=True)
        return 1 / precision

    def first(self, parts: Sequence[float]) -> SumBatch:
        """Describe the batch of the first histograms."""
        names = self.counted_first
        return self._batch(parts[0], columns=len(names), cells=self.first_cells * len(names))

    def finer(self, part: float, *, cells: Sequence[int]) -> SumBatch:
        """Describe the batch of finer histograms with so many cells each."""
        return self._batch(part, columns=len(cells), cells=sum(cells))

    def of_texts(self, name: str, parts: Sequence[float]) -> Budget:
        """Give the budget of a column of texts, at each party."""
        declared = self.plan.learnt[name].kind == "categories"
        return self.budget.share((1 if declared else 1 - parts[0]) / len(self.plan.learnt))

    @property
    def delta_of_texts(self) -> float:
        """Delta of each column of texts."""
        return TEXTS_DELTA * self.delta / len(self.plan.learnt)

    def _batch(self, part: float, *, columns: int, cells: int) -> SumBatch:
        # A replaced record leaves one cell of a histogram and enters another.
        return SumBatch.of(
            self.budget.share(part * columns / len(self.plan.learnt)),
            cells=cells,
            sensitivity=2 * columns,
            squares=2 * columns,
        )
