"""The budgets of the rounds, as all roles compute them from public figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, sqrt
from typing import Final

from ...messages import UsageError
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ...privacy.many_labels import too_many_labels
from ..secure_sum import NoiseKind, SumBatch
from .choices import SHARE, ChoicePlan
from .tables import MAX_WEIGHT, PlannedTable, batch_of, integer_weights, single_amounts

__all__ = ["Rounds", "require_bounded"]

FIRST: Final[Mapping[Unit, float]] = {"rho": 0.03, "epsilon": 0.3}
"""Share of round 1. Results hardly depend on it between .03 and .1 of rho."""
GROWTH: Final[Mapping[Unit, float]] = {"rho": 1.4, "epsilon": 2.0}
"""The share of a later round over that of the round before."""
USUAL_PAIRS: Final = 4
"""Pairs for each attribute that a round measures, as a rule."""
MAX_PAIR_CELLS: Final = 1 << 23
"""Most cells of all pairs' tables together: the curator holds ten numbers for each of them."""


def require_bounded(domain: Domain) -> None:
    """Refuse a domain whose pairs have more cells than the curator can hold.

    Raises:
        UsageError: the text names the attributes with the most labels.
    """
    sizes = domain.shape(domain.attributes)
    if (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2 > MAX_PAIR_CELLS:
        raise UsageError(too_many_labels("pairs of attributes", domain))


@dataclass(frozen=True)
class Rounds:
    """The budget of each round, and the precision that it buys.

    Round 1 measures single attributes, which takes little; the shares of later rounds grow.
    """

    domain: Domain
    """Attributes of two labels or more."""
    budget: Budget
    """The budget of the run."""
    count: int
    rows: int
    parties: int
    colluding: int
    noise: NoiseKind

    @property
    def shares(self) -> list[float]:
        """The rounds' shares of the budget of all sums."""
        if self.count == 1:
            return [1.0]
        first = FIRST[self.budget.unit]
        later = [GROWTH[self.budget.unit] ** number for number in range(self.count - 1)]
        return [first, *[(1 - first) * part / sum(later) for part in later]]

    @cached_property
    def choices(self) -> ChoicePlan | None:
        """Which parties name pairs, and when; `None` if none do."""
        pairs = comb(len(self.domain.attributes), 2)
        if self.count == 1 or not pairs:
            return None
        precision = self._table_precision(self.budget.share(self.shares[1]))
        return ChoicePlan.of(
            self.domain,
            self.budget,
            rounds=self.count,
            rows=self.rows,
            parties=self.parties,
            deviation=sqrt(pairs**self.power / precision),
        )

    def choosers(self, number: int, rows_by_party: Sequence[int]) -> list[int]:
        """List the parties that name pairs in a round."""
        return [] if self.choices is None else self.choices.parties_in(number, rows_by_party)

    @property
    def sums(self) -> Budget:
        """The budget of all sums."""
        return self.budget if self.choices is None else self.budget.share(1 - SHARE)

    @property
    def power(self) -> int:
        """Exponent with which precision grows with a table's share: 1 in rho, 2 in epsilon."""
        return 1 if self.budget.concentrated else 2

    def budget_of(self, number: int) -> Budget:
        """Give the budget of a round; rounds are numbered from 1."""
        return self.sums.share(self.shares[number - 1])

    def table_precision(self, number: int) -> float:
        """Compute the precision of a single table that has a whole round's budget."""
        return self._table_precision(self.budget_of(number))

    def _table_precision(self, budget: Budget) -> float:
        weight = MAX_WEIGHT  # as in a batch, whose noise is wide beside whole numbers
        batch = SumBatch.of(
            budget,
            cells=1,
            sensitivity=2 * weight,
            squares=2 * weight**2,
            weight=weight,
        )
        return (float(self.rows) * weight) ** 2 / self._variance(batch)

    def first_tables(self) -> list[PlannedTable]:
        """Plan round 1, from public sizes."""
        amounts = single_amounts(self.domain, power=self.power)
        weights = integer_weights(amounts, power=self.power)
        return [PlannedTable(attributes, weight) for attributes, weight in weights.items()]

    def batch(self, number: int, tables: Sequence[PlannedTable]) -> SumBatch:
        """Describe the batch of a round."""
        return batch_of(self.domain, tables, self.budget_of(number))

    def typical_deviation(self) -> float:
        """Compute the noise of as many equal tables as a round measures, to compare budgets."""
        attributes = len(self.domain.attributes)
        tables = attributes + min(attributes * (attributes - 1) // 2, USUAL_PAIRS * attributes)
        weight = MAX_WEIGHT  # as in a batch, whose noise is wide beside whole numbers
        batch = SumBatch.of(
            self.sums,
            cells=tables,
            sensitivity=2 * weight * tables,
            squares=2 * weight**2 * tables,
            weight=weight,
        )
        return float(self._variance(batch) ** 0.5) / weight

    def _variance(self, batch: SumBatch) -> float:
        noisy = batch.among(parties=self.parties, rows=self.rows, colluding=self.colluding)
        return noisy.variance(shares=self.noise == "shares")
