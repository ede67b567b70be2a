"""The mean age of the people of all parties: one secure sum of real numbers."""

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


class PrivateMean(Protocol[MeanParameters]):
    name = "private-mean"
    summary = "the mean age"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @property
    def batch(self) -> RealBatch:
        # All roles make the same batch. Ages are clipped to 0 and 100, which are public.
        budget = Budget("epsilon", self.parameters.epsilon)
        return RealBatch(bounds=(0, 100), budget=budget, neighbours="replace-one")

    def party(self, me: Party) -> None:
        ages = me.records.column("age").astype(float)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        with me.phase("sum"):
            sums.real(ages, self.batch)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("sum"):
            total = float(sums.real(self.batch))
        # Neighbours replace a record, so the number of rows is public.
        return Outcome(summary={"mean age": round(total / sums.rows, 2)})
