"""What all roles of FLAIM compute alike before the first round, from public figures alone.

Tables have nine tenths of the budget and choices a tenth, as in AIM. The number of rounds is fixed,
so all tables have noise of one scale, and all choices cost the same:

    rho of a table     r rho / number of tables that a record is in
    rho of a choice    (1 - r) rho / T

A record is in the d tables of single attributes at the start, and in each round in the one table
that its party chose. AugFLAIM measures the d single attributes again in every round but the last.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...privacy import Budget, Domain
from ..aim.budget import CHOICES
from ..aim.plan import MIN_ACCEPTED_CELLS
from ..aim.workload import Workload, workload_of
from ..secure_sum import Family, SumBatch, Tables
from .parameters import FLAIMParameters

__all__ = ["RoundPlan"]


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """The workload and how the budget is divided."""

    workload: Workload
    whole: Budget
    rounds: int
    max_cells: int
    """Most cells of the model's cliques together."""
    remeasures: bool
    """Whether the single attributes are measured again in every round but the last (AugFLAIM)."""

    @classmethod
    def of(
        cls, domain: Domain, parameters: FLAIMParameters, *, whole: Budget, remeasures: bool
    ) -> RoundPlan:
        """Make the plan.

        Raises:
            UsageError: the workload is too large.
        """
        workload = workload_of(domain, max_cells=parameters.max_cells)
        return cls(workload, whole, parameters.rounds, parameters.max_cells, remeasures)

    @property
    def domain(self) -> Domain:
        return self.workload.domain

    @property
    def has_pairs(self) -> bool:
        """Whether there is any pair to approximate."""
        return any(len(family) == 2 for family in self.workload.weights)

    @property
    def single_families(self) -> tuple[Family, ...]:
        """The single attributes, each as a table."""
        return tuple((name,) for name in self.workload.attributes)

    def singles_in(self, number: int) -> tuple[Family, ...]:
        """List the single attributes that are measured in a round, from 1."""
        return self.single_families if self.remeasures and number < self.rounds else ()

    def tables_until(self, number: int) -> int:
        """Count the tables that a record is in, until the end of a round."""
        again = sum(len(self.singles_in(earlier)) for earlier in range(1, number + 1))
        return len(self.workload.attributes) + number + again

    @property
    def table(self) -> float:
        """Rho of a table."""
        return (1 - CHOICES) * self.whole.amount / self.tables_until(self.rounds)

    @property
    def choice(self) -> Budget:
        """The budget of one choice of a party."""
        return self.whole.share(CHOICES / self.rounds)

    @property
    def singles(self) -> Tables:
        """The batch of single attributes at the start. Without pairs it takes the whole budget."""
        families, budget = self.single_families, self.whole
        if self.has_pairs:
            budget = Budget("rho", len(families) * self.table)
        return Tables(self.domain, families, budget)

    def batch(self, number: int, measured: tuple[Family, ...]) -> SumBatch:
        """Make the batch of a round: single attributes, if any, and the chosen tables.

        A party adds its records to the table that it chose and zeros to the others. So a record is
        in one chosen table, however many are in the batch, and the noise does not grow with them.
        """
        singles = self.singles_in(number)
        tables = len(singles) + 1
        return SumBatch.of(
            Budget("rho", tables * self.table),
            cells=sum(map(self.domain.cells, (*singles, *measured))),
            sensitivity=2 * tables,
            squares=2 * tables,
        )

    def cells_allowed(self, number: int) -> float:
        """Bound the model's cells in a round: it grows with the budget that has been spent."""
        return self.max_cells * self.tables_until(number) / self.tables_until(self.rounds)

    @property
    def max_accepted_cells(self) -> int:
        """Most cells of a model that a party accepts; single attributes are always in it."""
        single = sum(self.domain.shape(self.domain.attributes))
        return single + max(4 * self.max_cells, MIN_ACCEPTED_CELLS)
