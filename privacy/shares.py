"""Noise of several parties: each party's share of it, so that the *sum* is private.

The sum of K parties' counts shall have two-sided geometric noise of scale b = sensitivity / epsilon
(alpha = exp(-1/b)), but no party may know the noise. There are three ways:

*Shares.* Every party adds A - B with A, B independent NB(r, alpha) and r = 1 / (K - c). The
generating function of NB is ((1 - alpha) / (1 - alpha z))^r. So the sum of any K - c shares has
r = 1: a geometric variable minus another, which has exactly the two-sided geometric law. Up to c
parties may collude and subtract their own shares, and full noise remains. The price is variance:
all K shares together have K / (K - c) times that of one discrete Laplace variable. With r = 1 / K a
party that subtracts its share would leave too little noise. At b = 40 the log-ratio per count would
be larger than claimed by a factor of 17 (K = 2) to 1.85 (K = 10).

*Gaussian shares.* Every party adds a discrete Gaussian variable, whose variance is such that K - c
of them cost rho at most (`gaussian_shares`).

*Selected* (Pathak, Rane, Raj 2010). Every party draws a whole two-sided geometric variable, and one
of them enters the sum, chosen so that nobody knows whose. The claim fails against the parties: with
probability 1 / K the noise is a party's own, which subtracts it and has the others' exact sum. No
epsilon bounds that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .batch import Batch
from .exact import mark_exact
from .exact_value import ExactValue
from .loss import Loss

__all__ = ["SelectedNoise", "SharedNoise"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNoise:
    """One party's tables of a batch, page by page, each cell with a share of the noise.

    A share is less noise than the batch's budget needs. So a caller that releases one states the
    loss in each view (`seen`).
    """

    pages: Iterable[Counts] = field(repr=False)
    batch: Batch
    seen: Mapping[str, Loss]
    members: tuple[int, ...] = ()
    """Ranks of the parties whose tables are added up; empty for all parties."""

    by_users = ()
    whole_record = None

    def __post_init__(self) -> None:
        if not self.seen and self.batch.parties - self.batch.colluding > 1:
            raise ValueError(
                "expected seen, the loss in each view of a share of the noise, found nothing: "
                "state it, as a share alone does not have the batch's loss"
            )

    @property
    def name(self) -> str:
        return "multi-party-laplace" if self.batch.rho is None else "multi-party-gaussian"

    @property
    def sensitivity(self) -> float:
        """The change in L1 that Laplace noise hides, or in L2 that Gaussian noise hides."""
        batch = self.batch
        return batch.sensitivity if batch.squares is None else math.sqrt(batch.squares)

    @property
    def loss(self) -> Loss:
        return self.batch.loss

    @property
    def scale(self) -> float:
        return self.batch.scale

    def draw(self, randomness: RandomStream) -> Iterator[Counts]:
        """Add a share of the noise to every cell. Called by `Accountant.release` alone."""
        for page in self.pages:
            yield np.asarray(page) + self.batch.draw_share(len(page), randomness=randomness)

    def exact_value(self) -> ExactValue:
        return ExactValue.of(*self.pages, norm="L1" if self.batch.rho is None else "L2")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedNoise:
    """One party's tables of a batch, page by page, and beside them a whole noise.

    The noise enters the sum only if it is the one that is selected.
    """

    pages: Iterable[Counts] = field(repr=False)
    batch: Batch
    seen: Mapping[str, Loss]
    name: str = "selected-laplace"

    by_users = ()
    whole_record = None

    @property
    def sensitivity(self) -> int:
        return self.batch.sensitivity

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.batch.epsilon)

    @property
    def scale(self) -> float:
        return self.batch.scale

    def draw(self, randomness: RandomStream) -> Iterator[tuple[Counts, Counts]]:
        """Draw a noise for every cell. Called by `Accountant.release` alone.

        Counts and noise are returned apart, as they meet under encryption. The counts are exact.
        """
        from .negative_binomial import negative_binomial

        law = negative_binomial(shape=Fraction(1), rate=self.batch.rate)
        for page in self.pages:
            positive = law.draw(len(page), randomness=randomness)
            noise = positive - law.draw(len(page), randomness=randomness)
            yield mark_exact(np.asarray(page)), noise

    def exact_value(self) -> ExactValue:
        return ExactValue.of(*self.pages, norm="L1")
