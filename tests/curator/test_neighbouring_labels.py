"""Shares of labels in an order: against least squares, integrals, and made-up distributions."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.curator.pairs import NoisySingle, shrink_singles, singles
from sottovoce.curator.pairs.neighbouring_labels import (
    EMPTY,
    FEW,
    MIN_LABELS,
    SPREADS,
    _local_lines,
    _posterior,
    posterior_of_neighbours,
)

Numbers = npt.NDArray[np.float64]


@pytest.mark.parametrize("width", [1.0, 4.0])
def test_predictions_are_those_of_weighted_least_squares(width: float) -> None:
    generator = np.random.default_rng(1)
    values, counted = generator.normal(size=30), generator.random(30)
    predicted, gain = _local_lines(values, counted, width)
    for label in range(30):
        steps = np.arange(30) - label
        weights = np.exp(-((steps / width) ** 2) / 2) * (counted + EMPTY)
        weights[(steps == 0) | (np.abs(steps) > 4 * width)] = 0
        design = np.stack([np.ones(30), steps], axis=1)
        inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
        of_values = (inverse @ (design * weights[:, None]).T)[0]
        if (of_values**2).sum() > 1:  # the line has more noise than a value: the mean is taken
            of_values = weights / weights.sum()
        assert predicted[label] == pytest.approx(of_values @ values, rel=1e-6, abs=1e-9)
        assert gain[label] == pytest.approx((of_values**2).sum(), rel=1e-6)


def test_a_posterior_is_the_integral_over_its_prior() -> None:
    """With one value of c, the mean of a label's share by numerical integration."""
    generator = np.random.default_rng(2)
    true = np.linspace(1, 3, 20)
    values = true / true.sum() + generator.normal(0, 0.004, 20)
    values[7] += 0.05
    variance, c = 0.004**2, float(SPREADS[18])
    with patch("sottovoce.curator.pairs.neighbouring_labels.SPREADS", np.array([c])):
        found = _posterior(values, np.ones(20), 2.0, variance=variance)
    predicted, gain = _local_lines(values, np.ones(20), 2.0)
    most = np.abs(values - predicted).max()
    grid = np.linspace(-1, 1, 400_001)
    step = grid[1] - grid[0]
    for label in (0, 7, 13):
        prior = c * predicted[label] + gain[label] * (variance + c * predicted[label])
        near = np.exp(-((grid - predicted[label]) ** 2) / prior / 2) / (2 * np.pi * prior) ** 0.5
        noise = (
            np.exp(-((grid - values[label]) ** 2) / variance / 2) / (2 * np.pi * variance) ** 0.5
        )
        parts = [(1 - FEW) * near * noise, FEW / (2 * most) * noise]
        masses = [part.sum() * step for part in parts]
        mean = sum((part * grid).sum() * step for part in parts) / sum(masses)
        assert found.shares[label] == pytest.approx(mean, abs=1e-6)
        assert found.near[label] == pytest.approx(masses[0] / sum(masses), abs=1e-6)
    assert found.near[7] < 0.1 < 0.9 < found.near[13]


def distances(
    true: Numbers, *, deviation: float, rows: int, seeds: int = 12
) -> tuple[float, float]:
    """Average the distance of shrunk noisy shares, with neighbours and without."""
    generator = np.random.default_rng(3)
    both = []
    for _ in range(seeds):
        noise = generator.normal(0, deviation / rows, len(true))
        noisy = {"a": NoisySingle(true + noise, (rows / deviation) ** 2)}
        found = shrink_singles(noisy)["a"].shares
        with patch.object(singles, "posterior_of_neighbours", lambda *_, **__: None):
            without = shrink_singles(noisy)["a"].shares
        assert found.sum() == pytest.approx(1)
        both.append([np.abs(shares - true).sum() / 2 for shares in (found, without)])
    near, alone = np.mean(both, axis=0)
    return float(near), float(alone)


def ages(*, rows: int) -> Numbers:
    """Make up ages: a smooth curve, counted people, round ages more often."""
    years = np.arange(90)
    curve = np.exp(-(((years - 35) / 22) ** 2) / 2) * np.where(years % 10 == 0, 1.5, 1)
    counts = np.random.default_rng(4).multinomial(rows, curve / curve.sum())
    return np.asarray(counts / rows)


@pytest.mark.parametrize(("deviation", "ratio"), [(5, 1.0), (20, 0.85), (60, 0.7), (180, 0.6)])
def test_neighbouring_ages_reduce_the_noise_of_an_age(deviation: float, ratio: float) -> None:
    near, alone = distances(ages(rows=20_000), deviation=deviation, rows=20_000)
    assert near < ratio * alone


@pytest.mark.parametrize("deviation", [5, 20, 60, 180])
@pytest.mark.parametrize("seed", [5, 6])
def test_labels_in_no_order_are_shrunk_as_before(deviation: float, seed: int) -> None:
    """Neighbours' shares are anything from rare to common, so they tell nothing."""
    shares = np.random.default_rng(seed).permutation(1 / np.arange(1.0, 61) ** 1.2)
    near, alone = distances(shares / shares.sum(), deviation=deviation, rows=20_000)
    assert near < 1.02 * alone


@pytest.mark.parametrize("deviation", [20, 60, 180])
def test_equal_shares_stay_nearly_equal(deviation: float) -> None:
    """The uniform prior is likelier than all widths; noise alone is .4 of its deviation."""
    near, _ = distances(np.full(20, 1 / 20), deviation=deviation, rows=16_000)
    assert near < 0.25 * (20 * 0.4 * deviation / 16_000)


def test_a_common_label_keeps_its_share_and_leaves_its_neighbours_theirs() -> None:
    true = np.full(60, 0.6 / 59)
    true[30] = 0.4
    near, alone = distances(true, deviation=60, rows=20_000)
    assert near < 0.6 * alone
    noisy = NoisySingle(true, (20_000 / 60) ** 2)
    assert shrink_singles({"a": noisy})["a"].shares[30] == pytest.approx(0.4, abs=0.005)


def test_few_labels_have_no_neighbours_to_learn_from() -> None:
    values = np.full(MIN_LABELS - 1, 1 / (MIN_LABELS - 1))
    assert posterior_of_neighbours(values, precision=1e4) is None
    assert posterior_of_neighbours(np.full(MIN_LABELS, 1 / MIN_LABELS), precision=1e4) is not None


@pytest.mark.parametrize(
    "values", [np.zeros(20), np.full(20, -0.01), np.eye(20)[0], np.arange(-9.5, 10)]
)
def test_shares_of_nothing_but_noise_are_finite(values: Numbers) -> None:
    for precision in (1e-3, 1.0, 1e12):
        found = shrink_singles({"a": NoisySingle(values, precision)})["a"]
        assert np.isfinite(found.shares).all()
        assert found.spread > 0
        assert found.shares.sum() == pytest.approx(1)
