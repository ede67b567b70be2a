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
from typing import Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import UsageError
from .exact import mark_exact
from .exact_value import ExactValue
from .gaussian_loss import gaussian_loss, variance_for
from .gaussian_share_law import gaussian_log_ratio
from .gaussian_shares import deviation, rho_of_sum, share_variance_for
from .gaussian_shares import noise_bound as gaussian_bound
from .laplace_shares import MAX_SCALE, excess, noise_bound, shape_of
from .loss import Loss
from .noise_interval import gaussian_half_width, laplace_half_width
from .share_law import noise_log_ratio

__all__ = ["Batch", "SelectedNoise", "SharedNoise"]

Counts = npt.NDArray[np.int64]

MIN_SHARE: Final = Fraction(5, 2)
"""Least variance of a share in a batch whose budget is a Gaussian loss.

The sum of a million such shares is near enough to N_Z: its `deviation` is below 10^-9.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Public facts of tables that are summed and released together.

    A budget of epsilon buys Laplace noise, and a budget of rho buys Gaussian noise.
    """

    cells: int
    sensitivity: int
    """Bound on the change of all cells together (L1) between neighbouring datasets."""
    epsilon: float = math.inf
    """Privacy loss of the whole batch; infinity where the noise is Gaussian."""
    rho: float | None = None
    """Privacy loss in rho; `None` where the noise is Laplace noise."""
    squares: int | None = None
    """Bound on the squared change in L2, for Gaussian noise."""
    of_gaussian: bool = False
    """Whether `rho` bounds the Gaussian loss as well (`Budget.of_gaussian`)."""
    rows: int
    """Bound on any cell of the exact sum."""
    parties: int
    colluding: int
    """Collusion threshold: number of parties that may collude."""

    def __post_init__(self) -> None:
        if self.rho is not None:
            if not 0 < self.rho < math.inf or self.squares is None or self.squares < 1:
                raise ValueError(
                    f"expected squares >= 1 and finite rho > 0, found {self.squares} and {self.rho}"
                )
            return
        if self.sensitivity < 1 or not 0 < self.epsilon < math.inf:
            raise ValueError(
                "expected sensitivity >= 1 and finite epsilon > 0, "
                f"found {self.sensitivity} and {self.epsilon}"
            )
        if self.scale > MAX_SCALE:
            raise UsageError(
                f"expected a noise scale up to 2**40, found {self.scale:g}: epsilon "
                f"{self.epsilon:g} is too small for a batch of sensitivity {self.sensitivity}"
            )

    @property
    def scale(self) -> float:
        """Noise scale: that of Laplace noise, or the standard deviation of all honest shares."""
        if self.rho is not None:
            return math.sqrt(float(self._share_variance) * self._honest)
        return self.sensitivity / self.epsilon

    @property
    def rate(self) -> Fraction:
        """Epsilon / sensitivity, exactly."""
        return Fraction(self.epsilon) / self.sensitivity

    @property
    def loss(self) -> Loss:
        """Privacy loss of the released sum, for up to `colluding` parties."""
        return self.loss_with(self._honest)

    def loss_with(self, shares: int) -> Loss:
        """Give the loss to an adversary to whom the shares of so many parties are unknown."""
        if self.rho is None:
            if shares >= self._honest:
                return Loss.pure(self.epsilon)
            shape = shares / self._honest
            return Loss.pure(self.epsilon * excess(rate=float(self.rate), shape=shape))
        like = self.sensitivity * math.sqrt(2) / self.scale
        is_full = shares >= self._honest
        rho = self.rho if is_full else self._rho_of(shares)
        gaussian = self.rho if is_full and self.of_gaussian else self._gaussian_loss_of(shares)
        return Loss.concentrated(rho, laplace_epsilon=like, gaussian=gaussian)

    @property
    def _honest(self) -> int:
        """Number of shares that are full noise together."""
        return self.parties - self.colluding

    def _rho_of(self, shares: int) -> float:
        return rho_of_sum(
            share_variance=self._share_variance,
            shares=shares,
            l2_squared=self._gaussian[1],
            cells=self.cells,
        )

    def _gaussian_loss_of(self, shares: int) -> float:
        """Bound the Gaussian loss; more shares than are full noise never cost more."""
        shares = min(shares, self._honest)
        return gaussian_loss(
            self._share_variance * shares,
            l2_squared=self._gaussian[1],
            deviation=deviation(share_variance=self._share_variance, shares=shares),
        )

    @property
    def _gaussian(self) -> tuple[float, int]:
        """The budget in rho and the squared sensitivity in L2, of a batch with Gaussian noise."""
        if self.rho is None or self.squares is None:
            raise ValueError("expected a batch with a budget in rho, found one in epsilon")
        return self.rho, self.squares

    @property
    def _share_variance(self) -> Fraction:
        """Variance parameter of one party's Gaussian share."""
        rho, squares = self._gaussian
        share = share_variance_for(rho, shares=self._honest, l2_squared=squares, cells=self.cells)
        if not self.of_gaussian:
            return share
        # A share is at least this wide, so that the sum's law is close enough to its limit.
        return max(share, variance_for(rho, l2_squared=squares) / self._honest, MIN_SHARE)

    def draw_share(self, count: int, *, randomness: RandomStream) -> Counts:
        """Draw one party's share of the noise for so many cells."""
        if self.rho is not None:
            from .discrete_gaussian import discrete_gaussian

            gaussian = discrete_gaussian(variance=self._share_variance)
            return gaussian.draw(count, randomness=randomness)
        from .negative_binomial import negative_binomial

        shape = shape_of(parties=self.parties, colluding=self.colluding)
        law = negative_binomial(shape=shape, rate=self.rate)
        positive = law.draw(count, randomness=randomness)
        return positive - law.draw(count, randomness=randomness)

    def log_ratio(self, noise: Counts, shift: Counts, *, shares: int) -> float:
        """Compute the log-ratio of noise of so many shares, against the noise minus `shift`."""
        if self.rho is not None:
            return gaussian_log_ratio(
                noise, shift, share_variance=self._share_variance, shares=shares
            )
        shape = float(shape_of(parties=self.parties, colluding=self.colluding)) * shares
        return noise_log_ratio(noise, shift, shape=shape, rate=self.rate)

    def bound(self, *, shares: bool) -> int:
        """Bound every cell of the released sum, with its noise."""
        if self.rho is not None:
            return self.rows + gaussian_bound(
                share_variance=self._share_variance, shares=self.parties, cells=self.cells
            )
        sharing = {"parties": self.parties, "colluding": self.colluding} if shares else {}
        noise = noise_bound(
            sensitivity=self.sensitivity, epsilon=self.epsilon, cells=self.cells, **sharing
        )
        return self.rows + noise

    def variance(self, *, shares: bool) -> float:
        """Compute the noise variance of each cell of the released sum."""
        if self.rho is not None:
            return float(self._share_variance) * self.parties
        rate = float(self.rate)
        single = 2 * math.exp(-rate) / math.expm1(-rate) ** 2
        return single * (self.parties / (self.parties - self.colluding) if shares else 1)

    def half_width(self, confidence: float, *, shares: bool) -> int:
        """Find how far the noise of a cell of the released sum goes, with this confidence."""
        if self.rho is not None:
            return gaussian_half_width(self.variance(shares=shares), confidence=confidence)
        shape = self.parties / (self.parties - self.colluding) if shares else 1.0
        return laplace_half_width(self.rate, shape=shape, confidence=confidence)


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
