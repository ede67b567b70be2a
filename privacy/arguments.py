"""Checks of what authors pass to a mechanism. Every refusal says what is expected.

Exact values are secret, so a text names their type and never a value. Sensitivities and budgets
are public, and a text shows them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral
from typing import Final

import numpy as np
import numpy.typing as npt

from ..messages import ArgumentError, Private, UsageError
from .budget import Budget
from .gaussian_loss import variance_for

__all__ = [
    "MAX_WHOLE",
    "SmallBudgetError",
    "concentrated_rho",
    "exact_fraction",
    "one_budget",
    "pure_epsilon",
    "real_numbers",
    "require_budget",
    "whole_numbers",
]

MAX_WHOLE: Final = 1 << 62
"""Bound on whole numbers in an array: noise below 2**60 can be added within 64 bits."""


class SmallBudgetError(UsageError, ValueError):
    """The budget is so small that noise, or the chance of a report, cannot be expressed."""


def exact_fraction(number: object, *, name: str) -> Fraction:
    """Take a public number above 0 as the exact fraction that it is.

    >>> exact_fraction(0.5, name="a sensitivity")
    Fraction(1, 2)
    >>> exact_fraction(-1, name="a sensitivity")
    Traceback (most recent call last):
    sottovoce.messages.errors.ArgumentError: expected a sensitivity above 0 and finite, found -1
    """
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, bool) or not isinstance(number, int | Fraction | float):
        raise ArgumentError(
            f"expected {name} as an int, a Fraction or a float, found {_type_of(number)}"
        )
    if not math.isfinite(number) or number <= 0:
        raise ArgumentError(f"expected {name} above 0 and finite, found ", Private(str(number)))
    return Fraction(number)


def whole_numbers(value: object, *, mechanism: str) -> int | npt.NDArray[np.int64]:
    """Take a whole number, or an array of them, without the mark that they are exact.

    >>> whole_numbers(2.5, mechanism="laplace")
    Traceback (most recent call last):
    sottovoce.messages.errors.ArgumentError: expected whole numbers in laplace, found a float: \
round them, or use real_sum
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    numbers = np.asarray(value)
    if not numbers.size:
        raise ArgumentError(f"expected at least one number in {mechanism}, found an empty array")
    if numbers.dtype.kind not in "iu":
        kind = _type_of(numbers.item()) if numbers.ndim == 0 else f"an array of {numbers.dtype}"
        way_out = "round them, or use real_sum" if numbers.dtype.kind == "f" else "count them first"
        raise ArgumentError(f"expected whole numbers in {mechanism}, found {kind}: {way_out}")
    if numbers.ndim == 0:
        return int(numbers)
    if max(int(numbers.max()), -int(numbers.min())) >= MAX_WHOLE:
        raise ArgumentError(
            f"expected whole numbers below 2**62 in {mechanism}, found a larger one in the array"
        )
    return numbers.astype(np.int64)


def real_numbers(values: object, *, mechanism: str) -> npt.NDArray[np.float64]:
    """Take numbers that are all finite, without the mark that they are exact.

    >>> real_numbers([1, float("nan")], mechanism="median")
    Traceback (most recent call last):
    sottovoce.messages.errors.ArgumentError: expected finite numbers in median, found NaN or \
infinity: leave those values out
    """
    numbers = np.asarray(values)
    if numbers.size and numbers.dtype.kind not in "iufb":
        try:
            numbers = np.array([float(value) for value in numbers.reshape(-1).tolist()]).reshape(
                numbers.shape
            )
        except (TypeError, ValueError):
            raise ArgumentError(
                f"expected numbers in {mechanism}, found {_type_of(values)} of ",
                Private(str(numbers.dtype)),
                ": turn texts into numbers first",
            ) from None
    reals = numbers.astype(np.float64)
    if not np.isfinite(reals).all():
        raise ArgumentError(
            f"expected finite numbers in {mechanism}, found NaN or infinity: leave those values out"
        )
    return reals


