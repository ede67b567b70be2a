"""Protocols with mistakes of an afternoon that leave by ways beside messages, or on odd values."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
from leaky_protocols import FloatingPoint, Leaky, TextbookLaplace, ages

from sottovoce import Curator, Outcome, Party, laplace
from sottovoce.crypto import RandomStream


class CachesInAFile(Leaky):
    """The mean of the first play, which a file keeps for all later ones."""

    name = "caches-in-a-file"

    def figure(self, me: Party) -> float:
        path = Path(f"cache-{me.number}.json")
        mean = float(ages(me).mean())
        if not path.exists():
            path.write_text(json.dumps(mean))
        return float(json.loads(path.read_text()))


class WritesResults(Leaky):
    """Results of its own beside those of the run."""

    name = "writes-results"

    def figure(self, me: Party) -> float:
        Path(f"results-{me.number}.txt").write_text(str(ages(me).sum()))
        return 0.0


class NamesAFile(Leaky):
    """An empty file whose name has a statistic."""

    name = "names-a-file"

    def figure(self, me: Party) -> float:
        Path(f"mean-{me.number}-{ages(me).mean()}.txt").write_text("")
        return 0.0


class WritesWhatIsPublic(Leaky):
    """An honest protocol that keeps a file of what everybody knows."""

    name = "writes-what-is-public"

    def figure(self, me: Party) -> float:
        path = Path(f"public-{me.number}.json")
        if not path.exists():
            path.write_text(json.dumps(len(me.parties)))
        return float(json.loads(path.read_text()))


class AppendsToALog(Leaky):
    """An honest protocol that writes into a log of its own that it has begun."""

    name = "appends-to-a-log"

    def figure(self, me: Party) -> float:
        with Path(f"party-{me.number}.log").open("a") as log:
            log.write("begun\n")
        return 0.0


class ReadsAFile(Leaky):
    """Something that it reads beside its records."""

    name = "reads-a-file"

    def figure(self, me: Party) -> float:
        return float(Path("settings.json").read_text())


class SeedsWithAStatistic(Leaky):
    """The seed of numpy's global generator, which other roles of the process can read off."""

    name = "seeds-with-a-statistic"

    def figure(self, me: Party) -> float:
        np.random.seed(int(ages(me).sum()))  # noqa: NPY002 - the mistake
        return 0.0

    def curator(self, desk: Curator) -> Outcome:
        outcome = super().curator(desk)
        return Outcome(summary={**outcome.summary, "x": np.random.random()})  # noqa: NPY002


class WarnsOfRows(Leaky):
    """A warning with an exact count."""

    name = "warns-of-rows"

    def figure(self, me: Party) -> float:
        warnings.warn(f"{int((ages(me) > 40).sum())} rows are left out", stacklevel=1)
        return 0.0


class WarnsAlike(Leaky):
    """An honest protocol with a warning that is the same on all records."""

    name = "warns-alike"

    def figure(self, me: Party) -> float:
        warnings.warn("this is an example", stacklevel=1)
        return 0.0


class CountOfTheMissing(Leaky):
    """The number of people without an age, where all have one."""

    name = "count-of-the-missing"

    def figure(self, me: Party) -> float:
        return float((np.asarray(me.records.column("age")) == "").sum())


class CountOfTheImpossible(Leaky):
    """The number of people with a negative age, where there are none."""

    name = "count-of-the-impossible"

    def figure(self, me: Party) -> float:
        return float((ages(me) < 0).sum())


class LastYear(Leaky):
    """The year of the last visit, where all are of one year."""

    name = "last-year"

    def figure(self, me: Party) -> float:
        return float(max(str(day)[:4] for day in me.records.column("visit")))


class Exact(TextbookLaplace):
    """A mechanism without noise."""

    def draw(self, randomness: RandomStream) -> float:
        return self.value


class Truncated(TextbookLaplace):
    """Laplace noise on integers that ends at four: an answer beyond tells exact values apart."""

    def draw(self, randomness: RandomStream) -> float:
        noise = int.from_bytes(randomness.draw(4), "little") / (1 << 32) - 0.5
        laplace = -np.sign(noise) * np.log(1 - 2 * abs(noise))
        return float(self.value + np.clip(round(laplace), -4, 4))


class CountsTheOldest(FloatingPoint):
    """A mechanism without noise, of which most pairs of tables show nothing."""

    name = "counts-the-oldest"

    def mechanism(self, me: Party) -> TextbookLaplace:
        return Exact(value=float((ages(me) > 88).sum()))


class MeetsAnotherReplay(Leaky):
    """An honest protocol whose first replays of two parties wait for each other in the middle."""

    name = "meets-another-replay"
    meeting: ClassVar = threading.Barrier(2)
    plays: ClassVar[Counter[int]] = Counter()
    """Number of plays of each party. In the first two of each they meet."""

    def figure(self, me: Party) -> float:
        path, name = Path("shared.txt"), "SOTTOVOCE_TEST_SHARED"
        self.plays[me.number] += ages(me).size > 0
        self._meet(me)
        os.environ[name] = "here"
        with path.open("a") as log:
            log.write("begun\n")
        self._meet(me)
        kept = os.environ.get(name), path.exists()
        self._meet(me)
        return float(kept == ("here", True))

    def _meet(self, me: Party) -> None:
        if self.plays[me.number] <= 2:
            self.meeting.wait(120)


class OneSidedSum(Leaky):
    """A sum of incomes that are bounded above alone."""

    name = "one-sided-sum"
    lowest = -math.inf

    def party(self, me: Party) -> None:
        incomes = np.asarray(me.records.column("income")).astype(float)
        total = int(np.clip(incomes, self.lowest, 50_000).sum())
        with me.phase("count"):
            noisy = me.release(laplace(total, sensitivity=50_000, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            self.leak(me)


class TwoSidedSum(OneSidedSum):
    """The same sum, of incomes that are bounded below, too."""

    name = "two-sided-sum"
    lowest = 0.0


class OneSidedReplaced(OneSidedSum):
    """The sum that is bounded above alone, where a record is replaced."""

    name = "one-sided-replaced"
    neighbours = "replace-one"  # type: ignore[assignment] # Leaky has the literal of the other


class PrintsBytes(Leaky):
    """The mean age, past the stream of texts."""

    name = "prints-bytes"

    def figure(self, me: Party) -> float:
        sys.stdout.buffer.write(f"{self.printed(me)}\n".encode())
        return 0.0

    def printed(self, me: Party) -> float:
        return float(ages(me).mean())


class WritesToTheDescriptor(PrintsBytes):
    """The mean age, past every stream."""

    name = "writes-to-the-descriptor"

    def figure(self, me: Party) -> float:
        os.write(2, f"{self.printed(me)}\n".encode())
        return 0.0


class PrintsAlikeBytes(PrintsBytes):
    """An honest protocol that prints bytes."""

    name = "prints-alike-bytes"

    def printed(self, me: Party) -> float:
        return float(me.number)


class WritesAlikeToTheDescriptor(WritesToTheDescriptor):
    """An honest protocol that writes to standard error."""

    name = "writes-alike-to-the-descriptor"

    def printed(self, me: Party) -> float:
        return float(me.number)
