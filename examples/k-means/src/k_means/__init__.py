"""Federated k-means with differential privacy: Lloyd's iterations over secure sums.

    repeat  T    -> all   the centres
            P_k  -> T     by secure sums, at once: how many records are nearest to each centre,
                          and the sums of their coordinates
            T             moves each centre to the mean of its records

Source: DPLloyd in Su, Cao, Li, Bertino and Jin, "Differentially private k-means clustering"
(CODASPY 2016), here for several parties.

trust       no one sees a record; the curator may collude with up to `colluding` parties
who learns  everybody: the centres of every iteration, and the noisy sums behind them
privacy     epsilon for each record. Neighbours replace a record: it moves from one cluster to
            another, so two counts change by 1, and the sums of two clusters change
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from sottovoce import (
    CURATOR,
    Budget,
    Cost,
    Curator,
    Epsilon,
    Outcome,
    Party,
    Public,
    UsageError,
    message,
)
from sottovoce.parties import Part, Records
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SumBatch,
    SummingProtocol,
    SumOptions,
    predict_keys,
    predict_sums,
)

Reals = NDArray[np.float64]
COUNTS = 1 / 4
"""The counts' part of the budget of an iteration; the coordinates have the rest."""
TRIES = 100
"""Candidates for each point that is packed."""
HALVINGS = 12
"""Halvings of the interval in which the largest radius lies."""


