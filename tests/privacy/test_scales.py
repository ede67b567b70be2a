"""The scale that a mechanism reports is that of its law, in the units of the value."""

from __future__ import annotations

import math
from functools import partial

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.gaussian import gaussian
from sottovoce.privacy.laplace import laplace
from sottovoce.privacy.noisy_max import report_noisy_max

UNITS = [(1.0, 1.3), (3.0, 0.7), (0.01, 2.0)]
"""Sensitivities and epsilons."""


@pytest.mark.parametrize(("sensitivity", "epsilon"), UNITS)
@pytest.mark.parametrize("gap", [0.0, 0.5, 4.0])
def test_a_candidate_that_is_behind_needs_so_much_exponential_noise(
    sensitivity: float, epsilon: float, gap: float
) -> None:
    """Exponential noise of scale s makes good for a gap g of two scores with e^(-g/s) / 2."""
    gap *= sensitivity
    mechanism = report_noisy_max([gap, 0.0], sensitivity=sensitivity, epsilon=epsilon)
    expected = math.exp(-gap / mechanism.scale) / 2
    assert math.exp(mechanism.log_likelihood(1)) == pytest.approx(expected, rel=1e-4)


def test_a_difference_of_the_scale_changes_a_chance_by_a_factor_of_e() -> None:
    """The ratio of two shares of 5,000 draws; it is off by so much with probability 1e-6."""
    prepare = partial(choose, sensitivity=3.0, epsilon=0.7)
    mechanism, stream = prepare([prepare([0.0, 0.0]).scale, 0.0]), RandomStream(b"c" * 32)
    first = sum(mechanism.draw(stream) == 0 for _ in range(5000))
    assert first / (5000 - first) == pytest.approx(math.e, rel=0.17)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.3), (3, 0.7), (40, 2.0)])
def test_laplace_noise_falls_by_a_factor_of_e_with_each_scale(
    sensitivity: int, epsilon: float
) -> None:
    mechanism = laplace(0, sensitivity=sensitivity, epsilon=epsilon)
    falls = mechanism.log_likelihood(3) - mechanism.log_likelihood(8)
    assert falls == pytest.approx(5 / mechanism.scale)


@pytest.mark.parametrize("sensitivity", [1, 3, 40])
def test_gaussian_noise_falls_with_the_square(sensitivity: int) -> None:
    mechanism = gaussian(0, sensitivity=sensitivity, rho=0.5)
    falls = mechanism.log_likelihood(0) - mechanism.log_likelihood(6)
    assert falls == pytest.approx(36 / (2 * mechanism.scale**2))
