"""Protocols that keep something beside their arguments: a newcomer's mistakes, each."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
from leaky_protocols import FloatingPoint, Leaky, TextbookLaplace, ages

from sottovoce import Curator, Outcome, Party
from sottovoce.crypto import RandomStream
from sottovoce.privacy.exact_value import ExactValue


def over_forty(me: Party) -> int:
    return int((ages(me) > 40).sum())


class KeptInTheClass(Leaky):
    """An exact count of the first play, though each play reads its records."""

    name = "kept-in-the-class"
    counts: ClassVar[dict[int, int]] = {}

    def figure(self, me: Party) -> float:
        return self.counts.setdefault(me.rank, over_forty(me))


COUNTS: list[tuple[int, int]] = []


@functools.cache
def count_of(rank: int) -> int:
    return dict(reversed(COUNTS))[rank]


class KeptInACache(Leaky):
    """An exact count, which a cache keeps from the first play on."""

    name = "kept-in-a-cache"

    def figure(self, me: Party) -> float:
        COUNTS.append((me.rank, over_forty(me)))
        return count_of(me.rank)


class SharedWithTheCurator(Leaky):
    """Exact counts in a list of the class, where the curator's thread reads them."""

    name = "shared-with-the-curator"
    counts: ClassVar[list[int]] = []

    def figure(self, me: Party) -> float:
        self.counts.append(over_forty(me))
        return 0.0

    def curator(self, desk: Curator) -> Outcome:
        return Outcome(summary={**super().curator(desk).summary, "over forty": sum(self.counts)})


class CachesPublicFigures(Leaky):
    """An honest protocol that keeps what depends on no record."""

    name = "caches-public-figures"
    squares: ClassVar[dict[int, int]] = {}

    def figure(self, me: Party) -> float:
        return self.squares.setdefault(len(me.parties), len(me.parties) ** 2)


class PredictableLaplace(TextbookLaplace):
    """Noise of a generator whose seed is in the program, fresh in each answer."""

    generator: ClassVar[np.random.Generator] = np.random.default_rng(2024)

    def draw(self, randomness: RandomStream) -> int:
        return round(self.value + float(self.generator.laplace()))


class PredictableNoise(FloatingPoint):
    """A mechanism of one's own whose noise everybody can draw again."""

    name = "predictable-noise"

    def mechanism(self, me: Party) -> TextbookLaplace:
        return PredictableLaplace(value=float(over_forty(me)))


class LaplaceInPairs(TextbookLaplace):
    """Noise that is kept for the next answer, which takes it again."""

    spare: ClassVar[list[float]] = []

    def draw(self, randomness: RandomStream) -> int:
        if self.spare:
            return round(self.value + self.spare.pop())
        noise = float(randomness.generator().laplace())
        self.spare.append(noise)
        return round(self.value + noise)


class NoiseInPairs(FloatingPoint):
    """Two answers in turn with one noise: their difference is exact."""

    name = "noise-in-pairs"

    def mechanism(self, me: Party) -> TextbookLaplace:
        return LaplaceInPairs(value=float(over_forty(me)))


class BrokenLaplace(TextbookLaplace):
    """A mechanism that answers once, and does not show its exact value."""

    answered: ClassVar[set[float]] = set()

    def exact_value(self) -> ExactValue:
        raise LookupError(f"found {self.value}")

    def draw(self, randomness: RandomStream) -> int:
        if self.value in self.answered:
            raise RuntimeError(f"{self.value} was released before")
        self.answered.add(self.value)
        return round(self.value + float(randomness.generator().laplace()))


class BrokenMechanism(FloatingPoint):
    """A mechanism of one's own whose code fails where it is checked."""

    name = "broken-mechanism"

    def mechanism(self, me: Party) -> TextbookLaplace:
        return BrokenLaplace(value=float(over_forty(me)) + me.rank / 8)


class ErrorNamedByData(Leaky):
    """An error whose class has a statistic in its name."""

    name = "error-named-by-data"

    def figure(self, me: Party) -> float:
        raise type(f"MeanAgeIs{ages(me).mean():.0f}", (LookupError,), {})
