"""The median age at each party, chosen by the exponential mechanism."""

from sottovoce import (
    CURATOR,
    Curator,
    Epsilon,
    Options,
    Outcome,
    Party,
    Protocol,
    median,
    message,
)


class MedianParameters(Options):
    epsilon: Epsilon = 1.0


class PrivateMedian(Protocol[MedianParameters]):
    name = "private-median"
    summary = "the median age at each party"
    trust = "no one: each party protects its own records"
    neighbours = "add-or-remove-one"

    @message
    class Median:
        age: float

    def party(self, me: Party) -> None:
        mechanism = median(
            me.records.column("age").astype(float),
            bounds=(0, 100),
            resolution=1,
            neighbours="add-or-remove-one",
            epsilon=self.parameters.epsilon,
        )
        with me.phase("median"):
            me.send(self.Median(me.release(mechanism, to=CURATOR)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("median"):
            answers = desk.gather(self.Median)
        return Outcome(
            summary={f"party {party}": answer.age for party, answer in enumerate(answers, start=1)}
        )
