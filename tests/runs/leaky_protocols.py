"""Protocols with the mistakes that a newcomer makes; the guard must find each when it is run."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message
from sottovoce.crypto import RandomStream
from sottovoce.privacy import Batch, Loss, SelectedNoise, SharedNoise, views
from sottovoce.privacy.laplace_shares import excess
from sottovoce.protocols.calm.protocol import CALM
from sottovoce.protocols.noisy_marginals import NoisyMarginals
from sottovoce.protocols.secure_sum import SecureSums
from sottovoce.protocols.secure_sum.addend import Addend
from sottovoce.protocols.secure_sum.clear import PartyInTheClear

Numbers = npt.NDArray[np.float64]


class LeakyParameters(Options):
    epsilon: Epsilon = 1.0


class Leaky(Protocol[LeakyParameters]):
    """A count with noise, and beside it something of the records in a `Figure`."""

    name = "leaky"
    summary = "the number of people in the data"
    trust = "nobody"
    neighbours = "add-or-remove-one"

    @message
    class Count:
        value: int

    @message
    class Figure:
        value: float

    def party(self, me: Party) -> None:
        with me.phase("count"):
            count = len(me.records)
            noisy = me.release(laplace(count, sensitivity=1, epsilon=self.parameters.epsilon), to=0)
            me.send(self.Count(value=noisy), to=0)
            self.leak(me)

    def leak(self, me: Party) -> None:
        me.send(self.Figure(value=self.figure(me)), to=0)

    def figure(self, me: Party) -> float:
        return 0.0

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            total = 0
            for party in desk.parties:
                total += desk.receive(self.Count, source=party).value
                self.collect(desk, party)
        return Outcome(summary={"count": total})

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(self.Figure, source=party)


def ages(me: Party) -> Numbers:
    return np.asarray(me.records.column("age")).astype(float)


class Honest(Leaky):
    name = "honest"


class ExactStatistic(Leaky):
    """The float of a statistic."""

    name = "exact-statistic"

    def figure(self, me: Party) -> float:
        return float(ages(me).mean())


class HashOfTable(Leaky):
    """A digest of the records."""

    name = "hash-of-table"

    def figure(self, me: Party) -> float:
        digest = hashlib.sha256(",".join(me.records.column("age")).encode()).digest()
        return float(int.from_bytes(digest[:4], "little"))


class IntOfCell(Leaky):
    """An exact count, taken out of an array."""

    name = "int-of-cell"

    def figure(self, me: Party) -> float:
        return int((ages(me) > 40).sum())


class Argmax(Leaky):
    """The most frequent value."""

    name = "argmax"

    def figure(self, me: Party) -> float:
        values, counts = np.unique(ages(me), return_counts=True)
        return float(values[np.argmax(counts)])


class RowCount(Leaky):
    """The number of records, where neighbouring tables differ by one."""

    name = "row-count"

    def figure(self, me: Party) -> float:
        return len(me.records)


class KindOfMessage(Leaky):
    """Which of two kinds of messages is sent: the curator takes either."""

    name = "kind-of-message"

    @message
    class Nothing:
        value: float

    def leak(self, me: Party) -> None:
        several = len(set(me.records.column("sex"))) > 1
        me.send(self.Figure(value=0.0) if several else self.Nothing(value=0.0), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(self.Figure, self.Nothing, source=party)


class Categories(Leaky):
    """The categories that occur."""

    name = "categories"

    @message
    class Labels:
        names: str

    def leak(self, me: Party) -> None:
        me.send(self.Labels(names=",".join(sorted(set(me.records.column("sex"))))), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(self.Labels, source=party)


class NumberOfMessages(Leaky):
    """As many messages as there are different values."""

    name = "number-of-messages"

    @message
    class Last:
        ended: bool

    def leak(self, me: Party) -> None:
        me.send(self.Figure(value=float(len(set(me.records.column("education"))))), to=0)
        for _ in set(me.records.column("education")):
            me.send(self.Figure(value=0.0), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        for _ in range(int(desk.receive(self.Figure, source=party).value)):
            desk.receive(self.Figure, source=party)


class NumberOfMessagesAlone(Leaky):
    """A message that is sent if there are rich people among the records."""

    name = "number-of-messages-alone"

    @message
    class Last:
        ended: bool

    def leak(self, me: Party) -> None:
        if (np.asarray(me.records.column("education")) == "Doctorate").sum() > 3:
            me.send(self.Figure(value=0.0), to=0)
        me.send(self.Figure(value=1.0), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        while not desk.receive(self.Figure, source=party).value:
            pass


class SizeOfMessage(Leaky):
    """A message of zeros, one for each different value."""

    name = "size-of-message"

    @message
    class Zeros:
        zeros: str

    def leak(self, me: Party) -> None:
        me.send(self.Zeros(zeros="0" * len(set(me.records.column("age")))), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(self.Zeros, source=party)


class NoisePastTheAccountant(Leaky):
    """Noise of the party's own stream, which no accountant has seen."""

    name = "noise-past-the-accountant"

    def figure(self, me: Party) -> float:
        noise = me.randomness("noise").generator().laplace()
        return float((ages(me) > 40).sum() + noise)


