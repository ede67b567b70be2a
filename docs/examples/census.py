"""The protocol of the README: ask every party for a noisy count, and tell all what came out."""

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message


class CensusParameters(Options):
    epsilon: Epsilon = 1.0


class Census(Protocol[CensusParameters]):
    name = "census"
    summary = "how many people there are"
    trust = "no one: each party adds its own noise"
    neighbours = "add-or-remove-one"

    @message
    class NoisyCount:
        count: int

    @message
    class Total:
        people: int

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(
                laplace(len(me.records), sensitivity=1, epsilon=self.parameters.epsilon), to=CURATOR
            )
            me.send(self.NoisyCount(noisy), to=CURATOR)
            me.receive(self.Total, source=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            total = sum(answer.count for answer in desk.gather(self.NoisyCount))
            desk.broadcast(self.Total(total))
        return Outcome(summary={"people": total})
