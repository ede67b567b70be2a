"""Tables of attributes that are counted in one batch, and how they share the batch's noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final, TypeAlias

import numpy as np

from ...curator import Estimate, Marginal
from ...parties import Records
from ...privacy import Budget, Domain
from ..protocol import Cost, Public
from .batch import SumBatch
from .options import NoiseKind, SumOptions
from .predict import predict_sum
from .sums import CuratorSums, PartySums

__all__ = ["Family", "Tables"]

Family: TypeAlias = tuple[str, ...]
"""An attribute after its parents, or any set of attributes that is counted as one table."""

MAX_WEIGHT: Final = 8
"""The largest weight of one table against another."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that are counted in one batch. A replaced record changes each by at most 2.

    `weighted` tables have weights by the root of their sizes, or by the cube root where the noise
    is Gaussian. That minimises the sum of all cells' absolute errors: a table with n cells and
    weight w has errors of n S / w, where S is the sum of all w, or the root of the sum of squares.
    Each table is multiplied by a whole number before summing, and divided by it afterwards.
    """

    domain: Domain
    families: tuple[Family, ...]
    budget: Budget
    weighted: bool = False

    @property
    def weights(self) -> list[int]:
        sizes = [self.domain.cells(family) for family in self.families]
        if not self.weighted:
            return [1] * len(sizes)
        largest, power = max(sizes), 1 / 3 if self.budget.concentrated else 1 / 2
        weights = [max(1, round(MAX_WEIGHT * (size / largest) ** power)) for size in sizes]
        return [weight // gcd(*weights) for weight in weights]

    @property
    def batch(self) -> SumBatch:
        """The batch of these tables."""
        weights = self.weights
        return SumBatch.of(
            self.budget,
            cells=sum(self.domain.cells(family) for family in self.families),
            sensitivity=2 * sum(weights),
            squares=2 * sum(weight**2 for weight in weights),
            weight=max(weights),
        )

    @property
    def error(self) -> float:
        """Sum of the standard deviations of all cells' full noise."""
        sizes = (self.domain.cells(family) for family in self.families)
        return self.batch.deviation * sum(
            size / weight for size, weight in zip(sizes, self.weights, strict=True)
        )

    def predict(
        self, options: SumOptions, public: Public, *, noise: NoiseKind, phase: str
    ) -> list[Cost]:
        """Predict the messages of the batch."""
        return predict_sum(options, public, self.batch, noise=noise, phase=phase)

    def contribute(self, records: Records, sums: PartySums) -> None:
        """Count the tables and add them to the batch. Called by a party."""
        counted = zip(self.weights, records.marginals(self.families), strict=True)
        sums.contribute((weight * counts for weight, counts in counted), self.batch)

    def receive(self, sums: CuratorSums) -> list[Estimate]:
        """Receive the noisy sums. Called by the curator."""
        variance = sums.variance(self.batch)
        ends = np.cumsum([self.domain.cells(family) for family in self.families])[:-1]
        tables = np.split(sums.total(self.batch), ends)
        return [
            Estimate(Marginal.of(self.domain, family, cells / weight), variance / weight**2)
            for family, cells, weight in zip(self.families, tables, self.weights, strict=True)
        ]
