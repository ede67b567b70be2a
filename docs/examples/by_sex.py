"""Count women and men apart: a release about each part of the records, at the cost of one."""

import numpy as np
from numpy.typing import NDArray

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message


class BySexParameters(Options):
    epsilon: Epsilon = 1.0


class BySex(Protocol[BySexParameters]):
    name = "by-sex"
    summary = "the numbers of women and men"
    trust = "no one: each party adds noise to its own counts"
    neighbours = "add-or-remove-one"
    needs_schema = True

    @message
    class Counts:
        counts: NDArray[np.int64]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            counts = []
            for part in me.partition(by="sex"):
                mechanism = laplace(
                    len(part.records), sensitivity=1, epsilon=self.parameters.epsilon
                )
                counts.append(me.release(mechanism, to=CURATOR, of=part))
            me.send(self.Counts(np.array(counts)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            women, men = sum(answer.counts for answer in desk.gather(self.Counts)).tolist()
        return Outcome(summary={"women": women, "men": men})
