"""Protocols that get around the accountant; what they do must be noticed when they are run."""

from __future__ import annotations

import os
import sys
import warnings

import msgspec
import numpy as np
from leaky_protocols import Leaky, LeakyParameters, ages

from sottovoce import Budget, Curator, Outcome, Party, laplace
from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError
from sottovoce.privacy import Accountant, Loss
from sottovoce.privacy.laplace import DiscreteLaplace
from sottovoce.protocols.options import Epsilon
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SumBatch,
    SummingProtocol,
    SumOptions,
)


def exact(me: Party) -> int:
    return int((ages(me) > 40).sum())


class TwoNoises(Leaky):
    """One statistic with noise that is accounted, and once more with noise that is not."""

    name = "two-noises"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            mechanism = laplace(exact(me), sensitivity=1, epsilon=self.parameters.epsilon)
            me.send(self.Count(value=me.release(mechanism, to=0)), to=0)
            me.send(self.Figure(value=mechanism.draw(me.randomness("again"))), to=0)


class OneNoiseForTwo(Leaky):
    """The noise of one release, taken off and put on another statistic."""

    name = "one-noise-for-two"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            count = len(me.records)
            noisy = me.release(laplace(count, sensitivity=1, epsilon=self.parameters.epsilon), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=noisy - count + exact(me)), to=0)


class UntilLarge(Leaky):
    """Small releases until one of them is above the exact count."""

    name = "until-large"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = -1
            while noisy < exact(me):
                try:
                    noisy = me.release(laplace(exact(me), sensitivity=1, epsilon=0.1), to=0)
                except BudgetError:
                    break
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)


class NoiseOfTheData(Leaky):
    """Noise from a generator that the records seed."""

    name = "noise-of-the-data"

    def figure(self, me: Party) -> float:
        return float(exact(me) + np.random.default_rng(int(ages(me).sum())).laplace())


class LowDigits(Leaky):
    """The exact count behind the digits of a release."""

    name = "low-digits"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            count = exact(me)
            noisy = me.release(laplace(count, sensitivity=1, epsilon=self.parameters.epsilon), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=noisy + count / 2**20), to=0)


class AccountantOfItsOwn(Leaky):
    """An accountant with a larger budget takes the place of the party's."""

    name = "accountant-of-its-own"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            me.accountant = Accountant(
                party=me.number,
                parties=len(me.parties),
                budget=100,
                neighbours="add-or-remove-one",
            )
            me.send(
                self.Count(value=me.release(laplace(exact(me), sensitivity=1, epsilon=50), to=0)),
                to=0,
            )
            me.send(self.Figure(value=0.0), to=0)


class ConstantNoise(Leaky):
    """The accountant is asked past the party, with a stream that everybody can draw again."""

    name = "constant-noise"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.accountant.release(
                laplace(exact(me), sensitivity=1, epsilon=self.parameters.epsilon),
                to=0,
                phase="count",
                randomness=RandomStream(bytes(32)),
            )
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)


class ForgottenReleases(Leaky):
    """The list of releases is emptied before the party hands it over."""

    name = "forgotten-releases"

    def leak(self, me: Party) -> None:
        super().leak(me)
        me.accountant.releases.clear()


class TwiceTheBudget(Leaky):
    """A release is taken off the list, so that the budget suffices for another."""

    name = "twice-the-budget"

    def figure(self, me: Party) -> float:
        me.accountant.releases.pop()
        return float(me.release(laplace(exact(me), sensitivity=1, epsilon=1.0), to=0))


class SmallerLoss(Leaky):
    """The recorded release states a smaller epsilon than was spent."""

    name = "smaller-loss"

    def leak(self, me: Party) -> None:
        super().leak(me)
        releases = me.accountant.releases
        releases[-1] = msgspec.structs.replace(releases[-1], epsilon=0.001)


class SmallerLossInPlace(Leaky):
    """The table of losses of a recorded release is changed in place."""

    name = "smaller-loss-in-place"

    def leak(self, me: Party) -> None:
        super().leak(me)
        seen = me.accountant.releases[-1].seen
        seen.update(dict.fromkeys(seen, Loss.pure(0.001)))


class TakenBack(Leaky):
    """A release that has left is withdrawn, as if nobody could read it."""

    name = "taken-back"

    def leak(self, me: Party) -> None:
        super().leak(me)
        me.accountant.withdraw(readers=())


def without_noise(mechanism: DiscreteLaplace[int], randomness: RandomStream) -> int:
    return mechanism.value


class MechanismWithoutNoise(Leaky):
    """The framework's own mechanism draws no noise any more."""

    name = "mechanism-without-noise"

    def party(self, me: Party) -> None:
        setattr(DiscreteLaplace, "draw", without_noise)  # noqa: B010 - the cheat
        super().party(me)


class SaysItIsBuiltIn(Leaky):
    """A class that gives a module of sottovoce's as its own, as parts of those are not replayed."""

    name = "says-it-is-built-in"
    __module__ = "sottovoce.protocols.head_count"

    def figure(self, me: Party) -> float:
        return float(exact(me))


class Prints(Leaky):
    """An exact count on standard output, which MPI brings to whoever started the run."""

    name = "prints"

    def figure(self, me: Party) -> float:
        sys.stdout.write(f"{exact(me)} people over forty\n")
        return 0.0


