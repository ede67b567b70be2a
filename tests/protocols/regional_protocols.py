"""A protocol of an author with sums among some of the parties, and several sums at once."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import numpy as np

from sottovoce import Budget, Cost, Curator, Epsilon, Outcome, Party, Protocol, Public
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumBatch,
    SumOptions,
    predict_keys,
    predict_sum,
    predict_sums,
)


class Regions(SumOptions):
    epsilon: Epsilon = 1.0
    smaller: Annotated[int, msgspec.Meta(ge=2)] = 2


class RegionalMeans(Protocol[Regions]):
    """Ages and counts by sex of all parties at once, then a sum among the first parties.

    The last sum is about a fifth of the records, which no other sum is about.
    """

    name = "regional-means"
    summary = "mean ages"
    trust = "no one sees a record"
    neighbours = "replace-one"
    needs_schema = False
    uses: ClassVar[tuple[type, ...]] = (SecureSums,)

    def batches(self) -> tuple[SumBatch, RealBatch]:
        part = self.parameters.epsilon / 2
        counts = SumBatch(cells=2, sensitivity=2, epsilon=part)
        budget = Budget.pure(part)
        return counts, RealBatch(bounds=(0, 100), budget=budget, neighbours="replace-one")

    def last(self) -> SumBatch:
        return SumBatch(cells=1, sensitivity=1, epsilon=self.parameters.epsilon)

    @property
    def members(self) -> range:
        return range(1, self.parameters.smaller + 1)

    def party(self, me: Party) -> None:
        fifths = me.partition(into=5, seed=3)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        counts, ages = self.batches()
        with me.phase("means"), sums.together():
            for number, part in enumerate(fifths[:4]):
                women = int((part.records.column("sex") == "Female").sum())
                tables = [np.array([women, len(part.records) - women])]
                sums.contribute(tables, counts, of=part)
                values = part.records.column("age").astype(float)
                sums.real(values, ages, of=part)
                del number
        if me.number in self.members:
            with me.phase("some"):
                old = int((fifths[4].records.column("age").astype(float) > 40).sum())
                sums.among(self.members).contribute([np.array([old])], self.last(), of=fifths[4])

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("means"):
            totals = sums.totals([*self.batches()] * 4)
        with desk.phase("some"):
            old = sums.among(self.members).total(self.last())
        women = sum(int(total[0]) for total in totals[::2])
        return Outcome(
            summary={
                "women": women,
                "mean age": sum(float(total) for total in totals[1::2]) / sums.rows * 5 / 4,
                "old": int(old[0]),
            }
        )

    def predict(self, public: Public) -> list[Cost]:
        counts, ages = self.batches()
        plain = [counts, ages.sum_batch(rows=public.rows)] * 4
        options = self.parameters
        return [
            *predict_keys(options, public, noise="shares", phase="keys"),
            *predict_sums(options, public, plain, noise="shares", phase="means"),
            *predict_sum(
                options,
                public,
                self.last(),
                noise="shares",
                phase="some",
                parties=len(self.members),
            ),
        ]
