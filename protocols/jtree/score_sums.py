"""A secure sum of scores: the curator learns the parties' sum of rows times score, with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from ...privacy import Budget
from ..cost import Cost, Public
from ..secure_sum import CuratorSums, NoiseKind, PartySums, SumBatch, predict_sum
from .parameters import JTreeParameters
from .scores import Scores

__all__ = ["ScoreSum"]

STEPS: Final = 64
"""Steps of the summed whole numbers in one unit of rows times score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSum:
    """The scores of all pairs of attributes, which are summed in one batch."""

    changes: Sequence[float]
    """Sensitivity of a party's rows times score, for each pair."""
    budget: Budget

    @property
    def batch(self) -> SumBatch:
        """The batch: rounding to steps adds one step to what a record changes."""
        steps = [ceil(change * STEPS) + 1 for change in self.changes]
        return SumBatch.of(
            self.budget,
            cells=len(self.changes),
            sensitivity=sum(steps),
            squares=sum(change**2 for change in steps),
            weight=STEPS,
        )

    def contribute(self, scores: Scores, *, rows: int, sums: PartySums) -> None:
        """Add one party's scores to the sum. Called by a party."""
        sums.contribute([np.rint(scores * rows * STEPS).astype(np.int64)], self.batch)

    def receive(self, sums: CuratorSums) -> tuple[Scores, float]:
        """Receive the average scores of all rows, and their noise's deviation."""
        total = sums.total(self.batch)
        deviation = np.sqrt(sums.variance(self.batch)) / STEPS / sums.rows
        return total / STEPS / sums.rows, float(deviation)

    def predict(
        self, parameters: JTreeParameters, public: Public, *, noise: NoiseKind
    ) -> list[Cost]:
        """Predict the messages of the sum."""
        return predict_sum(parameters, public, self.batch, noise=noise, phase="graph")
