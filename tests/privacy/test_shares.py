"""Shares of noise: bounds against exact tails, and the loss of a share alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import hyp2f1

from sottovoce.crypto import RandomStream
from sottovoce.messages import UsageError
from sottovoce.privacy import laplace_shares
from sottovoce.privacy.batch import Batch
from sottovoce.privacy.laplace_shares import excess, hypergeometric, noise_bound, shape_of


def two_sided(alpha: float, shape: float, size: int) -> np.ndarray:
    """Compute the law of A - B for A, B ~ NB(shape, alpha) at 0 .. size - 1, by summation."""
    j = np.arange(1, size)
    p = np.exp(
        np.concatenate([[0.0], np.cumsum(np.log((j - 1 + shape) / j))])
        + np.arange(size) * math.log(alpha)
    )
    p /= p.sum()
    return np.asarray(np.correlate(p, p, "full")[size - 1 :])


@pytest.mark.parametrize(
    ("rows", "b", "cells", "width"),
    [(45_222, 2280, 9864, 19), (45_222, 2080, 416, 18), (1000, 1, 64, 12)],
)
def test_slot_widths_of_the_specification(rows: int, b: int, cells: int, width: int) -> None:
    bound = noise_bound(sensitivity=b, epsilon=1, cells=cells, parties=3, colluding=1)
    assert (rows + bound).bit_length() + 1 == width


@pytest.mark.parametrize(
    ("parties", "colluding"), [(1, 0), (2, 1), (3, 1), (10, 1), (3, 2), (6, 5), (4, 3)]
)
@pytest.mark.parametrize("b", [1.0, 7.5, 50.0])
def test_the_bound_holds_with_the_probability_stated(
    parties: int, colluding: int, b: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P[|X| > t] is summed up from the exact law, at 2**-14 instead of 2**-40."""
    monkeypatch.setattr(laplace_shares, "SAFETY_BITS", 14)
    uncached = noise_bound.__wrapped__  # A cached bound would be another test's, at 2**-40.
    t = uncached(sensitivity=1, epsilon=1 / b, cells=1, parties=parties, colluding=colluding)
    s = parties / (parties - colluding)
    law = two_sided(math.exp(-1 / b), s, int(80 * b) + 64)
    beyond = 2 * law[t + 1 :].sum()
    assert beyond <= 2.0**-14
    assert beyond > 2.0**-14 / 2**10  # The bound is not much too large.


@pytest.mark.parametrize(("parties", "factor"), [(2, 17), (3, 7.3), (5, 3.4), (10, 1.85)])
def test_r_of_one_over_k_is_too_little(parties: int, factor: float) -> None:
    """Section 2.1: the excess loss against a party, where shares are made for K, not K - c."""
    assert excess(rate=0.025, shape=1 - 1 / parties) == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0])
def test_the_excess_is_the_largest_log_ratio(shape: float, rate: float) -> None:
    law = two_sided(math.exp(-rate), shape, int(60 / rate) + 64)
    ratios = np.log(law[:-1] / law[1:])[: int(20 / rate) + 1]
    assert excess(rate=rate, shape=shape) * rate == pytest.approx(ratios.max(), rel=1e-6)
    assert ratios.argmax() == 0


