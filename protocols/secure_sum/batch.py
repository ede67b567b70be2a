"""The batch of a secure sum: its size, its sensitivity and its budget, from public figures."""

from __future__ import annotations

from dataclasses import dataclass

from ...privacy.shares import Batch

__all__ = ["SumBatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SumBatch:
    """Cells that are summed and released together. All roles make the same one.

    A batch has noise of one scale. If table i is multiplied by w_i before summing, dividing by w_i
    afterwards divides its noise by w_i; the sensitivity counts that table w_i times.
    """

    cells: int
    """Cells of all tables together."""
    sensitivity: int
    """Bound on the change of all cells together between neighbours, in L1."""
    epsilon: float
    """Budget of the whole batch."""
    weight: int = 1
    """The largest factor by which a table is multiplied."""

    def among(self, *, parties: int, rows: int, colluding: int) -> Batch:
        """Describe the batch's noise: that of so many parties with so many rows in all."""
        return Batch(
            cells=self.cells,
            sensitivity=self.sensitivity,
            epsilon=self.epsilon,
            rows=self.weight * rows,
            parties=parties,
            colluding=colluding,
        )
