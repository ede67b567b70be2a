"""A histogram of ages over all parties, by a secure sum: the example of docs/secure-sums.md."""

import numpy as np

from sottovoce import Curator, Epsilon, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)


class AgesParameters(SumOptions):  # adds aggregator, noise, colluding, randomness
    epsilon: Epsilon = 1.0


class Ages(Protocol[AgesParameters]):
    name = "ages"
    summary = "how many people are in each decade of age"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @property
    def batch(self) -> SumBatch:
        # All roles make the same batch. A replaced record changes two counts by 1.
        return SumBatch(cells=10, sensitivity=2, epsilon=self.parameters.epsilon)

    def party(self, me: Party) -> None:
        decades = np.clip(me.records.column("age").astype(int) // 10, 0, 9)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise="shares")
        with me.phase("count"):
            counts = np.bincount(decades, minlength=10)
            sums.contribute([counts], self.batch)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise="shares")
        with desk.phase("count"):
            total = sums.total(self.batch)
        return Outcome(summary={f"{decade}0s": int(count) for decade, count in enumerate(total)})
