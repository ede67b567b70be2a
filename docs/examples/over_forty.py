"""How many people of all parties are older than 40: a secure sum of one number."""

from sottovoce import Curator, Epsilon, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)


class OverFortyParameters(SumOptions):
    epsilon: Epsilon = 1.0


class OverForty(Protocol[OverFortyParameters]):
    name = "over-forty"
    summary = "how many people are older than 40"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @property
    def batch(self) -> SumBatch:
        # All roles make the same batch. One replaced record changes the count by at most 1.
        return SumBatch(cells=1, sensitivity=1, epsilon=self.parameters.epsilon)

    def party(self, me: Party) -> None:
        ages = me.records.column("age").astype(float)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        with me.phase("count"):
            sums.contribute([(ages > 40).sum(keepdims=True)], self.batch)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("count"):
            (total,) = sums.total(self.batch).tolist()
        return Outcome(summary={"older than 40": total})
