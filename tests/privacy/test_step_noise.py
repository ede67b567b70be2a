"""Noise for sums of steps: its scale has the textbook's values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sottovoce.privacy.budget import Budget
from sottovoce.privacy.clipping import Sensitivities
from sottovoce.privacy.gaussian import GaussianNumbers
from sottovoce.privacy.step_noise import noise_scale, with_noise

SENSITIVITIES = Sensitivities(Fraction(6), Fraction(16))


@pytest.mark.parametrize(
    ("budget", "scale"),
    [
        (Budget("epsilon", 0.5), 12.0),
        (Budget("epsilon", 3.0), 2.0),
        (Budget("rho", 0.5), 4.0),
        (Budget("rho", 0.125), 8.0),
    ],
)
def test_scales_are_l1_by_epsilon_and_l2_by_the_root_of_twice_rho(
    budget: Budget, scale: float
) -> None:
    assert noise_scale(SENSITIVITIES, budget) == scale


@pytest.mark.parametrize("rho", [0.125, 0.5, 8.0])
def test_gaussian_noise_has_that_deviation_and_states_laplace_noise_of_the_same_variance(
    rho: float,
) -> None:
    """Laplace noise of scale b has the variance 2 b^2, and costs l1 / b."""
    budget = Budget("rho", rho)
    mechanism = with_noise(np.zeros(3, np.int64), SENSITIVITIES, budget)
    assert isinstance(mechanism, GaussianNumbers)
    assert math.sqrt(mechanism.variance) == pytest.approx(noise_scale(SENSITIVITIES, budget))
    b = math.sqrt(float(mechanism.variance) / 2)
    assert mechanism.loss.rho == rho
    assert mechanism.loss.of_laplace == pytest.approx(6 / b)