class KMeansParameters(SumOptions):  # adds aggregator, noise, colluding, randomness
    epsilon: Epsilon = 1.0
    clusters: Annotated[int, msgspec.Meta(ge=2, le=100, description="number of clusters")] = 3
    iterations: Annotated[int, msgspec.Meta(ge=1, le=50, description="number of iterations")] = 5
    attributes: Annotated[
        str, msgspec.Meta(description="columns of numbers with public bounds: NAME=LOW:HIGH,...")
    ] = "age=15:75,hours-per-week=10:70"
    start: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            lt=1 << 62,
            description="first centres: 0 on the diagonal of the bounds, N spread by the seed N",
        ),
    ] = 0

    def __post_init__(self) -> None:
        self.bounds()  # a wrong text is refused before the run

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Read the attributes, each with its lowest and its highest value."""
        bounds = {}
        for text in self.attributes.split(","):
            name, _, interval = text.strip().rpartition("=")
            low, _, high = interval.partition(":")
            try:
                bounds[name] = float(low), float(high)
            except ValueError:
                raise UsageError(f"expected NAME=LOW:HIGH in attributes, found {text!r}") from None
            if not bounds[name][0] < bounds[name][1]:
                raise UsageError(f"expected a low below the high in attributes, found {text!r}")
        return bounds


class KMeans(SummingProtocol[KMeansParameters]):
    """Each iteration is about all records, and has a part of the budget."""

    name = "k-means"
    summary = "the centres and the sizes of clusters"
    paper = "Su et al., CODASPY 2016"
    modes = ("rigorous",)
    needs_schema = False
    goes_on = True

    # --8<-- [start:message]
    @message
    class Centres:
        coordinates: Reals  # a row for each cluster

    # --8<-- [end:message]

    # ---- what all roles compute alike, from public figures

    @property
    def share(self) -> float:
        """The part of the budget that one iteration has."""
        return 1 / self.parameters.iterations

    # --8<-- [start:budget]
    @property
    def budget(self) -> Budget:
        """The budget of one iteration: in epsilon or in rho, whichever makes less noise."""
        parts = [whole.share(self.share) for whole in self.budgets]
        return min(parts, key=lambda budget: self.count_batch(budget).deviation)

    def count_batch(self, budget: Budget) -> SumBatch:
        # A replaced record changes two counts by 1 each: 2 in L1, and 2 as a sum of squares.
        part = budget.share(COUNTS)
        return SumBatch.of(part, cells=self.parameters.clusters, sensitivity=2, squares=2)

    # --8<-- [end:budget]

    @property
    def counts(self) -> SumBatch:
        return self.count_batch(self.budget)

    # --8<-- [start:sums]
    @property
    def sums(self) -> RealBatch:
        """The sums of coordinates from -1 to 1, by cluster."""
        return RealBatch(
            columns=len(self.parameters.bounds()),
            bounds=(-1, 1),
            groups=self.parameters.clusters,
            budget=self.budget.share(1 - COUNTS),
            neighbours="replace-one",
        )

    # --8<-- [end:sums]

    # ---- the conversation

    def points(self, records: Records) -> Reals:
        """Scale the attributes, so that their public bounds become -1 and 1."""
        columns = []
        for name, (low, high) in self.parameters.bounds().items():
            try:
                values = records.column(name).astype(float)
            except ValueError:
                raise UsageError(f"expected numbers in {name}, found other text") from None
            columns.append(2 * (np.clip(values, low, high) - low) / (high - low) - 1)
        return np.stack(columns, axis=1)

    def turns(self, me: Party) -> Iterator[tuple[Records, Part | None]]:
        """Give the records of each iteration, and which part of all records they are."""
        for _ in range(self.parameters.iterations):
            yield me.records, None

    # --8<-- [start:roles]
    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        for records, part in self.turns(me):
            points = self.points(records)
            with me.phase("iteration"):
                centres = me.receive(self.Centres, source=CURATOR).coordinates
                nearest = nearest_centres(points, centres)
                sizes = np.bincount(nearest, minlength=len(centres))
                with sums.together():
                    sums.contribute([sizes], self.counts, of=part)
                    sums.real(points, self.sums, groups=nearest, of=part)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        centres = self.first_centres()
        sizes = np.zeros(len(centres))
        for _ in range(self.parameters.iterations):
            with desk.phase("iteration"):
                desk.broadcast(self.Centres(centres))
                counts, totals = sums.totals([self.counts, self.sums])
                sizes = counts.astype(float)
                if not sums.same_members:
                    continue  # A party was lost between the two: their quotient is no mean.
                means = np.clip(totals / np.maximum(sizes, 1)[:, None], -1, 1)
                # The mean of a few records is mostly noise: such a centre stays where it was.
                deviation = sums.variance(self.counts) ** 0.5
                centres = np.where(sizes[:, None] > 2 * deviation, means, centres)
        return self.outcome(centres, sizes)

    # --8<-- [end:roles]

    # --8<-- [start:first]
    def first_centres(self) -> Reals:
        """Place the first centres within the bounds: they must not depend on records."""
        clusters, columns = self.parameters.clusters, len(self.parameters.bounds())
        if not self.parameters.start:
            places = np.linspace(-1, 1, 2 * clusters + 1)[1::2]
            return np.repeat(places[:, None], columns, axis=1)
        # A public seed, which is nobody's secret: whoever knows the parameters has the centres.
        generator = np.random.default_rng(self.parameters.start)
        return spread_points(clusters, columns=columns, generator=generator)

    # --8<-- [end:first]

    def outcome(self, centres: Reals, sizes: Reals) -> Outcome:
        """Give the centres in the units of the attributes."""
        lows, highs = np.array([*self.parameters.bounds().values()]).T
        means = (centres + 1) / 2 * (highs - lows) + lows
        clusters = [
            {"size": int(size), **dict(zip(self.parameters.bounds(), mean, strict=True))}
            for size, mean in zip(sizes, means.round(2).tolist(), strict=True)
        ]
        return Outcome(
            model={"clusters": clusters},
            summary={
                f"cluster {place}": ", ".join(
                    f"{name} {value:g}" for name, value in cluster.items()
                )
                for place, cluster in enumerate(clusters, start=1)
            },
        )

    # ---- what it costs

    # --8<-- [start:predict]
    def predict(self, public: Public) -> list[Cost]:
        rounds, options = self.parameters.iterations, self.parameters
        batches = [self.counts, self.sums.sum_batch(rows=public.rows)]
        sums = predict_sums(options, public, batches, noise="shares", phase="iteration")
        centres = self.Centres(self.first_centres())
        return [
            *predict_keys(options, public, noise="shares", phase="keys"),
            Cost.of(centres, phase="iteration", messages=rounds * public.parties),
            *rounds * sums,
        ]

    # --8<-- [end:predict]


# --8<-- [start:parts]
class KMeansInParts(KMeans):
    """Each iteration is about other records, chosen at random, and has the whole budget."""

    name = "k-means-in-parts"

    @property
    def share(self) -> float:
        return 1.0

    def turns(self, me: Party) -> Iterator[tuple[Records, Part | None]]:
        for part in me.partition(into=self.parameters.iterations):
            yield part.records, part


# --8<-- [end:parts]


def spread_points(number: int, *, columns: int, generator: np.random.Generator) -> Reals:
    """Pack balls of about the largest radius into the cube, as Su et al. do (section 3.1).

    Points are at least a radius away from every face, and two radii from each other.
    """
    low, high = 0.0, 1.0
    points = generator.uniform(-1, 1, (number, columns))
    for _ in range(HALVINGS):
        radius = (low + high) / 2
        packed: list[Reals] = []
        for candidate in generator.uniform(radius - 1, 1 - radius, (TRIES * number, columns)):
            if all(np.linalg.norm(candidate - point) >= 2 * radius for point in packed):
                packed.append(candidate)
        if len(packed) >= number:
            low, points = radius, np.array(packed[:number])
        else:
            high = radius
    return points


def nearest_centres(points: Reals, centres: Reals) -> NDArray[np.int64]:
    """Give the number of the centre that is nearest to each point."""
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest: NDArray[np.int64] = distances.argmin(axis=1)
    return nearest
