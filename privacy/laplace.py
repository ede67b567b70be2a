"""The discrete Laplace mechanism, on a whole number or on an array of them.

For exact numbers of L1 sensitivity s the noise X of each has P[X = x] = (1 - q) / (1 + q) * q**|x|
with q = exp(-epsilon / s). So the answer is epsilon-differentially private. The noise of a single
number is sampled exactly, with integers alone, after Canonne, Kamath and Steinke, "The discrete
Gaussian for differential privacy" (2020), algorithms 1 and 2. The noise of an array is the
difference of two geometric variables, drawn together (`negative_binomial`); its law is off by less
than 2^-117 in each cell. Epsilon and the sensitivity are taken as the exact fractions that their
floats are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from .arguments import SmallBudgetError, exact_fraction, pure_epsilon, whole_numbers
from .budget import Budget
from .exact_value import ExactValue
from .loss import Loss

__all__ = [
    "DiscreteLaplace",
    "bernoulli_exp",
    "laplace",
    "require_scale",
    "two_sided_geometric",
]

Counts = npt.NDArray[np.int64]
NumbersT = TypeVar("NumbersT", int, npt.NDArray[np.int64])

MAX_SCALE: Final = 2.0**40
"""Largest noise scale; noise of this scale stays below 2**60."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Generic[NumbersT]):
    """Whole numbers that wait to be released with noise. They are not printed."""

    value: NumbersT = field(repr=False)
    l1_sensitivity: Fraction
    epsilon: float

    name = "discrete-laplace"
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, Loss]] = MappingProxyType({})

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def sensitivity(self) -> float:
        """Bound on the change of all numbers together, in the L1 norm."""
        exact = self.l1_sensitivity
        return exact.numerator if exact.denominator == 1 else float(exact)

    @property
    def scale(self) -> float:
        return self.sensitivity / self.epsilon

    @property
    def rate(self) -> Fraction:
        """Epsilon / sensitivity, exactly."""
        return Fraction(self.epsilon) / self.l1_sensitivity

    def draw(self, randomness: RandomStream) -> NumbersT:
        """Add the noise. Called by `Accountant.release` alone, after the loss was recorded."""
        if isinstance(self.value, int):
            return self.value + two_sided_geometric(self.rate, randomness)
        from .negative_binomial import negative_binomial

        law = negative_binomial(shape=Fraction(1), rate=self.rate)
        cells = self.value.size
        noise = law.draw(cells, randomness=randomness) - law.draw(cells, randomness=randomness)
        return cast("NumbersT", self.value + noise.reshape(self.value.shape))

    def exact_value(self) -> ExactValue:
        return ExactValue.of(np.atleast_1d(self.value), norm="L1")

    def log_likelihood(self, answer: NumbersT) -> float:
        """Compute ln P[answer], up to a constant."""
        return -float(self.rate) * float(np.abs(np.asarray(answer) - self.value).sum())


@overload
def laplace(
    value: int,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = ...,
    budget: Budget | None = ...,
) -> DiscreteLaplace[int]: ...
@overload
def laplace(
    value: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = ...,
    budget: Budget | None = ...,
) -> DiscreteLaplace[Counts]: ...
def laplace(
    value: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    epsilon: float | None = None,
    budget: Budget | None = None,
) -> DiscreteLaplace[int] | DiscreteLaplace[Counts]:
    """Prepare whole numbers for release with discrete Laplace noise.

    The noise scale is sensitivity / epsilon. Say `epsilon` or `budget`.

    Args:
        value: A whole number, or an array of whole numbers.
        sensitivity: The bound on the change of all numbers together, in the L1 norm, between
            neighbouring datasets. A float is taken as the exact fraction that it is.
        epsilon: The privacy loss.
        budget: A part of the budget, in epsilon or in rho.

    >>> from sottovoce.crypto import RandomStream
    >>> laplace([3, 4], sensitivity=1, epsilon=1.0).draw(RandomStream(b"k" * 32)).shape
    (2,)
    """
    numbers = whole_numbers(value, mechanism="laplace")
    exact = exact_fraction(sensitivity, name="a sensitivity")
    loss = pure_epsilon(epsilon, budget, mechanism="laplace")
    require_scale(float(exact / Fraction(loss)))
    if isinstance(numbers, int):
        return DiscreteLaplace(numbers, exact, loss)
    return DiscreteLaplace(numbers, exact, loss)


def require_scale(scale: float) -> None:
    """Refuse a noise scale with which numbers might exceed 64 bits."""
    if scale > MAX_SCALE:
        raise SmallBudgetError(
            f"expected a noise scale of at most 2**40, found {scale:g}: choose a larger budget"
        )


def two_sided_geometric(rate: Fraction, randomness: RandomStream) -> int:
    """Draw X with P[X = x] proportional to exp(-rate * |x|)."""
    numerator, denominator = rate.numerator, rate.denominator
    while True:
        # |X| * numerator + u, with u uniform, is geometric with rate 1 / denominator: algorithm 2.
        residue = randomness.below(denominator)
        if not bernoulli_exp(Fraction(residue, denominator), randomness):
            continue
        wholes = 0
        while bernoulli_exp(Fraction(1), randomness):
            wholes += 1
        size = (residue + denominator * wholes) // numerator
        negative = randomness.below(2)
        if not (negative and size == 0):  # Otherwise zero would be twice as likely.
            return -size if negative else size


def bernoulli_exp(rate: Fraction, randomness: RandomStream) -> bool:
    """Return True with probability exp(-rate).

    This is algorithm 1: coin flips sum up an alternating series for rates up to 1.
    """
    while rate > 1:
        if not bernoulli_exp(Fraction(1), randomness):
            return False
        rate -= 1
    k = 1
    while randomness.below(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1
