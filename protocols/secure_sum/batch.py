"""The batch of a secure sum: its size, its sensitivity and its budget, from public figures."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

from ...privacy.batch import Batch
from ...privacy.budget import Budget, Unit
from ...privacy.gaussian_loss import variance_for

__all__ = ["SumBatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SumBatch:
    """Cells that are summed and released together. All roles make the same one.

    A budget of epsilon buys Laplace noise, and a budget of rho buys Gaussian noise (`of`).

    A batch has noise of one scale. If table i is multiplied by w_i before summing, dividing by w_i
    afterwards divides its noise by w_i; the sensitivity counts that table w_i times.
    """

    cells: int
    """Cells of all tables together."""
    sensitivity: int
    """Bound on the change of all cells together between neighbours, in L1."""
    epsilon: float = inf
    """Budget of the whole batch; infinity where its budget is rho."""
    rho: float | None = None
    """Budget of the whole batch for Gaussian noise."""
    squares: int | None = None
    """Bound on the squared change of all cells in L2, for Gaussian noise."""
    weight: int = 1
    """The largest factor by which a table is multiplied."""
    of_gaussian: bool = False
    """Whether `rho` bounds the Gaussian loss as well (`Budget.of_gaussian`)."""

    @property
    def unit(self) -> Unit:
        """The unit of the batch's budget."""
        return "epsilon" if self.rho is None else "rho"

    @property
    def deviation(self) -> float:
        """Standard deviation of full noise, which all shares of honest parties are together.

        It is infinite where a share of the budget is so small that it is 0.
        """
        if self.rho is None:
            return sqrt(2) * self.sensitivity / self.epsilon if self.epsilon else inf
        if not self.rho:
            return inf
        squares = self.squares or 0
        if self.of_gaussian:
            return sqrt(variance_for(self.rho, l2_squared=squares))
        return sqrt(squares / (2 * self.rho))

    @classmethod
    def of(
        cls, budget: Budget, *, cells: int, sensitivity: int, squares: int, weight: int = 1
    ) -> SumBatch:
        """Make a batch that costs this budget.

        Args:
            budget: an amount of epsilon, for Laplace noise, or of rho, for Gaussian noise.
            cells: the number of cells.
            sensitivity: the bound on the change of all cells together, in L1.
            squares: the bound on the sum of squared changes. A replaced record changes two cells of
                a table by 1 each, so t tables have the sensitivity 2 t and the squares 2 t.
            weight: the largest factor by which a table is multiplied.
        """
        if budget.concentrated:
            return cls(
                cells=cells,
                sensitivity=sensitivity,
                rho=budget.amount,
                squares=squares,
                weight=weight,
                of_gaussian=budget.of_gaussian,
            )
        return cls(cells=cells, sensitivity=sensitivity, epsilon=budget.amount, weight=weight)

    def deviation_among(self, *, parties: int, colluding: int) -> float:
        """Standard deviation of what so many parties' honest shares are together.

        It is `deviation`, or more where many Gaussian shares would be narrow.
        """
        if not self.rho:
            return self.deviation
        return self.among(parties=parties, rows=0, colluding=colluding).scale

    def among(self, *, parties: int, rows: int, colluding: int) -> Batch:
        """Describe the batch's noise: that of so many parties with so many rows in all."""
        return Batch(
            cells=self.cells,
            sensitivity=self.sensitivity,
            epsilon=self.epsilon,
            rho=self.rho,
            squares=self.squares,
            of_gaussian=self.of_gaussian,
            rows=self.weight * rows,
            parties=parties,
            colluding=colluding,
        )
