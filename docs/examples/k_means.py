"""DP k-means over all parties: clusters of people by age and by hours of work a week."""

import numpy as np
from numpy.typing import NDArray

from sottovoce import Budget, Curator, Epsilon, Outcome, Party, Protocol, message
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumOptions,
)

Points = NDArray[np.float64]
LOWS, HIGHS = np.array([15.0, 0.0]), np.array([95.0, 100.0])  # public bounds of both columns


class KMeansParameters(SumOptions):
    epsilon: Epsilon = 1.0
    clusters: int = 3
    iterations: int = 4


class KMeans(Protocol[KMeansParameters]):
    name = "k-means"
    summary = "the centres of clusters"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @message
    class Centres:
        cells: NDArray[np.float64]

    @property
    def batch(self) -> RealBatch:
        """The sums of one iteration, by cluster: both coordinates from -1 to 1, and a count."""
        budget = Budget.of(self.parameters.epsilon, delta=self.parameters.delta)
        return RealBatch(
            columns=3,
            bounds=([-1, -1, 1], [1, 1, 1]),
            groups=self.parameters.clusters,
            budget=budget.share(1 / self.parameters.iterations),
            neighbours="replace-one",
        )

    def party(self, me: Party) -> None:
        columns = [me.records.column(name).astype(float) for name in ("age", "hours-per-week")]
        points = 2 * (np.stack(columns, axis=1) - LOWS) / (HIGHS - LOWS) - 1
        rows = np.column_stack([points, np.ones(len(points))])
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        for _ in range(self.parameters.iterations):
            with me.phase("iteration"):
                centres = me.receive(self.Centres, source=0).cells.reshape(-1, 2)
                distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
                sums.real(rows, self.batch, groups=distances.argmin(axis=1))

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        centres: Points = np.linspace([-0.6, -0.4], [0.6, 0.4], self.parameters.clusters)
        for _ in range(self.parameters.iterations):
            with desk.phase("iteration"):
                desk.broadcast(self.Centres(centres.reshape(-1)))
                totals = sums.real(self.batch)
                counts = np.maximum(totals[:, 2:], 1)
                centres = np.clip(totals[:, :2] / counts, -1, 1)
        people = (centres + 1) / 2 * (HIGHS - LOWS) + LOWS
        return Outcome(
            summary={
                f"cluster {number}": f"age {age:.0f}, {hours:.0f} hours a week"
                for number, (age, hours) in enumerate(people.tolist(), start=1)
            }
        )
