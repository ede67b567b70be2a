"""Noise on many scores has its exact law, and Gaussian noise keeps epsilon and delta."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from sottovoce.crypto import RandomStream
from sottovoce.messages import BudgetError, UsageError
from sottovoce.privacy import Accountant, losses_by_view
from sottovoce.privacy.conversion import epsilon_of, rho_of
from sottovoce.privacy.noisy_scores import (
    GaussianScores,
    gaussian_scores,
    laplace_scores,
)


@pytest.mark.parametrize(("rho", "delta"), [(0.005, 1e-6), (0.1, 1e-9), (2.0, 1e-5)])
def test_epsilon_of_rho_holds_for_the_gaussian(rho: float, delta: float) -> None:
    """The exact delta of Gaussian noise (Balle and Wang 2018) is at most delta, and close to it."""
    epsilon, mu = epsilon_of(rho, delta=delta), math.sqrt(2 * rho)
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta / 20 < exact <= delta
    assert epsilon_of(rho_of(epsilon, delta=delta), delta=delta) <= epsilon
    assert rho_of(epsilon, delta=delta) == pytest.approx(rho, rel=1e-6)


def test_rho_is_not_half_of_epsilon_squared() -> None:
    """Spec B1: rho = 0.1^2 / 2 is not epsilon 0.1: 0.53 by the common formula, 0.43 by the best."""
    assert epsilon_of(0.005, delta=1e-6) == pytest.approx(0.43, abs=0.001)
    assert 0.005 + 2 * math.sqrt(0.005 * math.log(1e6)) == pytest.approx(0.53, abs=0.002)


def test_noise_has_the_stated_scale() -> None:
    values = np.linspace(-1, 1, 400)
    laplace = laplace_scores(values, sensitivity=0.01, epsilon=10.0)
    gauss = gaussian_scores(values, sensitivity=0.01, rho=rho_of(1.0, delta=1e-6))
    assert laplace.scale == pytest.approx(400 * 0.01 / 10, rel=1e-4)
    assert gauss.scale == pytest.approx(
        math.sqrt(400) * 0.01 / math.sqrt(2 * rho_of(1.0, delta=1e-6)), rel=1e-4
    )
    assert laplace.sensitivity == pytest.approx(400 * 0.01, rel=1e-4)
    assert gauss.sensitivity == pytest.approx(math.sqrt(400) * 0.01, rel=1e-4)
    stream = RandomStream(bytes(31) + b"\4")
    for mechanism, deviation in ((laplace, math.sqrt(2) * laplace.scale), (gauss, gauss.scale)):
        errors = np.concatenate([mechanism.draw(stream) - values for _ in range(10)])
        # Of 4000 draws the mean deviates by 1/63, and the mean square by at most sqrt(5)/63.
        assert abs(errors.mean()) < 5.5 * deviation / math.sqrt(4000)
        assert np.mean(errors**2) == pytest.approx(deviation**2, rel=5.5 * math.sqrt(5 / 4000))


def test_rho_adds_up_and_is_converted_once() -> None:
    accountant = Accountant(party=1, parties=1, budget=1.0, delta=1e-6, neighbours="replace-one")
    mechanism = gaussian_scores([1.0, 2.0], sensitivity=0.1, rho=rho_of(1.0, delta=1e-6) / 4)
    for _ in range(4):
        accountant.release(mechanism, to=0, phase="graph", randomness=RandomStream(bytes(32)))
    losses = losses_by_view(accountant.releases, parties=1)
    assert losses.worst["public"].rho == pytest.approx(rho_of(1.0, delta=1e-6))
    assert losses.epsilons(delta=1e-6)[1]["public"] == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(BudgetError, match="at most epsilon 1 "):
        accountant.release(mechanism, to=0, phase="graph", randomness=RandomStream(bytes(32)))


def test_gaussian_noise_needs_a_delta() -> None:
    accountant = Accountant(party=1, parties=1, budget=1.0, neighbours="replace-one")
    mechanism = gaussian_scores([1.0, 2.0], sensitivity=0.1, rho=1e-9)
    with pytest.raises(BudgetError, match=r"expected pure noise, as delta is 0, .* --delta 1e-9"):
        accountant.release(mechanism, to=0, phase="graph", randomness=RandomStream(bytes(32)))
    assert not accountant.releases


def test_the_noise_keeps_rho() -> None:
    """Rho is the squared sensitivity over twice the variance, with the roundings to the grid."""
    mechanism = gaussian_scores(np.zeros(105), sensitivity=3 / 45_222, rho=rho_of(0.1, delta=1e-6))
    assert isinstance(mechanism, GaussianScores)
    rho = mechanism.sensitivity**2 / (2 * mechanism.scale**2)
    assert epsilon_of(rho * (1 - 1e-12), delta=1e-6) <= 0.1


@pytest.mark.parametrize(
    ("scores", "more", "match"),
    [
        ([], {"epsilon": 1.0}, "at least one score"),
        ([np.inf], {"epsilon": 1.0}, "all finite"),
        ([1.0], {"epsilon": 0.0}, "epsilon above 0"),
    ],
)
def test_impossible_arguments_are_refused(
    scores: list[float], more: dict[str, float], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        (gaussian_scores if "delta" in more else laplace_scores)(scores, sensitivity=1.0, **more)


def test_noise_beyond_the_sampler_is_refused() -> None:
    gaussian_scores([0.5], sensitivity=0.01, rho=2.0**-52)
    with pytest.raises(UsageError, match=r"at most 2\*\*26 times .* rho 1.1\d*e-16 is too small"):
        gaussian_scores([0.5], sensitivity=0.01, rho=2.0**-53)
