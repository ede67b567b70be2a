"""The budget of a run of AIM: what is left, what the next table costs, and who chooses it.

AIM spends nine tenths of a round's budget on the table and one tenth on its choice. The amounts
here keep the two apart, because a table is of all parties' records and a choice of one party's.

    tables     rho of the tables that all parties sum. Every record is in all of them.
    choices    rho of the choices of each party, on its own records alone. Parties' records are
               disjoint, so each party may spend the whole of it (parallel composition).

A party with n of N records pays N / n times for a choice what a single holder would pay for it, as
long as its own amount lasts. It has its turn in about n / N of the rounds, weighed by their cost.
With one party this is AIM's own split.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...privacy import Budget

__all__ = ["CHOICES", "ROUNDS", "RunBudget"]

CHOICES: Final = 0.1
"""Share of the budget that choices have (the paper's 1 - alpha)."""
ROUNDS: Final = 16
"""Rounds for each attribute that the first noise scale is made for (the paper's T = 16 d)."""
STEP: Final = 4.0
"""Factor of a table's rho when the noise is halved."""


@dataclass(kw_only=True)
class RunBudget:
    """What is left of the budget while rounds go on. The curator keeps it."""

    left: float
    """Rho that is left for tables."""
    table: float
    """Rho of the next table."""
    tables: float
    """Rho of all tables, those of single attributes included."""
    rows: Sequence[int]
    """Rows of each party; one without rows counts as if it had one."""
    choices: list[float] = field(default_factory=list)
    """Rho that each party has left for its choices."""
    lost: Collection[int] = ()
    """Parties that are lost: they have no turn."""

    @classmethod
    def start(
        cls, whole: Budget, *, attributes: int, rounds: int, rows: Sequence[int]
    ) -> RunBudget:
        """Give the budget after the single attributes have been measured."""
        rest = whole.amount - single_budget(whole, attributes=attributes, rounds=rounds).amount
        return cls(
            left=(1 - CHOICES) * rest,
            table=(1 - CHOICES) * whole.amount / rounds,
            tables=(1 - CHOICES) * whole.amount,
            rows=[max(count, 1) for count in rows],
            choices=[choice_budget(whole, attributes=attributes, rounds=rounds)] * len(rows),
        )

    def next_round(self) -> tuple[int, float]:
        """Give the party that chooses, from 1, and the rho of its choice.

        If little would be left after the next table, this one takes all that is left: then the
        round is the last. A cost of 0 means that nobody is left who has rho for a choice.
        """
        if self.left < 2 * self.table:
            self.table = self.left
        share = CHOICES / (1 - CHOICES) * self.table
        # The choices of those who are left have to last for all rounds that are left.
        total = sum(rows for party, rows in enumerate(self.rows, 1) if party not in self.lost)
        worth = [
            -1.0 if party in self.lost else min(total * rows * share, rows**2 * left)
            for party, (rows, left) in enumerate(zip(self.rows, self.choices, strict=True), 1)
        ]
        index = worth.index(max(worth))
        if worth[index] <= 0:
            return 0, 0.0
        cost = min(share * total / self.rows[index], self.choices[index])
        self.choices[index] -= cost
        return index + 1, cost

    @property
    def spent_share(self) -> float:
        """Share of the tables' budget that is spent once the next table is measured."""
        return 1 - (self.left - self.table) / self.tables

    @property
    def measured_share(self) -> float:
        """Share of the tables' budget that is spent so far."""
        return 1 - self.left / self.tables

    def spend(self) -> None:
        """Take the next table's rho off."""
        self.left = 0.0 if self.left <= self.table else self.left - self.table

    def halve_noise(self) -> None:
        """Spend four times as much on each of the following tables, and on their choices."""
        self.table *= STEP


def single_budget(whole: Budget, *, attributes: int, rounds: int) -> Budget:
    """Give the budget of all tables of single attributes: each costs a round's table."""
    return whole.share((1 - CHOICES) * attributes / rounds)


def choice_budget(whole: Budget, *, attributes: int, rounds: int) -> float:
    """Give the rho of all choices of one party."""
    rest = whole.amount - single_budget(whole, attributes=attributes, rounds=rounds).amount
    return CHOICES * rest
