"""Wilson's interval: its ends solve its equation, and it covers what binomial counts estimate."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sottovoce.privacy.noise_interval import laplace_half_width, score_interval


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize(("base", "slope"), [(1e-3, 0.0), (1e-3, 2e-3), (4e-4, -3e-4), (0.0, 1e-3)])
def test_the_ends_solve_the_equation(confidence: float, base: float, slope: float) -> None:
    """Both ends are as far from the estimate as z deviations of a table that has that share."""
    estimates = np.linspace(-0.1, 1.1, 60)
    low, high = score_interval(estimates, base=base, slope=slope, confidence=confidence)
    z = stats.norm.ppf((1 + confidence) / 2)
    assert (low <= high).all()
    assert ((low >= 0) & (high <= 1)).all()
    for ends, sign in ((low, -1), (high, 1)):
        inside = (ends > 0) & (ends < 1)
        assert inside.sum() > 40
        distance = sign * (ends - estimates)[inside]
        assert distance == pytest.approx(z * np.sqrt(base + slope * ends[inside]), rel=1e-9)


def test_the_interval_of_a_binomial_is_that_of_scipy() -> None:
    """f (1 - f) / n has a slope that falls with f, so scipy's interval is compared at small f."""
    for rows, count in ((50_000, 3), (50_000, 40), (1_000_000, 11)):
        expected = stats.binomtest(count, rows).proportion_ci(0.95, method="wilson")
        low, high = score_interval(
            np.array([count / rows]), base=0.0, slope=1 / rows, confidence=0.95
        )
        assert float(low[0]) == pytest.approx(expected.low, rel=2e-3)
        assert float(high[0]) == pytest.approx(expected.high, rel=2e-3)


@pytest.mark.parametrize("shape", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("rate", [Fraction(1, 5000), Fraction(1, 9000)])
def test_beyond_the_table_chebyshevs_bound_takes_the_variance_of_all_shares(
    rate: Fraction, shape: float
) -> None:
    """Noise is the difference of two variables NB(r, a), each of the variance r a / (1 - a)^2."""
    a = math.exp(-float(rate))
    variance = 2 * shape * a / (1 - a) ** 2
    for confidence in (0.5, 0.95):
        width = laplace_half_width(rate, shape=shape, confidence=confidence)
        assert variance / width**2 <= 1 - confidence
        assert variance / (width - 2) ** 2 > 1 - confidence