class NoiseOfTheSystem(Leaky):
    """Noise of Python's own generator, which no replay can repeat."""

    name = "noise-of-the-system"

    def figure(self, me: Party) -> float:
        return float((ages(me) > 40).sum() + random.gauss(0, 1))


class RareLabel(Leaky):
    """An exact count, only if more than 60 people share a rare label."""

    name = "rare-label"

    def figure(self, me: Party) -> float:
        doctors = int((np.asarray(me.records.column("education")) == "Doctorate").sum())
        return doctors if doctors > 60 else 0


class Progress(Leaky):
    """The display shows exact counts."""

    name = "progress"

    def figure(self, me: Party) -> float:
        me.progress(int((ages(me) > 40).sum()), of=len(me.records))
        return 0.0


class PhaseName(Leaky):
    """The name of a phase has the most frequent value."""

    name = "phase-name"

    def figure(self, me: Party) -> float:
        values, counts = np.unique(me.records.column("sex"), return_counts=True)
        with me.phase(f"most are {values[np.argmax(counts)]}"):
            return 0.0


class SensitivityOfTheData(Leaky):
    """The sensitivity is the largest value that occurs."""

    name = "sensitivity-of-the-data"

    def figure(self, me: Party) -> float:
        return 0.0

    def party(self, me: Party) -> None:
        with me.phase("count"):
            largest = int(ages(me).max())
            noisy = me.release(laplace(int(ages(me).sum()), sensitivity=largest, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)


class OrderOfMessages(Leaky):
    """Peers are greeted in an order that depends on the records."""

    name = "order-of-messages"

    @message
    class Greeting:
        pass

    def leak(self, me: Party) -> None:
        peers = me.peers if (ages(me) > 40).sum() > len(me.records) / 4 else me.peers[::-1]
        for peer in peers:
            me.send(self.Greeting(), to=peer)
        for peer in me.peers:
            me.receive(self.Greeting, source=peer)

    def collect(self, desk: Curator, party: int) -> None:
        pass


class TextbookLaplace(NamedTuple):
    """Floating-point noise of NumPy, which its author calls 1-differentially private."""

    value: float
    name: str = "numpy-laplace"
    sensitivity: float = 1.0
    scale: float = 1.0
    epsilon: float = 1.0
    delta: float = 0.0
    seen: Mapping[str, float] = MappingProxyType({})
    by_users: tuple[()] = ()
    whole_record: None = None

    def draw(self, randomness: RandomStream) -> float:
        return float(self.value + self.scale * randomness.generator().laplace())


class FloatingPoint(Leaky):
    """A mechanism of one's own, with the noise that a textbook prints."""

    name = "floating-point"

    def figure(self, me: Party) -> float:
        return 0.0

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(self.mechanism(me), to=0)
            me.send(self.Count(value=round(noisy)), to=0)
            me.send(self.Figure(value=noisy), to=0)

    def mechanism(self, me: Party) -> TextbookLaplace:
        return TextbookLaplace(value=float((ages(me) > 40).sum()))


class TooLittleNoise(FloatingPoint):
    """A mechanism of one's own with a tenth of the noise that it states."""

    name = "too-little-noise"

    def mechanism(self, me: Party) -> TextbookLaplace:
        return TextbookLaplace(value=float((ages(me) > 40).sum()), scale=0.1)


class TinyRho(TextbookLaplace):
    """A mechanism that keeps its epsilon, and states next to no rho."""

    loss = Loss(1.0, 1e-12)


class RhoTooSmall(FloatingPoint):
    """A mechanism of one's own of which a thousand answers would cost next to nothing."""

    name = "rho-too-small"

    def mechanism(self, me: Party) -> TinyRho:
        return TinyRho(value=float((ages(me) > 40).sum()))


class SensitivityTooSmall(Leaky):
    """A sum of ages with the sensitivity of a count."""

    name = "sensitivity-too-small"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(laplace(int(ages(me).sum()), sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)


class OtherPartOfTheRecords(Leaky):
    """A release of one part of the records, computed from all of them."""

    name = "other-part-of-the-records"
    neighbours = "replace-one"  # type: ignore[assignment]
    needs_schema = True

    def figure(self, me: Party) -> float:
        return 0.0

    def party(self, me: Party) -> None:
        with me.phase("count"):
            total = 0
            for part in me.partition(into=3):
                women = me.records.count("sex", "Female")
                total += me.release(laplace(women, sensitivity=1, epsilon=1.0), to=0, of=part)
            me.send(self.Count(value=int(total)), to=0)
            me.send(self.Figure(value=0.0), to=0)


class NothingIsReleased(Leaky):
    """Counts go out as they are; the accountant has never heard of them."""

    name = "nothing-is-released"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            me.send(self.Count(value=int((ages(me) > 40).sum())), to=0)
            me.send(self.Figure(value=0.0), to=0)


class Median(Leaky):
    """The median age with the sensitivity of a count."""

    name = "median"
    neighbours = "replace-one"  # type: ignore[assignment]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            exact = int(self.statistic(ages(me)))
            noisy = me.release(laplace(exact, sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)

    def statistic(self, numbers: Numbers) -> float:
        return float(np.median(numbers))


class Maximum(Median):
    """The largest age with the sensitivity of a count."""

    name = "maximum"

    def statistic(self, numbers: Numbers) -> float:
        return float(numbers.max())


class BinsOfTheData(Median):
    """The count of the first of ten bins between the smallest and the largest age."""

    name = "bins-of-the-data"

    def statistic(self, numbers: Numbers) -> float:
        return float(np.histogram(numbers, bins=10)[0][0])


class RefusesOtherRecords(Leaky):
    """An exact statistic, after a check that no other records pass."""

    name = "refuses-other-records"
    seen: ClassVar[dict[int, list[float]]] = {}

    def figure(self, me: Party) -> float:
        if self.seen.setdefault(me.number, ages(me).tolist()) != ages(me).tolist():
            raise ValueError("expected the ages of last year")
        return float(ages(me).mean())


class ChecksItsRecords(Leaky):
    """An exact statistic, after a check that records drawn value by value do not pass."""

    name = "checks-its-records"

    def figure(self, me: Party) -> float:
        if ages(me).mean() > 45:
            raise ValueError("expected the ages of the demo")
        return float(ages(me).mean())


class Endless(Leaky):
    """A loop that ends on some records only."""

    name = "endless"

    def figure(self, me: Party) -> float:
        while ages(me).mean() > 45:
            pass
        return 0.0


class GoesOn(Leaky):
    """As many releases as rich people, though errors are caught."""

    name = "goes-on"

    def figure(self, me: Party) -> float:
        doctors = int((np.asarray(me.records.column("education")) == "Doctorate").sum())
        for _ in range(min(doctors, 10)):
            try:
                me.release(laplace(0, sensitivity=1, epsilon=0.01), to=0)
            except Exception:  # the mistake that is tried
                continue
        return 0.0

    @property
    def epsilon(self) -> float:
        return 2.0


class Kept(Leaky):
    """An exact count that the module keeps from the first play on."""

    name = "kept"
    counts: ClassVar[dict[int, int]] = {}

    def party(self, me: Party) -> None:
        with me.phase("count"):
            if me.rank not in self.counts:
                self.counts[me.rank] = int((ages(me) > 40).sum())
            me.send(self.Count(value=self.counts[me.rank]), to=0)
            me.send(self.Figure(value=0.0), to=0)


class OwnReader(Leaky):
    """The part reads a table by itself."""

    name = "own-reader"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            me.send(self.Count(value=len(Path(__file__).read_text())), to=0)
            me.send(self.Figure(value=0.0), to=0)


class Mine(CALM):
    """A subclass of a built-in protocol, whose variant is a built-in class."""

    name = "mine"


class OpenShare(Protocol[LeakyParameters]):
    """A share of the noise that only a secure sum may carry, in a message of one's own."""

    name = "open-share"
    summary = "the number of people of each sex"
    trust = "nobody"
    neighbours = "replace-one"
    needs_schema = True
    uses = (SecureSums,)

    @message
    class Cells:
        cells: npt.NDArray[np.int64]

    @property
    def colluding(self) -> int:
        return 0

    def batch(self, me: Party) -> Batch:
        return Batch(
            cells=2,
            sensitivity=2,
            epsilon=self.parameters.epsilon,
            rows=len(me.records) * len(me.parties),
            parties=len(me.parties),
            colluding=0,
        )

    def pages(self, me: Party) -> list[npt.NDArray[np.int64]]:
        return [np.asarray(me.records.marginal(["sex"]))]

    def share(self, me: Party) -> npt.NDArray[np.int64]:
        mechanism = SharedNoise(
            pages=self.pages(me),
            batch=self.batch(me),
            seen={"public": Loss.pure(self.parameters.epsilon)},
        )
        return np.asarray(next(me.release(mechanism, to=0)))

    def party(self, me: Party) -> None:
        with me.phase("count"):
            self.carry(me, self.share(me))

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(self.Cells(cells=cells), to=0)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            for party in desk.parties:
                self.collect(desk, party)
        return Outcome(summary={})

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(self.Cells, source=party)


class ExactBesideNoise(OpenShare):
    """The exact counts that only an encrypted sum with selected noise may carry."""

    name = "exact-beside-noise"

    def share(self, me: Party) -> npt.NDArray[np.int64]:
        mechanism = SelectedNoise(pages=self.pages(me), batch=self.batch(me), seen={})
        ((counts, _),) = me.release(mechanism, to=0)
        return np.asarray(counts)


class DifferenceOfShares(OpenShare):
    """The difference of two cells, each with a share of the noise."""

    name = "difference-of-shares"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(self.Cells(cells=cells[:1] - cells[1:]), to=0)


class ComparisonOfShares(OpenShare):
    """Which of two cells is larger, each with a share of the noise."""

    name = "comparison-of-shares"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(self.Cells(cells=np.array([int(np.argmax(cells))])), to=0)


class ThresholdOfShare(OpenShare):
    """Whether a cell with a share of the noise is above a threshold."""

    name = "threshold-of-share"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(self.Cells(cells=np.array([int(cells[0] > 10_000)])), to=0)


class ShareInAFrameworkMessage(OpenShare):
    """A share, unmasked in the message that has masked cells elsewhere."""

    name = "share-in-a-framework-message"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(SecureSums.Masked(0, 0, cells.astype(np.int64).view(np.uint8)), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(SecureSums.Masked, source=party)


class ShareInTheClear(OpenShare):
    """A share that the framework sends in the clear, with the loss of a secure sum stated."""

    name = "share-in-the-clear"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            seen = {"public": Loss.pure(self.parameters.epsilon)}
            addend = Addend(tables=self.pages(me), batch=self.batch(me), seen=seen)
            PartyInTheClear(me, members=me.parties).contribute([addend], number=0)

    def collect(self, desk: Curator, party: int) -> None:
        desk.receive(SecureSums.Unprotected, source=party)


class SeenByNobody(FloatingPoint):
    """A mechanism of one's own that states no loss, as if a sum hid its answer."""

    name = "seen-by-nobody"

    def mechanism(self, me: Party) -> TextbookLaplace:
        nobody = dict.fromkeys(views(len(me.parties)), 0.0)
        return TextbookLaplace(value=float((ages(me) > 40).sum()), seen=nobody)


class Opaque:
    """An answer that nothing can change."""

    def __init__(self, value: float) -> None:
        self.value = value


class OpaqueLaplace(TextbookLaplace):
    """A mechanism whose answer is an object of a class of its own."""

    def draw(self, randomness: RandomStream) -> Opaque:  # type: ignore[override]
        return Opaque(super().draw(randomness))


class OpaqueAnswer(SeenByNobody):
    """A mechanism that states no loss, and whose answer cannot be changed."""

    name = "opaque-answer"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(OpaqueLaplace(*self.mechanism(me)), to=0)
            me.send(self.Count(value=0), to=0)
            me.send(self.Figure(value=getattr(noisy, "value")), to=0)  # noqa: B009


class NumberOfShareMessages(OpenShare):
    """As many messages as the sign of a share says."""

    name = "number-of-share-messages"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        me.send(self.Cells(cells=np.zeros(1, np.int64)), to=0)
        if cells[0] > 0:
            me.send(self.Cells(cells=np.zeros(2, np.int64)), to=0)
        me.send(self.Cells(cells=np.zeros(0, np.int64)), to=0)

    def collect(self, desk: Curator, party: int) -> None:
        while len(desk.receive(self.Cells, source=party).cells):
            pass


class PhaseOfShare(OpenShare):
    """The name of a phase says which of two cells is larger."""

    name = "phase-of-share"

    def carry(self, me: Party, cells: npt.NDArray[np.int64]) -> None:
        with me.phase("more women" if cells[0] > cells[1] else "more men"):
            pass
        me.send(self.Cells(cells=np.zeros(1, np.int64)), to=0)


class FullShare(OpenShare):
    """A release that states the loss of the share alone in each view."""

    name = "full-share"

    @property
    def epsilon(self) -> float:
        return 1.0

    def share(self, me: Party) -> npt.NDArray[np.int64]:
        batch = self.batch(me)
        loss = batch.epsilon * excess(rate=float(batch.rate), shape=1 / batch.parties)
        seen = dict.fromkeys(views(batch.parties), Loss.pure(loss))
        return np.asarray(
            next(me.release(SharedNoise(pages=self.pages(me), batch=batch, seen=seen), to=0))
        )


class ChangedInPlace(OpenShare):
    """An honest protocol that changes the answer of a release in place."""

    name = "changed-in-place"

    def share(self, me: Party) -> npt.NDArray[np.int64]:
        alone = replace(self.batch(me), parties=1)
        mechanism = SharedNoise(pages=self.pages(me), batch=alone, seen={})
        noisy = next(me.release(mechanism, to=0))
        noisy += 5
        return noisy


class OwnTables(NoisyMarginals):
    """A subclass of a built-in protocol, whose secure sums stay the framework's."""

    name = "own-tables"
