"""A protocol that only exchanges messages: the curator asks every party a hundred times."""

from sottovoce import CURATOR, Curator, Options, Outcome, Party, Protocol, message


class ChatterParameters(Options):
    epsilon: float = 1.0
    times: int = 100


class Chatter(Protocol[ChatterParameters]):
    name = "chatter"
    neighbours = "add-or-remove-one"

    @message
    class Word:
        number: int

    def party(self, me: Party) -> None:
        with me.phase("talk"):
            for _ in range(self.parameters.times):
                me.send(me.receive(self.Word, source=CURATOR), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("talk"):
            for number in range(self.parameters.times):
                desk.broadcast(self.Word(number))
                desk.gather(self.Word)
        return Outcome(summary={"words": self.parameters.times})
