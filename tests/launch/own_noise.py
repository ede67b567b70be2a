"""Mechanisms of an author's own, some with too little noise where few tables show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, message
from sottovoce.crypto import RandomStream
from sottovoce.privacy.loss import Loss
from sottovoce.privacy.mechanism import UserCost

Numbers = npt.NDArray[np.float64]


def noise(randomness: RandomStream, *, scale: float, size: int = 1) -> Numbers:
    """Whole numbers of the two-sided geometric distribution."""
    words = np.frombuffer(randomness.draw(16 * size), np.uint64).reshape(2, size)
    uniform = (words + 1.0) / 2.0**64
    return np.asarray(np.subtract(*np.floor(-scale * np.log(uniform))))


@dataclass(frozen=True)
class OwnNoise:
    """What all of these mechanisms state: epsilon 1 for counts by the hours of work."""

    counts: Numbers
    name: ClassVar[str] = "own-noise"
    sensitivity: ClassVar[float] = 1.0
    scale: ClassVar[float] = 1.0
    epsilon: ClassVar[float] = 1.0
    delta: ClassVar[float] = 0.0
    seen: ClassVar[Mapping[str, Loss]] = {}
    by_users: ClassVar[Sequence[UserCost]] = ()
    whole_record: ClassVar[float | None] = None

    def draw(self, randomness: RandomStream) -> Numbers:
        return np.asarray(self.counts + noise(randomness, scale=self.scale, size=len(self.counts)))


class WrongScale(OwnNoise):
    """The epsilon was rounded: 1.4 is spent, and 1 is stated."""

    scale = 1 / 1.4


class NoNoiseForZero(OwnNoise):
    """A count of 0 tells of nobody, somebody may think."""

    def draw(self, randomness: RandomStream) -> Numbers:
        return np.where(self.counts == 0, 0.0, super().draw(randomness))


class NoiseOfTheLargest(OwnNoise):
    """A sum of ages with noise for the oldest person, so it tells how old that person is."""

    def draw(self, randomness: RandomStream) -> Numbers:
        largest = float(self.counts.max(initial=1.0))
        return noise(randomness, scale=largest) + float(self.counts.sum())


class TooManyThresholds(OwnNoise):
    """Which counts are above 3, each with a fresh threshold and all for one epsilon.

    A record that changes two counts by one changes two bits.
    """

    def draw(self, randomness: RandomStream) -> Numbers:
        tries = [self.counts.sum() > 3 + noise(randomness, scale=1.0) for _ in range(20)]
        return np.concatenate(tries).astype(float)


class ThinTails(OwnNoise):
    """Noise that ends at three, which one answer in 27 shows."""

    def draw(self, randomness: RandomStream) -> Numbers:
        return self.counts + np.clip(noise(randomness, scale=1.0, size=len(self.counts)), -3, 3)


class RandomizedCounts(OwnNoise):
    """Nothing but a coin for each count, that lies with a chance of 1 in 1 + e."""

    def draw(self, randomness: RandomStream) -> Numbers:
        lies = np.frombuffer(randomness.draw(8 * len(self.counts)), np.uint64) / 2.0**64
        return np.where(lies < 1 / (1 + math.e), self.counts < 1, self.counts >= 1).astype(float)


class Parameters(Options):
    epsilon: Epsilon = 1.0


class OwnNoisyCounts(Protocol[Parameters]):
    """Noisy counts of people in six bands of age."""

    name = "own-noisy-counts"
    summary = "counts with noise of one's own"
    trust = "each party adds its own noise"
    neighbours = "add-or-remove-one"
    mechanism: ClassVar[type[OwnNoise]] = OwnNoise

    @message
    class Answer:
        values: npt.NDArray[np.float64]

    def numbers(self, me: Party) -> Numbers:
        ages = me.records.column("age").astype(float)
        return np.asarray(np.histogram(ages, [0, 30, 40, 50, 60, 70, 200])[0], np.float64)

    def party(self, me: Party) -> None:
        with me.phase("count"):
            me.send(
                self.Answer(me.release(self.mechanism(self.numbers(me)), to=CURATOR)), to=CURATOR
            )

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            answers = [answer.values.tolist() for answer in desk.gather(self.Answer)]
        return Outcome(summary={"answers": answers})


class CountsWithWrongScale(OwnNoisyCounts):
    mechanism = WrongScale


class CountsWithoutNoiseForZero(OwnNoisyCounts):
    mechanism = NoNoiseForZero


class SumWithNoiseOfTheLargest(OwnNoisyCounts):
    mechanism = NoiseOfTheLargest

    def numbers(self, me: Party) -> Numbers:
        return me.records.column("age").astype(float)


class ManyThresholds(OwnNoisyCounts):
    mechanism = TooManyThresholds


class CountsWithThinTails(OwnNoisyCounts):
    mechanism = ThinTails


class RandomizedBands(OwnNoisyCounts):
    mechanism = RandomizedCounts


class FloatingPointNoise(OwnNoise):
    """Laplace noise in double precision: an answer to 0 has bits that none to 1 can have."""

    def draw(self, randomness: RandomStream) -> Numbers:
        laplace = randomness.generator().laplace(0, 1, size=len(self.counts))
        return np.asarray(self.counts + laplace)


class CountsInDoublePrecision(OwnNoisyCounts):
    mechanism = FloatingPointNoise


class ManyCounts(OwnNoisyCounts):
    """A count for each of 100,000 numbers, of which records have few."""

    def numbers(self, me: Party) -> Numbers:
        weights = me.records.column("fnlwgt").astype(int) % 100_000
        return np.bincount(weights, minlength=100_000).astype(float)


class ReusedBuffer(OwnNoise):
    """Honest noise in an array that each answer writes anew."""

    buffer: ClassVar[Numbers] = np.zeros(6)

    def draw(self, randomness: RandomStream) -> Numbers:
        self.buffer[: len(self.counts)] = super().draw(randomness)
        return self.buffer[: len(self.counts)]


class NoiseInPlace(OwnNoise):
    """Honest noise that is added to the counts themselves, as a run draws once."""

    def draw(self, randomness: RandomStream) -> Numbers:
        self.counts[:] = super().draw(randomness)
        return self.counts


class LengthTells(OwnNoise):
    """As many numbers as the first count says."""

    def draw(self, randomness: RandomStream) -> Numbers:
        return noise(randomness, scale=1.0, size=300 + int(self.counts[0]))


class ManyAbsent(OwnNoise):
    """The exact value of one number among absent ones."""

    def draw(self, randomness: RandomStream) -> Numbers:
        answer = np.full(500, np.nan)
        answer[400] = self.counts[0]
        return answer


class ImaginaryPart(OwnNoise):
    def draw(self, randomness: RandomStream) -> Numbers:
        return super().draw(randomness) + 1j * self.counts


class LowDigits(OwnNoise):
    """A whole number of which double precision holds the noise alone."""

    def draw(self, randomness: RandomStream) -> Numbers:
        noisy = int(super().draw(randomness)[0]) + 1000
        return (noisy << 60) + int(self.counts[0])  # type: ignore[return-value]


class ShapeTells(OwnNoise):
    def draw(self, randomness: RandomStream) -> Numbers:
        rows = 2 if self.counts[0] else 3
        return noise(randomness, scale=1.0, size=6).reshape(rows, -1)


class DrawsForEver(OwnNoise):
    def draw(self, randomness: RandomStream) -> Numbers:
        while self.counts[0] >= 0:
            pass
        return self.counts
