"""Privacy loss: what a release costs, in the two measures in which costs add up.

Pure epsilon adds up, and rho of zero-concentrated differential privacy (zCDP; Bun and Steinke 2016)
adds up. Many releases cost much less in rho. A run converts its sum of rho to an epsilon once, for
one delta (`privacy.conversion`).

    pure epsilon            costs epsilon, and rho = epsilon^2 / 2. Its Gaussian loss is pi / 2
                            times that rho (`gaussian_range`)
    bounded range epsilon   costs epsilon, and rho = epsilon^2 / 8; so does the exponential
                            mechanism (Cesar and Rogers 2021). Its Gaussian loss is pi / 2 times
                            that rho, too
    Gaussian noise          costs rho = D^2 / (2 s^2) for the L2 sensitivity D and variance s^2; no
                            pure epsilon bounds it. It also has a Gaussian loss of that size, which
                            says more (`privacy.gaussian_loss`)

A pure release beside Gaussian ones may count as epsilon, as rho or as Gaussian loss, and a Gaussian
one as rho or as Gaussian loss. The conversion takes what is least, so a sum keeps all.

Delta is the chance that both bounds fail, as where a rare label passes a threshold. It adds up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from .gaussian_range import gaussian_of_range

__all__ = [
    "NO_LOSS",
    "UNBOUNDED",
    "Loss",
    "SummedLoss",
    "largest",
    "plain_loss",
    "require_possible",
]


class Loss(msgspec.Struct, frozen=True, gc=False):
    """The privacy loss of one or more releases; losses add up component by component."""

    epsilon: float
    """Bound on the loss; infinity where there is none, as for Gaussian noise."""
    rho: float
    """Bound of zero-concentrated differential privacy."""
    delta: float = 0.0
    """Chance that both bounds fail."""
    laplace_epsilon: float | None = None
    """Epsilon that Laplace noise of the same variance costs, where that is not `epsilon`."""
    gaussian: float = math.inf
    """Bound of Gaussian differential privacy, mu^2 / 2; infinity where there is none."""

    @classmethod
    def pure(cls, epsilon: float, *, delta: float = 0.0) -> Loss:
        """Give the loss of an epsilon, which may fail with probability delta."""
        gaussian = gaussian_of_range(2 * epsilon)  # log-ratios lie within epsilon on either side
        return cls(epsilon, epsilon * epsilon / 2, delta, gaussian=gaussian)

    @classmethod
    def bounded_range(cls, epsilon: float) -> Loss:
        """Give the loss of a mechanism whose log-ratios between neighbours span epsilon at most."""
        return cls(epsilon, epsilon * epsilon / 8, gaussian=gaussian_of_range(epsilon))

    @classmethod
    def concentrated(
        cls, rho: float, *, laplace_epsilon: float = math.inf, gaussian: float = math.inf
    ) -> Loss:
        """Give the loss of a mechanism that rho bounds, and perhaps a Gaussian loss."""
        return cls(math.inf, rho, 0.0, laplace_epsilon, gaussian)

    @property
    def of_laplace(self) -> float:
        """Epsilon that pure noise of the same variance costs."""
        return self.epsilon if self.laplace_epsilon is None else self.laplace_epsilon

    @property
    def pure_part(self) -> float:
        """Sum of the epsilons that are bounds; releases without one count in `other_rho`."""
        return self.epsilon if self.epsilon < math.inf else 0.0

    @property
    def other_rho(self) -> float:
        """Sum of the rho of releases that no epsilon bounds."""
        return 0.0 if self.epsilon < math.inf else self.rho

    @property
    def other_gaussian(self) -> float:
        """Sum of the Gaussian losses of releases that no epsilon bounds."""
        return 0.0 if self.epsilon < math.inf else self.gaussian

    def is_within(self, other: Loss, *, slack: float = 1e-9) -> bool:
        """Tell whether each component is at most that of another loss."""
        pairs = (
            (self.epsilon, other.epsilon),
            (self.rho, other.rho),
            (self.delta, other.delta),
            (self.gaussian, other.gaussian),
            (self.other_gaussian, other.other_gaussian),
        )
        return all(small <= large * (1 + slack) for small, large in pairs)


class SummedLoss(Loss, frozen=True, gc=False, kw_only=True):
    """The loss of several releases, of which some may have no pure bound."""

    pure_part: float
    other_rho: float
    other_gaussian: float


NO_LOSS = Loss.pure(0.0)
UNBOUNDED = Loss(math.inf, math.inf)


def plain_loss(loss: Loss) -> Loss:
    """Take the components that a mechanism states; what a subclass adds to them is left out."""
    return Loss(loss.epsilon, loss.rho, loss.delta, loss.laplace_epsilon, loss.gaussian)


def require_possible(loss: Loss) -> None:
    """Refuse a loss that no mechanism has."""
    # These comparisons are false for NaN, too.
    if not (loss.epsilon >= 0 and loss.rho >= 0 and loss.gaussian >= 0 and 0 <= loss.delta <= 1):
        raise ValueError(
            "expected a loss of at least 0 in epsilon, rho, delta and the Gaussian loss, found "
            f"{loss.epsilon:g}, {loss.rho:g}, {loss.delta:g} and {loss.gaussian:g}"
        )
    # Gaussian differential privacy of mu implies rho = mu^2 / 2; that of small shares is wider.
    if loss.gaussian < 0.99 * loss.rho:
        raise ValueError(
            f"expected a Gaussian loss of at least rho, which is {loss.rho:g}, found "
            f"{loss.gaussian:g}: leave it out if the noise is not Gaussian"
        )
    # The square of a tiny epsilon is 0 in floating point.
    if not loss.rho and loss.epsilon * loss.epsilon / 8:
        raise ValueError(
            f"expected a rho above 0 beside epsilon {loss.epsilon:g}, found 0, which means that "
            "nothing is released: take Loss.pure(epsilon), or Loss.concentrated(rho)"
        )


def largest(losses: Iterable[Loss]) -> Loss:
    """Take the largest of each component: a bound on every one of these losses."""
    listed = [*losses]
    return SummedLoss(
        max((loss.epsilon for loss in listed), default=0.0),
        max((loss.rho for loss in listed), default=0.0),
        max((loss.delta for loss in listed), default=0.0),
        max((loss.of_laplace for loss in listed), default=0.0),
        max((loss.gaussian for loss in listed), default=0.0),
        pure_part=max((loss.pure_part for loss in listed), default=0.0),
        other_rho=max((loss.other_rho for loss in listed), default=0.0),
        other_gaussian=max((loss.other_gaussian for loss in listed), default=0.0),
    )
