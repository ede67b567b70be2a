"""Tables of attributes that are counted in one batch: which there are, how they share the noise,
and both sides of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, sqrt
from typing import Final, TypeAlias

import numpy as np

from ...curator import Estimate, Marginal
from ...parties import Records
from ...privacy import Domain
from ..protocol import Cost, Public
from .options import NoiseKind, SumOptions
from .predict import predict_sum
from .sums import CuratorSums, PartySums

__all__ = ["Family", "Tables"]

Family: TypeAlias = tuple[str, ...]
"""An attribute after its parents, or any set of attributes that is counted as one table."""

WEIGHTS: Final = 8
"""The most that one table may be weighed against another."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that are counted in one batch. A replaced record changes each by at most 2.

    `weighted` tables share the budget by the root of their sizes, which makes the sum of all cells'
    absolute errors least: each is counted in multiples of a whole number, and divided again.
    """

    domain: Domain
    families: tuple[Family, ...]
    epsilon: float
    weighted: bool = False

    @property
    def weights(self) -> list[int]:
        cells = [self.domain.cells(family) for family in self.families]
        if not self.weighted:
            return [1] * len(cells)
        weights = [max(1, round(WEIGHTS * sqrt(own / max(cells)))) for own in cells]
        return [weight // gcd(*weights) for weight in weights]

    @property
    def batch(self) -> dict[str, int | float]:
        """What everybody knows of the batch: its size, its sensitivity and its budget."""
        weights = self.weights
        cells = sum(self.domain.cells(family) for family in self.families)
        return {
            "cells": cells,
            "sensitivity": 2 * sum(weights),
            "epsilon": self.epsilon,
            "weight": max(weights),
        }

    def predict(
        self, options: SumOptions, public: Public, *, noise: NoiseKind, phase: str
    ) -> list[Cost]:
        """Predict what the batch sends."""
        return predict_sum(options, public, noise=noise, phase=phase, **self.batch)  # type: ignore[arg-type]

    def contribute(self, records: Records, sums: PartySums) -> None:
        """Count them and add them to the batch. Called by a party."""
        counted = zip(self.weights, records.marginals(self.families), strict=True)
        sums.contribute((weight * counts for weight, counts in counted), **self.batch)  # type: ignore[arg-type]

    def receive(self, sums: CuratorSums) -> list[Estimate]:
        """Receive the noisy sums. Called by the curator."""
        batch = self.batch
        variance = sums.variance(**batch)  # type: ignore[arg-type]
        ends = np.cumsum([self.domain.cells(family) for family in self.families])[:-1]
        cells = np.split(sums.total(**batch), ends)  # type: ignore[arg-type]
        return [
            Estimate(Marginal.of(self.domain, family, own / weight), variance / weight**2)
            for family, own, weight in zip(self.families, cells, self.weights, strict=True)
        ]
