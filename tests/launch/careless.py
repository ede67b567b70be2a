"""A protocol whose party 2 writes a value of its records into errors, in every way."""

from sottovoce import (
    CURATOR,
    Curator,
    Options,
    Outcome,
    Party,
    Protocol,
    UsageError,
    laplace,
    message,
)
from sottovoce.messages import MisuseError, Where


class CarelessParameters(Options):
    way: str = ""
    epsilon: float = 1.0


class Diagnosis(Exception):
    """An error of the plug-in's own."""


class Careless(Protocol[CarelessParameters]):
    name = "careless"
    neighbours = "replace-one"

    @message
    class Word:
        text: str

    def party(self, me: Party) -> None:
        with me.phase("work"):
            if me.number == 2:
                self.fail(me, str(me.records.column("diagnosis")[0]))
            me.send(self.Word("done"), to=CURATOR)

    def fail(self, me: Party, value: str) -> None:
        """Fail with the value in the error's text, or hand it to what fails."""
        way = self.parameters.way
        if way == "own error":
            raise Diagnosis(f"found {value!r}")
        if way == "usage error":
            raise UsageError(f"expected somebody healthy, found {value!r}")
        if way == "error with a place":
            where = Where(rank=2, protocol=value, phase=value, step=1)
            raise MisuseError(f"found {value!r}", where=where)
        if way == "chain":
            try:
                int(value)
            except ValueError as error:
                raise RuntimeError(value) from error
        if way == "exit":
            raise SystemExit(value)
        if way == "name of a phase":
            with me.phase(f"{value}/x"):
                pass
        if way == "argument":
            laplace(1, sensitivity=-len(value), epsilon=1.0)
        if way == "attribute":
            me.records.column(value)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("work"):
            desk.gather(self.Word)
        return Outcome(summary={})
