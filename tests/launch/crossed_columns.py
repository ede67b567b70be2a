"""Protocols with a mistake that takes several columns, or several counts, at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from own_noise import OwnNoise

from sottovoce import (
    CURATOR,
    Curator,
    Epsilon,
    Options,
    Outcome,
    Party,
    Protocol,
    laplace,
    message,
)
from sottovoce.crypto import RandomStream
from sottovoce.privacy.mechanism import AnyMechanism

Numbers = npt.NDArray[np.float64]


class Parameters(Options):
    epsilon: Epsilon = 1.0


class OfTheParty(Protocol[Parameters]):
    """Each party releases some numbers, and the curator adds them up."""

    name = "of-the-party"
    summary = "noisy numbers"
    trust = "each party adds its own noise"
    neighbours = "replace-one"

    @message
    class Answer:
        values: npt.NDArray[np.float64]

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        raise NotImplementedError

    def party(self, me: Party) -> None:
        with me.phase("answer"):
            answer = me.release(self.mechanism(me), to=CURATOR)
            me.send(self.Answer(np.asarray(answer, np.float64)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("answer"):
            total = sum(answer.values for answer in desk.gather(self.Answer))
        return Outcome(summary={"total": float(np.sum(total))})


class LargestOfGroups(OfTheParty):
    """Somebody may think that one record changes one maximum."""

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        groups, hours = me.records.column("sex"), me.records.column("hours-per-week").astype(int)
        largest = [int(hours[groups == name].max(initial=0)) for name in ("Female", "Male")]
        return laplace(largest, sensitivity=99, epsilon=1.0)


@dataclass(frozen=True)
class NoiseOnTheThresholdAlone(OwnNoise):
    """The sparse vector technique without noise on its queries, a variant known to be broken."""

    def draw(self, randomness: RandomStream) -> Numbers:
        threshold = 50 + int(laplace(0, sensitivity=1, epsilon=0.5).draw(randomness))
        return np.asarray(self.counts >= threshold, np.float64)


class FrequentLabels(OfTheParty):
    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        labels = me.records.column("education")
        names = ("10th", "11th", "Bachelors", "HS-grad", "Some-college")
        return NoiseOnTheThresholdAlone(np.array([(labels == name).sum() for name in names], float))


class FilledGaps(OfTheParty):
    """A missing age counts as the mean of the others; somebody may think of a single age alone."""

    name = "filled-gaps"

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        texts = me.records.column("age").tolist()
        ages = np.clip([float(text or "nan") for text in texts], 0, 100)
        total = int(np.where(np.isnan(ages), np.nanmean(ages), ages).sum())
        return laplace(total, sensitivity=100, epsilon=self.parameters.epsilon)


class SeveralJobs(OfTheParty):
    """A text may name several jobs; somebody may think that it names one."""

    name = "several-jobs"
    JOBS = ("Sales", "Tech-support", "Craft-repair", "Adm-clerical")

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        counts = dict.fromkeys(self.JOBS, 0)
        for text in me.records.column("occupation").tolist():
            for job in text.split(";"):
                if job in counts:
                    counts[job] += 1
        exact = np.array([*counts.values()])
        return laplace(exact, sensitivity=2, epsilon=self.parameters.epsilon)


class FewDifferentAges(OfTheParty):
    """Bins are of a year or of a decade, as the ages that occur decide."""

    name = "few-different-ages"

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        ages = me.records.column("age").astype(int)
        bins = ages if len(np.unique(ages)) <= 40 else ages // 10 * 10
        counts = np.bincount(bins, minlength=100)
        return laplace(counts, sensitivity=2, epsilon=self.parameters.epsilon)


class RoundedSize(OfTheParty):
    """The number of records is rounded before there is noise on it."""

    name = "rounded-size"
    neighbours = "add-or-remove-one"  # type: ignore[assignment]

    def mechanism(self, me: Party) -> AnyMechanism[npt.ArrayLike]:
        count = 26 * round(len(me.records) / 26)
        return laplace(count, sensitivity=1, epsilon=self.parameters.epsilon)
