"""Weights of the exponential mechanism, against exponentials of 400 bits and a linear search."""

from __future__ import annotations

from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from sottovoce.privacy.exponential_weights import BLOCK, digits_of_steps, sum_weights

UNIT = 1 << 120
"""Weights are whole numbers of 2^-120."""


def exact_weights(steps: np.ndarray, *, rate: Fraction) -> list[Fraction]:
    with gmpy2.context(gmpy2.get_context(), precision=400):
        per_step = gmpy2.mpfr(rate.numerator) / rate.denominator
        ratios = [gmpy2.exp(-per_step * step).as_integer_ratio() for step in steps.tolist()]
    return [Fraction(int(numerator), int(denominator)) for numerator, denominator in ratios]


@pytest.mark.parametrize("largest", [1, 511, 512, 1 << 20, 1 << 36, 1 << 50])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 40.0, 200.0])
def test_each_weight_is_the_exact_one_to_a_unit(largest: int, spread: float) -> None:
    """Rounded down to 2^-120 of what lacks less than 2^-138, and one unit more."""
    generator = np.random.default_rng(largest % 1009)
    steps = np.append(generator.integers(0, largest + 1, 60), [0, largest])
    rate = Fraction(spread) / largest
    weights = sum_weights(steps, rate=rate)
    sums = [weights.up_to(candidate) for candidate in range(len(steps))]
    found = np.diff(sums, prepend=0).tolist()
    for weight, exact in zip(found, exact_weights(steps, rate=rate), strict=True):
        assert weight >= 1
        assert exact * UNIT - Fraction(1, 1 << 18) < weight <= exact * UNIT + 1
    assert weights.total == sums[-1]


def test_a_number_finds_the_first_candidate_whose_sum_is_above_it() -> None:
    generator = np.random.default_rng(1)
    steps = generator.integers(0, 5000, 3 * BLOCK + 7)
    weights = sum_weights(steps, rate=Fraction(1, 500))
    sums = [weights.up_to(candidate) for candidate in range(len(steps))]
    assert sums == sorted(sums)
    for candidate in [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 5, len(steps) - 1]:
        below = sums[candidate - 1] if candidate else 0
        assert weights.first_above(below) == candidate
        assert weights.first_above(sums[candidate] - 1) == candidate
    assert weights.total == sums[-1]


def test_digits_hold_the_largest_number() -> None:
    assert [digits_of_steps(np.array([0, number])) for number in (0, 1, 511, 512, 1 << 50)] == [
        1,
        1,
        1,
        2,
        6,
    ]
