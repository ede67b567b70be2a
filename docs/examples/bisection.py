"""The median age by bisection: the curator asks until the noisy counts can tell no more."""

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message


class BisectionParameters(Options):
    epsilon: Epsilon = 1.0
    low: float = 0.0
    high: float = 128.0
    rounds: Annotated[int, msgspec.Meta(ge=1, le=64, description="questions at most")] = 10


class Bisection(Protocol[BisectionParameters]):
    name = "bisection"
    summary = "the median age"
    trust = "no one: each party adds its own noise"
    neighbours = "add-or-remove-one"

    @message
    class Question:
        middle: float

    @message
    class Answer:
        counts: NDArray[np.int64]  # records below the middle, and all others

    @message
    class Median:
        age: float

    def party(self, me: Party) -> None:
        ages = me.records.column("age").astype(float)
        # How many questions come is not known, so each has its part of the largest number.
        epsilon = self.parameters.epsilon / self.parameters.rounds
        with me.phase("search"):
            while True:
                match me.receive(self.Question, self.Median, source=CURATOR):
                    case self.Question(middle=middle):
                        below = int((ages < middle).sum())
                        # A record more or less changes one of the two counts, by 1.
                        mechanism = laplace(
                            [below, len(ages) - below], sensitivity=1, epsilon=epsilon
                        )
                        me.send(self.Answer(me.release(mechanism, to=CURATOR)), to=CURATOR)
                    case self.Median():
                        return

    def curator(self, desk: Curator) -> Outcome:
        low, high = self.parameters.low, self.parameters.high
        # The standard deviation of the sum of all parties' noise, about.
        noise = self.parameters.rounds / self.parameters.epsilon * (2 * len(desk.parties)) ** 0.5
        questions = 0
        with desk.phase("search"):
            while questions < self.parameters.rounds:
                middle = (low + high) / 2
                desk.broadcast(self.Question(middle))
                questions += 1
                answers = [answer.counts for answer in desk.gather(self.Answer)]
                below, others = np.sum(answers, axis=0).tolist()
                if abs(below - others) < noise:
                    break  # the halves are equal, as far as anyone can tell
                low, high = (middle, high) if below < others else (low, middle)
            median = (low + high) / 2
            desk.broadcast(self.Median(median))
        return Outcome(summary={"median age": median, "questions": questions})
