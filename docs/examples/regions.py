"""Counts and ages of all parties at once, then a count among the parties of one region."""

import numpy as np

from sottovoce import Budget, Curator, Epsilon, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumBatch,
    SumOptions,
)

NORTH = (1, 3)  # ranks of parties


class RegionsParameters(SumOptions):
    epsilon: Epsilon = 1.0


class Regions(Protocol[RegionsParameters]):
    name = "regions"
    summary = "women and men, the mean age, and how many of the north are older than 40"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)
    least_parties = 3

    @property
    def part(self) -> float:
        return self.parameters.epsilon / 3  # three releases about each record of the north

    @property
    def sexes(self) -> SumBatch:
        return SumBatch(cells=2, sensitivity=2, epsilon=self.part)

    @property
    def ages(self) -> RealBatch:
        budget = Budget.pure(self.part)
        return RealBatch(bounds=(0, 100), budget=budget, neighbours="replace-one")

    @property
    def older(self) -> SumBatch:
        return SumBatch(cells=1, sensitivity=1, epsilon=self.part)

    def party(self, me: Party) -> None:
        women = int((me.records.column("sex") == "Female").sum())
        ages = me.records.column("age").astype(float)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        with me.phase("all"), sums.together():
            sums.contribute([np.array([women, len(ages) - women])], self.sexes)
            sums.real(ages, self.ages)
        if me.number in NORTH:
            with me.phase("north"):
                north = sums.among(NORTH)
                north.contribute([(ages > 40).sum(keepdims=True)], self.older)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("all"):
            sexes, ages = sums.totals([self.sexes, self.ages])
        with desk.phase("north"):
            (older,) = sums.among(NORTH).total(self.older).tolist()
        women, men = sexes.tolist()
        mean = round(float(ages) / sums.rows, 1)
        return Outcome(summary={"women": women, "men": men, "mean age": mean, "older": older})
