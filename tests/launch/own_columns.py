"""Protocols that read a column which the demo does not have, and a text as a number."""

from sottovoce import Budget, Curator, Epsilon, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumOptions,
)


class MeanParameters(SumOptions):
    epsilon: Epsilon = 1.0
    column: str = "bmi"


class MeanOfColumn(Protocol[MeanParameters]):
    name = "mean-of-column"
    summary = "the mean of a column"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @property
    def batch(self) -> RealBatch:
        budget = Budget("epsilon", self.parameters.epsilon)
        return RealBatch(bounds=(10, 60), budget=budget, neighbours="replace-one")

    def party(self, me: Party) -> None:
        numbers = me.records.column(self.parameters.column).astype(float)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        with me.phase("sum"):
            sums.real(numbers, self.batch)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("sum"):
            mean = float(sums.real(self.batch)) / sums.rows
        return Outcome(summary={"mean": round(mean, 2)})