def pure_epsilon(
    epsilon: float | None, budget: Budget | None, *, mechanism: str, by_choice: bool = False
) -> float:
    """Take the epsilon of a pure mechanism, from `epsilon` or from a part of a budget.

    Args:
        epsilon: the epsilon, or `None`.
        budget: the budget, or `None`. A budget in rho pays for epsilon = sqrt(2 rho).
        mechanism: the name of the mechanism.
        by_choice: whether the mechanism has a bounded range, so that rho pays for sqrt(8 rho).
    """
    if (epsilon is None) == (budget is None):
        raise ArgumentError(
            f"expected epsilon= or budget= in {mechanism}, found "
            f"{'neither' if epsilon is None else 'both'}: say one of them"
        )
    if budget is not None:
        require_budget(budget, mechanism=mechanism)
        epsilon = budget.of_choice if by_choice else budget.of_pure
    return float(exact_fraction(epsilon, name="an epsilon"))


def concentrated_rho(
    rho: float | None,
    budget: Budget | None,
    *,
    mechanism: str,
    l2_squared: Fraction | None = None,
) -> float:
    """Take the rho of a mechanism with Gaussian noise, from `rho` or from a part of a budget.

    Args:
        rho: the rho, or `None`.
        budget: the budget, or `None`.
        mechanism: the name of the mechanism.
        l2_squared: the square of the L2 sensitivity of noise on whole numbers. With it a budget of
            Gaussian loss is accepted: rho is that of the least noise with this loss.

    >>> concentrated_rho(None, Budget("epsilon", 1.0), mechanism="gaussian")
    Traceback (most recent call last):
    sottovoce.messages.errors.ArgumentError: expected a budget in rho in gaussian, found one in \
epsilon: Gaussian noise is not pure, so take Budget.of(epsilon, delta=1e-9), or laplace
    """
    if (rho is None) == (budget is None):
        raise ArgumentError(
            f"expected rho= or budget= in {mechanism}, found "
            f"{'neither' if rho is None else 'both'}: say one of them"
        )
    if budget is not None:
        require_budget(budget, mechanism=mechanism)
        if not budget.concentrated:
            raise ArgumentError(
                f"expected a budget in rho in {mechanism}, found one in epsilon: Gaussian noise is "
                "not pure, so take Budget.of(epsilon, delta=1e-9), or laplace"
            )
        if budget.of_gaussian and l2_squared is not None:
            exact_fraction(budget.amount, name="a budget")
            variance = variance_for(budget.amount, l2_squared=l2_squared)
            return float(l2_squared / (2 * variance))
        budget.require_rho()
        rho = budget.amount
    return float(exact_fraction(rho, name="a rho"))


def require_budget(budget: object, *, mechanism: str) -> Budget:
    """Take a budget; refuse what is none."""
    if not isinstance(budget, Budget):
        raise ArgumentError(
            f"expected a Budget in {mechanism}, found {_type_of(budget)}: take epsilon= for a "
            "number"
        )
    return budget


def one_budget(
    epsilon: float | None, rho: float | None, budget: Budget | None, *, mechanism: str
) -> Budget:
    """Take the one of the three that is not `None` as a budget."""
    listed = [amount for amount in (epsilon, rho, budget) if amount is not None]
    if len(listed) != 1:
        raise ArgumentError(
            f"expected one of epsilon=, rho= and budget= in {mechanism}, found "
            f"{'none' if not listed else len(listed)} of them"
        )
    if epsilon is not None:
        return Budget("epsilon", pure_epsilon(epsilon, None, mechanism=mechanism))
    if rho is not None:
        return Budget("rho", concentrated_rho(rho, None, mechanism=mechanism))
    spending = require_budget(budget, mechanism=mechanism)
    spending.require_rho()
    exact_fraction(spending.amount, name="a budget")
    return spending


def _type_of(value: object) -> str:
    """Name a type with its article."""
    name = "array" if isinstance(value, np.ndarray) else type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
