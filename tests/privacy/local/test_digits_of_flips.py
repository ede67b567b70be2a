"""How finely LoPub's flips are drawn: with as few digits as use nearly all of epsilon."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from sottovoce.privacy.arguments import SmallBudgetError
from sottovoce.privacy.local.bloom import BloomFilters


def filters(epsilon: float) -> BloomFilters:
    """Make filters of one attribute with one hash: epsilon is twice the loss of a bit."""
    return BloomFilters((2,), epsilon=epsilon, key=b"key", hashes=1, bits_per_value=2)


def losses(epsilon: float) -> list[float]:
    """List the loss of a bit with 1 to 32 digits, of probabilities that are rounded up."""
    least = 1 / (1 + exp(epsilon / 2))
    rounded = [-(-least * 2**digits // 1) for digits in range(1, 33)]
    pairs = [(2**digits - number, number) for digits, number in enumerate(rounded, start=1)]
    return [log(rest / number) if rest > number else 0.0 for rest, number in pairs]


@pytest.mark.parametrize("epsilon", np.geomspace(1e-6, 12, 40).tolist())
def test_the_fewest_digits_that_use_nearly_all_of_epsilon_are_taken(epsilon: float) -> None:
    """At most a quarter of a per cent of what 32 digits can use is left unused."""
    found = filters(epsilon)
    known = losses(epsilon)
    expected = next(k for k, loss in enumerate(known, 1) if loss >= (1 - 0.0025) * known[-1])
    assert found.digits == expected
    assert log((1 - found.flips) / found.flips) == pytest.approx(known[expected - 1], rel=1e-6)
    assert log((1 - found.flips) / found.flips) <= epsilon / 2


def test_the_smallest_epsilon_takes_all_digits() -> None:
    """A flip with 32 digits is least different from a half at 1 / 2 - 2^-32."""
    epsilon = 2 * log((2**31 + 1) / (2**31 - 1))
    found = filters(epsilon * 1.001)
    assert (found.digits, found.flips) == (32, Fraction(2**31 - 1, 2**32))
    with pytest.raises(SmallBudgetError, match="that 32 digits can express"):
        filters(epsilon * 0.99)
