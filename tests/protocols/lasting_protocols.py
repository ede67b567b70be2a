"""Protocols of an author that go on without lost parties, and one that does not say so."""

from __future__ import annotations

from sottovoce import Curator, Epsilon, Outcome, Party, Protocol, laplace, message
from sottovoce.messages import CURATOR
from sottovoce.protocols.noisy_marginals import NoisyMarginals
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)


class ThreeWaysOptions(SumOptions):
    epsilon: Epsilon = 3.0


class ThreeWays(Protocol[ThreeWaysOptions]):
    """An answer of each party, a party's turn, and two secure sums."""

    name = "three-ways"
    summary = "how many people there are, in three ways"
    trust = "no one sees a record"
    neighbours = "replace-one"
    uses = (SecureSums,)
    goes_on = True

    @message
    class Answer:
        count: int

    @message
    class Turn:
        of: int

    @property
    def batch(self) -> SumBatch:
        return SumBatch(cells=2, sensitivity=2, epsilon=self.epsilon / 4)

    def women(self, me: Party) -> int:
        return int((me.records.column("sex") == "Female").sum())

    def party(self, me: Party) -> None:
        women, rows, part = self.women(me), len(me.records), self.epsilon / 4
        with me.phase("keys"):
            sums = PartySums(me, self.parameters)
        with me.phase("answers"):
            noisy = me.release(laplace(women, sensitivity=1, epsilon=part), to=CURATOR)
            me.send(self.Answer(noisy), to=CURATOR)
        with me.phase("sum"):
            sums.contribute([[women, rows - women]], self.batch)
        with me.phase("turn"):
            if me.receive(self.Turn, source=CURATOR).of == me.number:
                noisy = me.release(laplace(women, sensitivity=1, epsilon=part), to=CURATOR)
                me.send(self.Answer(noisy), to=CURATOR)
        with me.phase("again"):
            sums.contribute([[women, rows - women]], self.batch)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("answers"):
            answers = desk.gather_answers(self.Answer, rows=sums.rows_by_party)
        with desk.phase("sum"):
            first = sums.total(self.batch).tolist()
        with desk.phase("turn"):
            party = next(party for party in desk.parties if party not in desk.lost)
            desk.broadcast(self.Turn(party))
            turn = desk.receive_in_turn(self.Answer, source=party)
        with desk.phase("again"):
            second = sums.total(self.batch).tolist()
        return Outcome(
            summary={
                "answers": sum(answer.count for answer in answers.values()),
                "sums": [first, second],
                "turn": None if turn is None else turn.count,
            }
        )


class Careless(ThreeWays):
    """The same, but it gathers from all parties as if none could be lost."""

    name = "careless"

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters)
        with desk.phase("answers"):
            desk.gather(self.Answer)
        with desk.phase("sum"):
            sums.total(self.batch)
        with desk.phase("turn"):
            desk.broadcast(self.Turn(0))
        with desk.phase("again"):
            sums.total(self.batch)
        return Outcome()


class Silent(NoisyMarginals):
    """It inherits from a protocol that goes on, and does not say so itself."""

    name = "silent"
