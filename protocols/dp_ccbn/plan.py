"""The plan of a run, from public figures: sizes of tables, batches and their budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

from ...curator import BayesianNetwork
from ...messages import UsageError
from ...privacy import Budget, Domain
from ..dp_subn.usefulness import Sizes
from ..secure_sum import Family, Tables

__all__ = ["CandidatePlan"]

MAX_TABLES: Final = 1_000_000
"""Bound on the tables of a batch: more would take hours to count and days to encrypt."""
MAX_LISTED: Final = 4 * MAX_TABLES
"""Bound on the sets that are listed, of which some do not fit."""
MAX_ITERATED: Final = 300_000
"""Bound on the tables of all iterations: those of 52 attributes with two parents each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePlan:
    """What every role knows before a record is looked at.

    Half of the budget pays for the structure (eps1), half for the parameters (eps2).
    """

    domain: Domain
    sizes: Sizes
    degree: int
    """The network's k; with k = 0 no network is worth its noise."""
    budget: Budget
    weighted: bool
    """Whether tables share a batch's budget by their sizes."""

    def candidates(self, chosen: Sequence[Family]) -> list[Family]:
        """List the candidates of an iteration, in the order of the attributes.

        A candidate is an attribute that is not in the network yet, after parents that are.
        """
        return self.sizes.extensions([family[-1] for family in chosen], degree=self.degree)

    def check_iterations(self) -> None:
        """Refuse a search that would take hours, before a record is counted.

        Raises:
            UsageError: all iterations together may count too many tables.
        """
        attributes = len(self.domain.attributes)
        # The sum of (d - i) C(i, k) over all iterations.
        tables = comb(attributes + 1, self.degree + 2) if self.degree else 0
        if tables > MAX_ITERATED:
            raise UsageError(
                f"expected at most {MAX_ITERATED:,} candidates in all iterations, found up to "
                f"{tables:,} of {attributes} attributes: --set search=oneshot counts each set "
                "once, or take fewer attributes by --columns, or dp-subn"
            )

    def candidate_sets(self) -> list[Family]:
        """List the sets of k + 1 attributes whose tables fit.

        Smaller sets are listed where no larger one covers them.
        """
        names = self.domain.attributes
        if comb(len(names), self.degree + 1) > MAX_LISTED:
            raise UsageError(
                f"expected at most {MAX_LISTED:,} sets of {self.degree + 1} attributes, found "
                f"{comb(len(names), self.degree + 1):,}: set most_parents lower, or take fewer of "
                f"the {len(names)} attributes by --columns"
            )
        sets: list[Family] = []
        covered: set[Family] = set()
        for size in range(min(self.degree + 1, len(names)), 0, -1):
            for family in combinations(names, size):
                fits = size == 1 or self.domain.cells(family) <= self.sizes.max_cells
                if fits and family not in covered:
                    sets.append(family)
                    covered.update(
                        part for smaller in range(1, size) for part in combinations(family, smaller)
                    )
        return sets

    def iteration(self, families: Sequence[Family]) -> Tables:
        """Describe the batch of an iteration, of which there are d - 1."""
        return self._structure(
            families, self.budget.share(1 / 2 / (len(self.domain.attributes) - 1))
        )

    def only_batch(self, families: Sequence[Family]) -> Tables:
        """Describe the batch that has all of eps1."""
        return self._structure(families, self.budget.share(1 / 2))

    def parameters(self, network: BayesianNetwork) -> Tables:
        """Describe the batch of the network's maximal families.

        Without a structure to pay for, it has the whole budget.
        """
        budget = self.budget.share(1 / 2) if self.degree else self.budget
        return Tables(self.domain, network.maximal_families, budget, weighted=self.weighted)

    @property
    def error(self) -> tuple[int, float]:
        """How well the plan can do: the larger its tables the better, and the less noise."""
        # There are about as many tables as attributes.
        epsilon = self.budget.share(1 / 2).laplace_epsilon(tables=len(self.domain.attributes))
        return -self.degree, -epsilon

    def _structure(self, families: Sequence[Family], budget: Budget) -> Tables:
        if len(families) > MAX_TABLES:
            raise UsageError(
                f"expected at most {MAX_TABLES:,} candidates to count at once, "
                f"found {len(families):,}: set most_parents lower, or take fewer of the "
                f"{len(self.domain.attributes)} attributes by --columns"
            )
        return Tables(self.domain, tuple(families), budget, weighted=self.weighted)
