"""The budgets of the rounds, as all roles compute them from public figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...messages import UsageError
from ...privacy import Budget, Domain
from ..secure_sum import NoiseKind, SumBatch
from .messages import cells_beyond_bound
from .planning import plan_round
from .tables import PlannedTable, batch_of

__all__ = ["Rounds"]


@dataclass(frozen=True, slots=True)
class Rounds:
    """What each round may spend, and what that buys.

    Round 1 has the share `first`, and later rounds have equal shares of the rest.
    """

    domain: Domain
    """Attributes of two labels or more."""
    budget: Budget
    """The budget of all rounds."""
    count: int
    first: float
    rows: int
    parties: int
    colluding: int
    noise: NoiseKind

    @property
    def shares(self) -> list[float]:
        """The shares of the budget."""
        if self.count == 1:
            return [1.0]
        return [self.first, *[(1 - self.first) / (self.count - 1)] * (self.count - 1)]

    @property
    def power(self) -> int:
        """How precision grows with a table's share of a round."""
        return 1 if self.budget.concentrated else 2

    def budget_of(self, number: int) -> Budget:
        """Give the budget of a round; rounds are numbered from 1."""
        return self.budget.share(self.shares[number - 1])

    def alone(self, number: int) -> float:
        """Compute the precision of a single table that has a whole round's budget."""
        batch = SumBatch.of(self.budget_of(number), cells=1, sensitivity=2, squares=2)
        return float(self.rows) ** 2 / self._variance(batch)

    def first_tables(self) -> list[PlannedTable]:
        """Plan round 1.

        Raises:
            UsageError: the tables have too many cells.
        """
        tables = plan_round(self.domain, None, measured=(), alone=self.alone(1), power=self.power)
        if problem := cells_beyond_bound(self.domain, tables):
            raise UsageError(problem)
        return tables

    def batch(self, number: int, tables: Sequence[PlannedTable]) -> SumBatch:
        """Describe the batch of a round."""
        return batch_of(self.domain, tables, self.budget_of(number))

    def first_error(self) -> float:
        """Compute the sum of the standard deviations of all cells of round 1."""
        tables = self.first_tables()
        deviation = self._variance(self.batch(1, tables)) ** 0.5
        return float(deviation * sum(table.cells(self.domain) / table.weight for table in tables))

    def _variance(self, batch: SumBatch) -> float:
        noisy = batch.among(parties=self.parties, rows=self.rows, colluding=self.colluding)
        return noisy.variance(shares=self.noise == "shares")
