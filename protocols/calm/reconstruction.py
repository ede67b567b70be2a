"""Any marginal from the answers of a survey: steps 3 to 5 of CALM, as printed and as we do it.

As printed, tables are averaged until they agree. A marginal that no table covers is the one of
maximum entropy, or of least squares. By default each pair's table is first estimated from all
answers together (`curator.pair_tables`), and larger marginals follow from their pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from ...curator import Estimate, Marginal, agree
from ...curator.least_squares import least_squares
from ...curator.maximum_entropy import fit, reconstruct
from ...curator.pair_tables import PairTables
from ...privacy import Domain
from ..survey import Answer

__all__ = ["MarginalOf", "PairReconstruction", "PrintedReconstruction", "Reconstruction"]

Reconstruction: TypeAlias = Literal["maximum-entropy", "least-squares"]
MarginalOf: TypeAlias = Callable[[tuple[str, ...]], Marginal]
"""Finds the marginal of any attributes."""


@dataclass(frozen=True, slots=True)
class PrintedReconstruction:
    """Steps 3 to 5 as the paper is summarised."""

    domain: Domain
    estimates: Sequence[Estimate]
    """Tables that agree, and a uniform table of each attribute that no question has."""
    reconstruction: Reconstruction
    combined: dict[tuple[str, ...], Marginal] = field(default_factory=dict)
    """Distributions that were combined from the estimates."""

    @classmethod
    def of(
        cls, domain: Domain, answers: Sequence[Answer], *, reconstruction: Reconstruction
    ) -> PrintedReconstruction:
        """Make the tables agree where they overlap (step 3), and make them distributions (step 4).

        The two steps take turns, and the last one is a projection.
        """
        estimates = agree([answer.estimate(domain) for answer in answers], total=1.0, sweeps=3)
        estimated = {name for estimate in estimates for name in estimate.attributes}
        uniform = [
            Estimate(Marginal.uniform(domain, (name,)), 1.0)
            for name in domain.attributes
            if name not in estimated
        ]
        return cls(domain, [*estimates, *uniform], reconstruction)

    def marginal(self, attributes: tuple[str, ...]) -> Marginal:
        """Find a marginal (step 5)."""
        covered = any(estimate.table.covers(attributes) for estimate in self.estimates)
        if covered or self.reconstruction == "maximum-entropy":
            return reconstruct(self.domain, attributes, self.estimates, combined=self.combined)
        parts = [
            estimate.table.project([name for name in attributes if name in estimate.attributes])
            for estimate in self.estimates
            if set(attributes) & set(estimate.attributes)
        ]
        return least_squares(self.domain, attributes, parts)


@dataclass(frozen=True, slots=True)
class PairReconstruction:
    """Larger marginals from tables of pairs that agree."""

    domain: Domain
    pairs: PairTables
    """Tables of all attributes of two labels or more, and of their pairs."""
    reconstruction: Reconstruction

    def marginal(self, attributes: tuple[str, ...]) -> Marginal:
        """Find a marginal."""
        several = [name for name in attributes if name in self.pairs.singles]
        if len(several) < len(attributes):  # some attributes have one label
            table = self.marginal(tuple(several)) if several else Marginal((), np.array(1.0))
            return table.expand(self.domain, attributes)
        if len(attributes) == 1:
            return self.pairs.singles[attributes[0]]
        within = [self._pair(pair) for pair in combinations(attributes, 2)]
        if len(attributes) == 2:
            return within[0].project(attributes)
        reconstructed = fit if self.reconstruction == "maximum-entropy" else least_squares
        return reconstructed(self.domain, attributes, within)

    def _pair(self, pair: tuple[str, ...]) -> Marginal:
        tables = self.pairs.pairs
        return tables[pair] if pair in tables else tables[pair[::-1]]