class PrintsWhatIsPublic(Leaky):
    """Lines and a warning that are the same on all records: an honest protocol."""

    name = "prints-what-is-public"

    def figure(self, me: Party) -> float:
        sys.stdout.write(f"party {me.number} has counted\n")
        warnings.warn("a warning is shown once", stacklevel=1)
        return 0.0


class KeptInTheEnvironment(Leaky):
    """The first play leaves an exact count in the environment, and later ones send it."""

    name = "kept-in-the-environment"

    def figure(self, me: Party) -> float:
        return float(os.environ.setdefault(f"SOTTOVOCE_TEST_{me.number}", str(exact(me))))


class LeftInTheEnvironment(Leaky):
    """An exact count in the environment, where other roles of the process can read it."""

    name = "left-in-the-environment"

    def figure(self, me: Party) -> float:
        os.environ[f"SOTTOVOCE_TEST_{me.number}"] = str(exact(me))
        return 0.0


class ImportsLate(Leaky):
    """A variable that is set once, as libraries do when they are imported: an honest protocol."""

    name = "imports-late"

    def figure(self, me: Party) -> float:
        os.environ.setdefault("SOTTOVOCE_TEST_LATE", "TRUE")
        return 0.0


class KeptByAnotherPackage(Leaky):
    """The same in a module of another package."""

    name = "kept-by-another-package"
    holder: object = np

    def figure(self, me: Party) -> float:
        count = exact(me)
        name = f"sottovoce_test_{me.number}"
        if not hasattr(self.holder, name):
            setattr(self.holder, name, count)
        return float(getattr(self.holder, name))


class KeptByAFrameworkClass(KeptByAnotherPackage):
    """The same in a class of sottovoce's."""

    name = "kept-by-a-framework-class"
    holder = Accountant


class PartsOfTheData(Leaky):
    """Which rows are in which part depends on the records."""

    name = "parts-of-the-data"
    neighbours = "replace-one"  # type: ignore[assignment]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            total = 0
            for part in me.partition(into=2, seed=exact(me)):
                women = int((np.asarray(part.records.column("sex")) == "Female").sum())
                total += me.release(laplace(women, sensitivity=1, epsilon=1.0), to=0, of=part)
            me.send(self.Count(value=total), to=0)
            me.send(self.Figure(value=0.0), to=0)


class NoiseRoundedAway(Leaky):
    """A count times a thousand, with the noise of a count."""

    name = "noise-rounded-away"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(laplace(1000 * exact(me), sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=round(noisy / 1000)), to=0)
            me.send(self.Figure(value=0.0), to=0)


class BoundsOfTheData(Leaky):
    """Ages are clipped to quantiles of the records themselves."""

    name = "bounds-of-the-data"
    neighbours = "replace-one"  # type: ignore[assignment]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            low, high = np.quantile(ages(me), [0.05, 0.95])
            total = int(np.clip(ages(me), low, high).sum())
            noisy = me.release(laplace(total, sensitivity=100, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)


class SumsParameters(SumOptions):
    epsilon: Epsilon = 1.0


class Sums(SummingProtocol[SumsParameters]):
    """The number of people of each sex, by a secure sum."""

    name = "sums"
    summary = "the number of people of each sex"
    tables = 1

    def batch(self, *, sensitivity: int = 2) -> SumBatch:
        return SumBatch.of(
            self.budgets[0],
            cells=2 * self.tables,
            sensitivity=sensitivity,
            squares=sensitivity,
        )

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("count"):
            self.contribute(me, sums)

    def contribute(self, me: Party, sums: PartySums) -> None:
        cells = np.concatenate([np.asarray(me.records.marginal(["sex"]))] * self.tables)
        sums.contribute([cells], self.batch())

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            self.collect(sums)
        return Outcome(summary={})

    def collect(self, sums: CuratorSums) -> None:
        sums.total(self.batch())


class TwoTablesForOne(Sums):
    """Two tables in one batch, with the sensitivity of one."""

    name = "two-tables-for-one"
    tables = 2


class WholeBudgetTwice(Sums):
    """Each of two tables has the whole epsilon."""

    name = "whole-budget-twice"

    def contribute(self, me: Party, sums: PartySums) -> None:
        for _ in range(2):
            super().contribute(me, sums)

    def collect(self, sums: CuratorSums) -> None:
        for _ in range(2):
            super().collect(sums)


class SumOfOneParty(Sums):
    """A secure sum that only one party is in."""

    name = "sum-of-one-party"

    def contribute(self, me: Party, sums: PartySums) -> None:
        if me.number == 1:
            super().contribute(me, sums.among([1]))

    def collect(self, sums: CuratorSums) -> None:
        super().collect(sums.among([1]))


class LargerBudget(Sums):
    """Sums take ten times the epsilon that the run claims."""

    name = "larger-budget"

    @property
    def budgets(self) -> list[Budget]:
        return [Budget.pure(10 * self.epsilon)]


class ThresholdOfWords(Sums):
    """It claims to withstand two colluding parties, and its noise is for one."""

    name = "threshold-of-words"

    @property
    def colluding(self) -> int:
        return 2


__all__ = ["LeakyParameters"]
