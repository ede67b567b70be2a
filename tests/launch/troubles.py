"""A protocol that goes wrong in every way, for the tests of failing together."""

import os
import time
from pathlib import Path

from sottovoce import CURATOR, Curator, Options, Outcome, Party, Protocol, message


class TroubleParameters(Options):
    trouble: str = "none"
    notes: str = ""
    epsilon: float = 1.0


class Trouble(Protocol[TroubleParameters]):
    name = "trouble"
    neighbours = "add-or-remove-one"

    @message
    class Word:
        text: str

    @message
    class Reply:
        text: str

    def note(self, name: str, what: float) -> None:
        """Leave a number in a file for the test, which must not read half of it."""
        if self.parameters.notes:
            folder = Path(self.parameters.notes)
            (folder / f"{name}.partial").write_text(repr(what))
            (folder / f"{name}.partial").rename(folder / name)

    def note_work(self, rank: int) -> None:
        """Say when this rank came to its second phase, where the trouble is: this clock is the same
        in all processes.
        """
        self.note(f"work-{rank}", time.monotonic())

    def party(self, me: Party) -> None:
        self.note(f"pid-{me.number}", os.getpid())
        trouble = self.parameters.trouble
        with me.phase("greet"):
            me.send(self.Word("hello"), to=CURATOR)
            me.receive(self.Reply, source=CURATOR)
        with me.phase("work"):
            self.note_work(me.number)
            if me.number == 2:
                if trouble == "party raises":
                    raise RuntimeError("the party's own mistake")
                if trouble == "party exits":
                    raise SystemExit(0)
                if trouble == "party vanishes":
                    time.sleep(0.5)  # the launcher hears five times a second where a rank is
                    os._exit(0)
                if trouble == "party never answers":
                    time.sleep(600)
                if trouble == "party returns early":
                    return
                if trouble == "party waits for curator":
                    me.receive(self.Reply, source=CURATOR)
                if trouble == "wrong kind":
                    me.send(self.Reply("not what was asked"), to=CURATOR)
                if trouble == "says too much":
                    me.send(self.Word("asked"), to=CURATOR)
            if trouble == "ring":
                me.receive(self.Word, source=me.number % len(me.parties) + 1)
            if trouble == "everybody sleeps":
                time.sleep(600)
            me.send(self.Word("done"), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        self.note("pid-0", os.getpid())
        with desk.phase("greet"):
            desk.gather(self.Word)
            desk.broadcast(self.Reply("welcome"))
        with desk.phase("work"):
            self.note_work(0)
            if self.parameters.trouble == "curator raises":
                raise RuntimeError("the curator's own mistake")
            if self.parameters.trouble == "everybody sleeps":
                time.sleep(600)
            desk.gather(self.Word)
        if self.parameters.trouble == "curator works alone":
            with desk.phase("synthesis"):
                self.note("alone", time.monotonic())
                time.sleep(600)
        return Outcome(summary={"well": True})
