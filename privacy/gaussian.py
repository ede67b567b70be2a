"""The discrete Gaussian mechanism, on a whole number or on an array of them.

For exact numbers of L2 sensitivity D the noise X of each has P[X = x] proportional to
exp(-x^2 / (2 s^2)) with s^2 = D^2 / (2 rho). It is drawn with an error below 2^-113 in each cell
(`privacy.discrete_gaussian`). The answer is rho-zCDP (Canonne, Kamath and Steinke,
"The discrete Gaussian for differential privacy", 2020, theorem 4), also for arrays (theorem 14).
No pure epsilon bounds it: a run converts its rho once, for its delta (`privacy.conversion`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .arguments import concentrated_rho, exact_fraction, whole_numbers
from .budget import Budget
from .exact_value import ExactValue
from .gaussian_loss import gaussian_loss
from .laplace import require_scale
from .loss import Loss

__all__ = ["GaussianNumbers", "gaussian"]

Counts = npt.NDArray[np.int64]
NumbersT = TypeVar("NumbersT", int, npt.NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class GaussianNumbers(Generic[NumbersT]):
    """Whole numbers that wait to be released with noise. They are not printed."""

    value: NumbersT = field(repr=False)
    squared_sensitivity: Fraction
    """The square of the L2 sensitivity."""
    rho: float
    laplace_epsilon: float = math.inf
    """Epsilon that Laplace noise of the same variance costs; infinity if that is unknown."""

    name = "discrete-gaussian"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.concentrated(
            self.rho,
            laplace_epsilon=self.laplace_epsilon,
            gaussian=gaussian_loss(self.variance, l2_squared=self.squared_sensitivity),
        )

    @property
    def sensitivity(self) -> float:
        """Bound on the change of all numbers together, in the L2 norm."""
        return math.sqrt(self.squared_sensitivity)

    @property
    def variance(self) -> Fraction:
        """The parameter s^2 of the noise; its variance is at most this."""
        return self.squared_sensitivity / (2 * Fraction(self.rho))

    @property
    def scale(self) -> float:
        return math.sqrt(self.variance)

    def draw(self, randomness: RandomStream) -> NumbersT:
        """Add the noise. Called by `Accountant.release` alone, after the loss was recorded."""
        from .discrete_gaussian import discrete_gaussian

        law = discrete_gaussian(variance=self.variance)
        noise = law.draw(np.size(self.value), randomness=randomness)
        if isinstance(self.value, int):
            return self.value + int(noise[0])
        return cast("NumbersT", self.value + noise.reshape(self.value.shape))

    def exact_value(self) -> ExactValue:
        return ExactValue.of(np.atleast_1d(self.value), norm="L2")

    def log_likelihood(self, answer: NumbersT) -> float:
        """Compute ln P[answer], up to a constant."""
        noise = np.asarray(answer, np.float64) - self.value
        return -float((noise**2).sum()) / (2 * float(self.variance))


@overload
def gaussian(
    value: int,
    *,
    sensitivity: float | Fraction,
    rho: float | None = ...,
    budget: Budget | None = ...,
) -> GaussianNumbers[int]: ...
@overload
def gaussian(
    value: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    rho: float | None = ...,
    budget: Budget | None = ...,
) -> GaussianNumbers[Counts]: ...
def gaussian(
    value: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    rho: float | None = None,
    budget: Budget | None = None,
) -> GaussianNumbers[int] | GaussianNumbers[Counts]:
    """Prepare whole numbers for release with discrete Gaussian noise.

    Its standard deviation is sensitivity / sqrt(2 rho). Say `rho` or `budget`.

    Args:
        value: A whole number, or an array of whole numbers.
        sensitivity: The bound on the change of all numbers together, in the L2 norm, between
            neighbouring datasets. A float is taken as the exact fraction that it is.
        rho: The privacy loss, in zero-concentrated differential privacy.
        budget: A part of the budget, in rho. It may be one of Gaussian loss. Then the standard
            deviation is at least 20, as no such loss is proved of narrower noise. Multiply small
            numbers and their sensitivity by a whole number, so that nothing is wasted.

    >>> round(gaussian([3, 4], sensitivity=2**0.5, rho=0.01).scale, 3)
    10.0
    """
    numbers = whole_numbers(value, mechanism="gaussian")
    exact = exact_fraction(sensitivity, name="a sensitivity") ** 2
    loss = concentrated_rho(rho, budget, mechanism="gaussian", l2_squared=exact)
    require_scale(math.sqrt(exact / (2 * Fraction(loss))))
    if isinstance(numbers, int):
        # A single number changes by the same amount in both norms.
        same_variance = math.sqrt(4 * loss)
        return GaussianNumbers(numbers, exact, loss, same_variance)
    return GaussianNumbers(numbers, exact, loss)
