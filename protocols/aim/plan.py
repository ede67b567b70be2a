"""What all roles compute alike before the first round, from public figures alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...privacy import Budget, Domain
from ..secure_sum import Family, Tables
from .budget import ROUNDS, RunBudget, choice_budget, single_budget
from .parameters import AIMParameters
from .workload import Workload, workload_of

__all__ = ["RunPlan", "table_of"]

MIN_ACCEPTED_CELLS: Final = 1 << 22
"""Cells of a model that every party accepts: 32 MiB."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The workload and how the budget is divided."""

    workload: Workload
    whole: Budget
    rounds: int
    """Number of rounds for which the first noise is made."""
    max_cells: int
    """Most cells of the model's cliques together."""

    @classmethod
    def of(cls, domain: Domain, parameters: AIMParameters, *, whole: Budget) -> RunPlan:
        """Make the plan. The single attributes get at most a half of the budget.

        Raises:
            UsageError: the workload is too large.
        """
        workload = workload_of(domain, max_cells=parameters.max_cells)
        attributes = len(workload.attributes)
        rounds = max(parameters.rounds or ROUNDS * attributes, 2 * attributes)
        return cls(workload, whole, rounds, parameters.max_cells)

    @property
    def domain(self) -> Domain:
        return self.workload.domain

    @property
    def has_pairs(self) -> bool:
        """Whether there is any pair to approximate."""
        return any(len(family) == 2 for family in self.workload.weights)

    @property
    def singles(self) -> Tables:
        """The batch of single attributes. Without pairs it takes the whole budget."""
        attributes = self.workload.attributes
        budget = self.whole
        if self.has_pairs:
            budget = single_budget(budget, attributes=len(attributes), rounds=self.rounds)
        return Tables(self.domain, tuple((name,) for name in attributes), budget)

    @property
    def choices(self) -> float:
        """Rho of all choices of one party."""
        attributes = len(self.workload.attributes)
        return choice_budget(self.whole, attributes=attributes, rounds=self.rounds)

    @property
    def max_accepted_cells(self) -> int:
        """Most cells of a model that a party accepts; single attributes are always in it."""
        single = sum(self.domain.shape(self.domain.attributes))
        return single + max(4 * self.max_cells, MIN_ACCEPTED_CELLS)

    def start(self, rows: list[int]) -> RunBudget:
        """Give the budget after the single attributes, for parties of so many rows."""
        attributes = len(self.workload.attributes)
        return RunBudget.start(self.whole, attributes=attributes, rounds=self.rounds, rows=rows)


def table_of(domain: Domain, family: Family, *, rho: float) -> Tables:
    """Make the batch of one table."""
    return Tables(domain, (family,), Budget("rho", rho))