@pytest.mark.parametrize("shape", [0.001, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("argument", [1e-9, 0.3, 0.9, 0.99, 0.9949])
def test_sums_of_hypergeometric_series(shape: float, argument: float) -> None:
    """SciPy is the referee of the sums that `excess` takes instead of it."""
    for b, c in ((shape, 1), (shape + 1, 2)):
        assert hypergeometric(shape, b, c, argument) == pytest.approx(
            hyp2f1(shape, b, c, argument), rel=1e-12
        )


@pytest.mark.parametrize("rate", [1e-7, 0.5, 50.0, 400.0, 1000.0])
def test_the_excess_is_finite_and_at_least_one(rate: float) -> None:
    assert 1 - 1e-9 <= excess(rate=rate, shape=0.5) < 10 / rate + 60
    assert excess(rate=rate, shape=1.0) == pytest.approx(1)


def test_shares_have_a_larger_variance() -> None:
    """It is K/(K - c) times that of one noise: 3199.8333 at epsilon / sensitivity = 0.025."""
    batch = Batch(cells=1, sensitivity=2, epsilon=0.05, rows=10, parties=3, colluding=1)
    assert batch.variance(shares=False) == pytest.approx(3199.8333, abs=1e-3)
    assert batch.variance(shares=True) == pytest.approx(1.5 * 3199.8333, abs=1e-3)
    assert batch.rate == Fraction(0.05) / 2


def test_the_shape_follows_from_the_collusion_threshold() -> None:
    assert shape_of(parties=3, colluding=1) == Fraction(1, 2)
    assert shape_of(parties=1, colluding=0) == 1
    for parties, colluding in ((1, 1), (3, 3), (2, -1)):
        with pytest.raises(ValueError, match=r"expected 0 to . colluding parties"):
            shape_of(parties=parties, colluding=colluding)


@pytest.mark.parametrize("colluding", [-1, 3, 4])
def test_thresholds_that_leave_no_honest_party_are_refused(colluding: int) -> None:
    with pytest.raises(ValueError, match="expected 0 to 2 colluding parties of 3"):
        shape_of(parties=3, colluding=colluding)
    shapes = [shape_of(parties=3, colluding=threshold) for threshold in (0, 1, 2)]
    assert shapes == [Fraction(1, 3), Fraction(1, 2), Fraction(1)]


@pytest.mark.parametrize("change", [{"sensitivity": 0}, {"epsilon": 0.0}, {"epsilon": math.inf}])
def test_batches_without_privacy_are_refused(change: Any) -> None:
    figures: Any = {"cells": 1, "sensitivity": 1, "epsilon": 1.0, "rows": 9} | change
    with pytest.raises(ValueError, match="expected sensitivity >= 1 and finite epsilon > 0"):
        Batch(**figures, parties=3, colluding=1)


def test_the_largest_noise_scale() -> None:
    figures: Any = {"cells": 1, "sensitivity": 1, "rows": 9, "parties": 3, "colluding": 1}
    assert Batch(**figures, epsilon=2.0**-40).scale == 2.0**40
    with pytest.raises(UsageError, match=r"up to 2\*\*40"):
        Batch(**figures, epsilon=2.0**-41)


def gaussian_batch(**change: Any) -> Batch:
    figures: Any = {"cells": 40, "sensitivity": 6, "squares": 6, "rho": 0.01, "rows": 1000}
    return Batch(**(figures | {"parties": 4, "colluding": 1} | change))


def test_honest_gaussian_shares_cost_the_budget_of_the_batch() -> None:
    """Rho is L2^2 / 2 s^2; the sum of all shares has one share more than the honest ones."""
    batch = gaussian_batch()
    assert batch.scale**2 == pytest.approx(6 / 0.02, rel=1e-8)
    assert batch.variance(shares=True) == pytest.approx(4 / 3 * batch.scale**2)
    assert batch.loss.rho == 0.01
    assert batch.loss.epsilon == math.inf
    # Fewer shares cost more, and more shares never do.
    assert [batch.loss_with(count).rho for count in (1, 2, 3, 4)] == pytest.approx(
        [0.03, 0.015, 0.01, 0.01]
    )
    # Laplace noise has the variance 2 b^2 at an epsilon of sensitivity / b.
    assert batch.loss.of_laplace == pytest.approx(6 * math.sqrt(2) / batch.scale)


def test_a_gaussian_share_has_the_variance_of_its_law() -> None:
    batch, count = gaussian_batch(rows=0), 200_000
    share = batch.draw_share(count, randomness=RandomStream(b"h" * 32))
    # A mean square deviates by sqrt(2 / count); 6 of them have a probability below 1e-8.
    assert np.mean(share.astype(float) ** 2) == pytest.approx(
        batch.variance(shares=True) / 4, rel=6 * math.sqrt(2 / count)
    )
    # 40 cells are within the bound of the slots, which is 8 deviations and a little more.
    assert 7 < batch.bound(shares=True) / math.sqrt(batch.variance(shares=True)) < 9


def test_log_ratios_of_gaussian_shares() -> None:
    """Noise z is likelier than z - 1 by exp((1 - 2 z) / 2 s^2)."""
    batch = gaussian_batch()
    noise, shift = np.array([5, -3, 0]), np.array([1, 0, 0])
    for count in (1, 3):
        variance = count * batch.scale**2 / 3
        assert batch.log_ratio(noise, shift, shares=count) == pytest.approx(
            (1 - 2 * 5) / (2 * variance), rel=1e-9
        )


@pytest.mark.parametrize(
    "change", [{"rho": 0.0}, {"rho": math.inf}, {"squares": None}, {"squares": 0}]
)
def test_gaussian_batches_without_privacy_are_refused(change: Any) -> None:
    with pytest.raises(ValueError, match="expected squares >= 1 and finite rho > 0"):
        gaussian_batch(**change)
