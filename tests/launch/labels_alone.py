"""Protocols of which neighbours differ in a label alone: attributes may leave as they are."""

from __future__ import annotations

from typing import ClassVar

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message
from sottovoce.privacy import Neighbours


class Parameters(Options):
    epsilon: Epsilon = 1.0
    label: str = ""


class MeanAgeAndLabels(Protocol[Parameters]):
    """The exact mean of an attribute, and a noisy count of labels."""

    name = "mean-age-and-labels"
    summary = "a mean age and a noisy count"
    trust = "attributes are public"
    neighbours: ClassVar[Neighbours] = "label-alone"

    @message
    class Answer:
        age: float
        labels: int

    def age(self, me: Party) -> float:
        return float(me.records.column("age").astype(float).mean())

    def count(self, me: Party) -> int:
        labels = me.records.column(self.parameters.label or "income")
        return int((labels == ">50K").sum())

    def party(self, me: Party) -> None:
        with me.phase("count"):
            mechanism = laplace(self.count(me), sensitivity=1, epsilon=self.parameters.epsilon)
            labels = me.release(mechanism, to=CURATOR)
            me.send(self.Answer(self.age(me), int(labels)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            answers = desk.gather(self.Answer)
        return Outcome(summary={"labels": sum(answer.labels for answer in answers)})


class MeanAgeOfALabel(MeanAgeAndLabels):
    """The mean age of those with one label."""

    name = "mean-age-of-a-label"

    def age(self, me: Party) -> float:
        ages = me.records.column("age").astype(float)
        return float(ages[me.records.column(self.parameters.label or "income") == ">50K"].mean())


class AgesOfALabel(MeanAgeAndLabels):
    """A sum of the ages of those with one label, which another label changes by an age."""

    name = "ages-of-a-label"

    def count(self, me: Party) -> int:
        ages = me.records.column("age").astype(float)
        return int(ages[me.records.column(self.parameters.label or "income") == ">50K"].sum())


class WithinBelief(AgesOfALabel):
    name = "within-belief"
    neighbours = "label-within-belief"
