"""Protocols that an audit must see through, and one that it must not accuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, message
from sottovoce.crypto import RandomStream
from sottovoce.privacy import Batch, Loss, SelectedNoise, SharedNoise
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)
from sottovoce.protocols.secure_sum.selected import SelectingCurator


class CountOptions(Options):
    epsilon: Epsilon = 1.0


class CountSumOptions(SumOptions):
    epsilon: Epsilon = 1.0


class Count(Protocol[CountOptions]):
    """Counts the first label of `label`, with noise of the protocol's own."""

    name = "count"
    summary = "a count"
    trust = "no one"
    neighbours = "replace-one"
    needs_schema = True

    @message
    class Answer:
        count: float

    def party(self, me: Party) -> None:
        with me.phase("count"):
            exact = int(np.asarray(me.records.marginal(("label",)))[0])
            me.send(self.Answer(self.answer(me, exact)), to=CURATOR)

    def answer(self, me: Party, exact: int) -> float:
        raise NotImplementedError

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            return Outcome(summary={"count": sum(a.count for a in desk.gather(self.Answer))})


class ExactCount(Count):
    def answer(self, me: Party, exact: int) -> float:
        return float(exact)


class OwnNoise(Count):
    def answer(self, me: Party, exact: int) -> float:
        return exact + float(me.randomness("noise").generator().laplace())


@dataclass(frozen=True)
class FloatLaplace:
    """Laplace noise whose scale is the claim's times `factor`, on a grid of a thousandth."""

    value: int = field(repr=False)
    epsilon: float
    factor: float

    name = "float-laplace"
    sensitivity = 1.0
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = {}

    @property
    def scale(self) -> float:
        return self.factor / self.epsilon

    def draw(self, randomness: RandomStream) -> float:
        noisy = self.value + float(randomness.generator().laplace(0, self.scale))
        # The lowest bits of a floating-point answer would tell of its exact value.
        return round(1024 * noisy) / 1024


@dataclass(frozen=True)
class DeclaredLaplace(FloatLaplace):
    def log_likelihood(self, answer: float) -> float:
        return -abs(answer - self.value) / self.scale


class SmallNoise(Count):
    def answer(self, me: Party, exact: int) -> float:
        return me.release(FloatLaplace(exact, self.parameters.epsilon, 0.25), to=CURATOR)


@dataclass(frozen=True)
class TalkativeLaplace(FloatLaplace):
    def draw(self, randomness: RandomStream) -> float:
        print("drawn")  # noqa: T201
        with Path("drawn.txt").open("a", encoding="utf-8") as file:
            file.write("drawn")
        return super().draw(randomness)


class TalkativeNoise(Count):
    def answer(self, me: Party, exact: int) -> float:
        return me.release(TalkativeLaplace(exact, self.parameters.epsilon, 1.0), to=CURATOR)


class NoiseForNobody(Count):
    def answer(self, me: Party, exact: int) -> float:
        return me.release(FloatLaplace(0 * exact, self.parameters.epsilon, 1.0), to=CURATOR)


class SlightlySmallNoise(Count):
    def answer(self, me: Party, exact: int) -> float:
        return me.release(DeclaredLaplace(exact, self.parameters.epsilon, 0.95), to=CURATOR)


class HonestNoise(Count):
    def answer(self, me: Party, exact: int) -> float:
        return me.release(DeclaredLaplace(exact, self.parameters.epsilon, 1.0), to=CURATOR)


class OpenShare(Count):
    """A share of the noise, which only a secure sum may carry."""

    def batch(self, me: Party) -> Batch:
        return Batch(
            cells=1,
            sensitivity=1,
            epsilon=self.parameters.epsilon,
            rows=len(me.records) * len(me.parties),
            parties=len(me.parties),
            colluding=0,
        )

    def answer(self, me: Party, exact: int) -> float:
        share = SharedNoise(
            pages=[np.array([exact])],
            batch=self.batch(me),
            seen={"public": Loss.pure(self.parameters.epsilon)},
        )
        return float(next(me.release(share, to=CURATOR))[0])


class ShareOfOneParty(OpenShare):
    """Party 1 sends a share, and the others have none."""

    def answer(self, me: Party, exact: int) -> float:
        return super().answer(me, exact) if me.number == 1 else 0.0


class ExactBesideNoise(OpenShare):
    """The exact count, which only an encrypted sum with selected noise may carry."""

    def answer(self, me: Party, exact: int) -> float:
        mechanism = SelectedNoise(pages=[np.array([exact])], batch=self.batch(me), seen={})
        ((counts, _),) = me.release(mechanism, to=CURATOR)
        return float(np.asarray(counts)[0])


class SumOfItsOwn(Protocol[CountSumOptions]):
    """A sum with selected noise, which the curator decrypts without keeping it."""

    name = "sum-of-its-own"
    summary = "a count"
    trust = "no one"
    neighbours = "replace-one"
    needs_schema = True
    uses = (SecureSums,)

    def batch(self) -> SumBatch:
        return SumBatch(cells=2, sensitivity=2, epsilon=self.parameters.epsilon)

    def party(self, me: Party) -> None:
        with me.phase("count"):
            sums = PartySums(me, self.parameters, noise="selected")
            sums.contribute(me.records.marginals([("label",)]), self.batch())

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            sums = CuratorSums(desk, self.parameters, noise="selected")
            holder = sums.key_holder
            assert isinstance(holder, SelectingCurator)
            (total,) = holder.collect([sums.noisy(self.batch())], number=0)
            return Outcome(summary={"count": int(total[0])})
