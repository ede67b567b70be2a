"""A batch of tables that are summed with noise of several parties: its public facts, and its law.

What noise the sum of such a batch has, what it costs, and how far it goes follows from these facts
alone, so all roles compute it alike. How the noise comes from several parties is in `shares`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import UsageError
from .gaussian_loss import gaussian_loss, variance_for
from .gaussian_share_law import gaussian_log_ratio
from .gaussian_shares import deviation, rho_of_sum, share_variance_for
from .gaussian_shares import noise_bound as gaussian_bound
from .laplace_shares import MAX_SCALE, excess, noise_bound, shape_of
from .loss import Loss
from .noise_interval import gaussian_half_width, laplace_half_width
from .share_law import noise_log_ratio

__all__ = ["Batch"]

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
