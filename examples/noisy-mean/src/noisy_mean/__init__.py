"""The mean of a whole-number attribute that is known to lie between two public bounds.

trust       nobody: each party adds its own noise before it sends anything
who learns  the curator: a noisy sum and the number of rows of each party; everybody: the mean
messages    one a party, in 1 round, of 16 payload bytes
privacy     epsilon for each record. Neighbours replace a record: the number of rows is public, and
            one replaced value changes a party's sum by at most high - low.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from sottovoce import (
    CURATOR,
    Cost,
    Curator,
    Epsilon,
    Options,
    Outcome,
    Party,
    Protocol,
    Public,
    UsageError,
    laplace,
    message,
)


class NoisyMeanParameters(Options):
    epsilon: Epsilon = 1.0
    attribute: Annotated[str, msgspec.Meta(description="a whole-number attribute")] = "age"
    low: Annotated[
        int, msgspec.Meta(description="public lower bound; values below count as this")
    ] = 0
    high: Annotated[
        int, msgspec.Meta(description="public upper bound; values above count as this")
    ] = 120

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise UsageError(f"expected low below high, found {self.low} and {self.high}")


class NoisyMean(Protocol[NoisyMeanParameters]):
    """Sum at each party, with its own noise; divide at the curator."""

    name = "noisy-mean"
    summary = "the mean of one bounded attribute"
    trust = "nobody: noise at each party"
    neighbours = "replace-one"

    @message
    class NoisySum:
        total: int
        rows: int

    def party(self, me: Party) -> None:
        low, high = self.parameters.low, self.parameters.high
        with me.phase("sum"):
            texts = me.records.column(self.parameters.attribute)
            try:
                values = [min(max(int(text), low), high) for text in texts]
            except ValueError:
                raise UsageError(
                    f"expected whole numbers in {self.parameters.attribute}, found other text"
                ) from None
            release = laplace(sum(values), sensitivity=high - low, epsilon=self.parameters.epsilon)
            me.send(self.NoisySum(me.release(release, to=CURATOR), len(values)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("sum"):
            answers = desk.gather(self.NoisySum)
        mean = sum(answer.total for answer in answers) / sum(answer.rows for answer in answers)
        return Outcome(summary={"mean": round(mean, 6)})

    def predict(self, public: Public) -> list[Cost]:
        return [
            Cost(
                phase="sum",
                kind="NoisySum",
                messages=public.parties,
                payload_bytes=16 * public.parties,
            )
        ]
