"""Gaussian noise on whole numbers: its law, its loss against enumeration, and its errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.gaussian import gaussian


@pytest.mark.parametrize(("sensitivity", "rho"), [(1, 0.5), (2**0.5, 0.02), (Fraction(3, 2), 2.0)])
def test_cells_have_the_exact_law(sensitivity: float | Fraction, rho: float) -> None:
    """An honest sampler fails with probability 1e-7 for each case (chi-squared)."""
    cells = 40_000
    mechanism = gaussian(np.full((4, cells // 4), -3), sensitivity=sensitivity, rho=rho)
    answer = mechanism.draw(RandomStream(b"g" * 32))
    assert answer.shape == (4, cells // 4)
    assert answer.dtype == np.int64
    variance = float(sensitivity) ** 2 / (2 * rho)
    edge = math.ceil(4 * math.sqrt(variance))
    places = np.arange(-20 * edge, 20 * edge + 1)
    chances = np.exp(-(places**2) / (2 * variance))
    chances /= chances.sum()
    inside = np.abs(places) <= edge
    noise = answer.reshape(-1) + 3
    observed = np.bincount(noise[np.abs(noise) <= edge] + edge, minlength=2 * edge + 1)
    expected = chances[inside] * cells
    wide = expected > 5
    observed = np.append(observed[wide], cells - observed[wide].sum())
    expected = np.append(expected[wide], cells - expected[wide].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-7


@pytest.mark.parametrize("shift", [[1, 0], [1, 1], [-2, 1]])
@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
def test_the_renyi_divergence_is_at_most_rho_times_its_order(
    shift: list[int], order: float
) -> None:
    """The divergence of the exact laws, by enumeration, is rho times the order, and not more."""
    size = math.sqrt(sum(part**2 for part in shift))
    first = gaussian([0, 0], sensitivity=size, rho=0.3)
    second = gaussian(shift, sensitivity=size, rho=0.3)
    grid = [np.array([x, y]) for x in range(-40, 41) for y in range(-40, 41)]
    logs = np.array([[law.log_likelihood(point) for law in (first, second)] for point in grid])
    logs -= np.log(np.exp(logs).sum(axis=0))
    moment = np.exp(order * logs[:, 0] - (order - 1) * logs[:, 1]).sum()
    divergence = math.log(moment) / (order - 1)
    assert divergence <= order * first.loss.rho * (1 + 1e-9)
    assert divergence == pytest.approx(order * 0.3, rel=1e-3)


def test_a_single_number_stays_one() -> None:
    mechanism = gaussian(7, sensitivity=1, budget=Budget.of(1.0, delta=1e-9))
    assert isinstance(mechanism.draw(RandomStream(b"g" * 32)), int)
    assert mechanism.loss.epsilon == math.inf
    # Laplace noise of this epsilon has the same variance.
    assert 2 / mechanism.loss.of_laplace**2 == pytest.approx(float(mechanism.variance))
    assert "31337" not in repr(gaussian(31337, sensitivity=1, rho=0.5))


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (2.5, {}, "expected whole numbers in gaussian, found a float: round them, or use real_sum"),
    (1, {"sensitivity": -1}, "expected a sensitivity above 0 and finite, found -1"),
    (1, {"rho": math.inf}, "expected a rho above 0 and finite, found inf"),
    (1, {"rho": None}, "expected rho= or budget= in gaussian, found neither"),
    (1, {"rho": None, "budget": Budget("epsilon", 1.0)}, "found one in epsilon: Gaussian noise"),
    (1, {"rho": 1e-30}, "expected a noise scale of at most"),
]


@pytest.mark.parametrize(("value", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    value: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        gaussian(value, **{"sensitivity": 1, "rho": 0.5, **options})
