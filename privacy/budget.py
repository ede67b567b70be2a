"""Budgets: what a protocol may spend, as an amount of epsilon or of rho.

A protocol splits its budget among its releases by `share`. Parts of either measure add up. Which
measure a run has follows from its noise: Laplace noise is pure, and Gaussian noise costs rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..messages import ArgumentError, UsageError
from .conversion import epsilon_of, rho_of
from .gaussian_loss import epsilon_of_gaussian, gaussian_of
from .gaussian_range import range_of_gaussian

__all__ = ["Budget", "Unit"]

Unit = Literal["epsilon", "rho"]


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of epsilon, or of rho."""

    unit: Unit
    amount: float
    of_gaussian: bool = field(default=False, repr=False)
    """Whether the amount is of Gaussian loss (`privacy.gaussian_loss`), in the unit of rho.

    Noise on whole numbers, choices and pure mechanisms can spend it. Mechanisms of real numbers and
    histograms refuse it.
    """

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise ArgumentError(
                "expected the unit epsilon or rho first in Budget, found another: say "
                'Budget("epsilon", 1.0), or Budget.pure(1.0)'
            )

    @classmethod
    def of(cls, epsilon: float, *, delta: float) -> Budget:
        """Give the budget in rho that implies at most epsilon except with probability delta.

        Raises:
            UsageError: delta is 0, or epsilon is so small that no rho is known to imply it.
        """
        if not delta > 0:
            raise UsageError(
                "expected a delta above 0 for a budget in rho, found 0: say --delta 1e-9, or take "
                "Laplace noise"
            )
        amount = rho_of(epsilon, delta=delta)
        if not amount:
            raise UsageError(
                f"expected a larger epsilon for a budget in rho, found {epsilon:g}: say --epsilon "
                "0.01, or take Laplace noise"
            )
        return cls("rho", amount)

    @classmethod
    def of_noise(cls, epsilon: float, *, delta: float) -> Budget:
        """Give the budget of a run that releases Gaussian noise, and little else.

        It is larger than that of `of`, as the loss of Gaussian noise is exactly known: by a tenth
        at delta 10^-9.
        """
        usual = cls.of(epsilon, delta=delta)
        return cls("rho", max(usual.amount, gaussian_of(epsilon, delta=delta)), of_gaussian=True)

    @classmethod
    def pure(cls, epsilon: float) -> Budget:
        """Give a budget of pure epsilon."""
        return cls("epsilon", epsilon)

    @classmethod
    def candidates(cls, epsilon: float, *, delta: float) -> list[Budget]:
        """List the budgets that keep epsilon: pure, and in rho where delta and epsilon allow it."""
        pure = cls.pure(epsilon)
        if not delta or not rho_of(epsilon, delta=delta):
            return [pure]
        return [pure, cls.of(epsilon, delta=delta)]

    @property
    def concentrated(self) -> bool:
        """Whether the budget is in rho."""
        return self.unit == "rho"

    def share(self, part: float) -> Budget:
        """Take a part of the budget; parts add up to 1."""
        return Budget(self.unit, self.amount * part, self.of_gaussian)

    @property
    def of_choice(self) -> float:
        """Epsilon of an exponential mechanism that costs this budget.

        Its rho is epsilon^2 / 8, and its Gaussian loss pi epsilon^2 / 16.
        """
        if self.of_gaussian:
            return range_of_gaussian(self.amount)
        return math.sqrt(8 * self.amount) if self.concentrated else self.amount

    @property
    def of_pure(self) -> float:
        """Epsilon of a pure mechanism that costs this budget.

        Its rho is epsilon^2 / 2, and its Gaussian loss pi epsilon^2 / 4.
        """
        if self.of_gaussian:
            return range_of_gaussian(self.amount) / 2
        return math.sqrt(2 * self.amount) if self.concentrated else self.amount

    def laplace_epsilon(self, *, tables: int) -> float:
        """Give the epsilon at which Laplace noise in so many tables is as large.

        A replaced record changes two cells of each table by 1. The deviation of the noise is
        sqrt(2) * 2 M / epsilon, or sqrt(M / rho).
        """
        return math.sqrt(8 * self.amount * tables) if self.concentrated else self.amount

    def epsilon(self, *, delta: float) -> float:
        """Give the epsilon of spending this budget alone."""
        if not self.concentrated:
            return self.amount
        of_rho = epsilon_of(self.amount, delta=delta)
        if not self.of_gaussian:
            return of_rho
        return min(of_rho, epsilon_of_gaussian(self.amount, delta=delta))

    def require_rho(self) -> None:
        """Refuse a budget of Gaussian loss, for mechanisms that do not compute their share of it.

        Raises:
            ArgumentError: the budget is one of these.
        """
        if self.of_gaussian:
            raise ArgumentError(
                "expected a budget that pays for this mechanism, found one of Budget.of_noise, "
                "which this one cannot spend: take Budget.of"
            )
