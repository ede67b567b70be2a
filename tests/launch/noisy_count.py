"""A noisy count of women. Tests put lines in the places of the comments in capitals."""

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message

# ON IMPORT


class Parameters(Options):
    epsilon: Epsilon = 1.0


class NoisyCount(Protocol[Parameters]):
    name = "noisy-count"
    summary = "a noisy count"
    trust = "each party adds its own noise"
    neighbours = "add-or-remove-one"

    @message
    class Answer:
        value: float

    # MORE MESSAGES

    def party(self, me: Party) -> None:
        with me.phase("count"):
            count = int((me.records.column("sex") == "Female").sum())
            # BEFORE THE RELEASE
            answer = me.release(laplace(count, sensitivity=1, epsilon=0.5), to=CURATOR)
            # AFTER THE RELEASE
            me.send(self.Answer(float(answer)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            # THE QUERY
            total = sum(answer.value for answer in desk.gather(self.Answer))
            # AT THE CURATOR
        return Outcome(summary={"women": total})
