"""The chi-squared statistic of noisy tables: known answers, bias, variance, and test errors."""

from __future__ import annotations

from functools import cache
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from sottovoce.curator import association as module
from sottovoce.curator.association import Association, Multinomial, association
from sottovoce.privacy.local import DirectEncoding, OptimisedUnary

EVEN = np.array([[0.4, 0.1], [0.1, 0.4]])
ODD = np.array([[0.3, 0.1, 0.05], [0.05, 0.2, 0.3]])


def measure(table: np.ndarray, base: float, slope: float = 0.0) -> Any:
    return association(table, table.sum(axis=1), table.sum(axis=0), base=base, slope=slope)


def test_known_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measure(EVEN, 1e-15).x == pytest.approx(0.36)
    result = measure(EVEN, 1e-3)
    assert result.x == pytest.approx(0.356)
    assert sqrt(result.variance) == pytest.approx(0.00565685, abs=1e-8)
    result = measure(ODD, 2e-4)
    assert result.x == pytest.approx(0.381851467)
    assert sqrt(result.variance) == pytest.approx(0.002471663, abs=1e-9)
    monkeypatch.setattr(module, "MIN_SHARE", 1.0)
    assert measure(ODD, 2e-4).x == pytest.approx(0.359376671)


def test_without_noise_it_is_chi_squared_over_n() -> None:
    rows, columns = ODD.sum(axis=1), ODD.sum(axis=0)
    product = np.outer(rows, columns)
    result = measure(ODD, 1e-15)
    assert result.x == pytest.approx(float(((ODD - product) ** 2 / product).sum()), abs=1e-9)
    assert result.bits == pytest.approx(result.x / 2 / log(2))
    assert association(product, rows, columns, base=1e-15, slope=0.0).x == pytest.approx(
        0, abs=1e-9
    )


@pytest.mark.parametrize(
    ("kind", "shape", "epsilon"),
    [
        (OptimisedUnary, (2, 2), 1.0),
        (OptimisedUnary, (5, 7), 2.0),
        (DirectEncoding, (2, 2), 1.0),
        (DirectEncoding, (6, 2), 3.0),
    ],
)
def test_bias_and_variance_where_there_is_no_association(
    kind: Any, shape: tuple[int, int], epsilon: float
) -> None:
    """The mean of X over 4000 tables is 0 within 5.5 standard deviations.

    Its variance is the computed one within 10 per cent.
    """
    generator = np.random.default_rng(3)
    rows, columns = (generator.dirichlet(np.full(size, 3.0)) for size in shape)
    truth = np.outer(rows, columns).reshape(-1)
    randomizer, users, tables = kind(truth.size, epsilon=epsilon), 5000, 4000
    multinomial = (
        Multinomial(float(randomizer.p), float(randomizer.q), users)
        if kind is DirectEncoding
        else None
    )
    base = randomizer.variance(users=users)
    slope = randomizer.variance(users=users, frequency=1.0) - base + 1 / users
    measured, expected = [], []
    for _ in range(tables):
        counts = generator.multinomial(users, truth)
        table = randomizer.estimate(randomizer.simulate(counts, generator), users=users).reshape(
            shape
        )
        result = association(table, rows, columns, base=base, slope=slope, multinomial=multinomial)
        measured.append(result.x)
        expected.append(result.variance)
    spread = np.std(measured)
    assert abs(np.mean(measured)) < 5.5 * spread / sqrt(tables)
    # With 1 degree of freedom the variance of a sample variance is 14 / tables of its square.
    assert np.mean(expected) == pytest.approx(spread**2, rel=0.1 + 5.5 * sqrt(14 / tables))


@pytest.mark.parametrize(("users", "epsilon"), [(1000, 1.0), (10_000, 1.0), (10_000, 4.0)])
def test_an_edge_at_the_threshold_is_seldom_pruned(users: int, epsilon: float) -> None:
    """At 0.75 of the threshold and alpha = 0.05 less than 8 per cent are pruned (spec 2.5: 7.5)."""
    generator = np.random.default_rng(5)
    margin = np.full(6, 1 / 6)
    truth = np.outer(margin, margin)
    x = 2 * 5 * 0.3**2 / 2 * log(2)
    truth = truth * (1 - sqrt(x / 5)) + np.diag(margin) * sqrt(x / 5)
    assert association(truth, margin, margin, base=1e-15, slope=0.0).x == pytest.approx(x, rel=1e-6)
    randomizer = OptimisedUnary(36, epsilon=epsilon)
    base = randomizer.variance(users=users)
    wrong = 0
    for _ in range(400):
        counts = generator.multinomial(users, truth.reshape(-1))
        table = randomizer.estimate(randomizer.simulate(counts, generator), users=users).reshape(
            6, 6
        )
        result = association(table, margin, margin, base=base, slope=2 / users)
        wrong += result.below(0.75 * x, alpha=0.05)
    assert wrong / 400 < 0.08 + 5 * sqrt(0.08 * 0.92 / 400)


TABLES = 20_000


@cache
def associations_of_noise() -> list[Association]:
    """Measure independent tables of two by two."""
    generator = np.random.default_rng(7)
    margin, users = np.array([0.5, 0.5]), 2000
    randomizer = OptimisedUnary(4, epsilon=1.0)
    base = randomizer.variance(users=users)
    results = []
    for _ in range(TABLES):
        counts = generator.multinomial(users, np.full(4, 0.25))
        table = randomizer.estimate(randomizer.simulate(counts, generator), users=users).reshape(
            2, 2
        )
        results.append(association(table, margin, margin, base=base, slope=2 / users))
    return results


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 45])
def test_noise_is_seldom_confirmed(alpha: float) -> None:
    """The share of confirmed tables is alpha within 5 standard deviations.

    A normal distribution would confirm 20 times as many at the smaller alpha.
    """
    confirmed = sum(result.above(0.0, alpha=alpha) for result in associations_of_noise())
    deviation = sqrt(alpha * (1 - alpha) / TABLES)
    assert abs(confirmed / TABLES - alpha) < 5 * deviation + 0.2 * alpha


def test_quantiles_far_away_are_normal() -> None:
    far = measure(EVEN, 1e-9)
    assert far.quantile(0.05, x=0.36) < 0.36 < far.quantile(0.95, x=0.36)
    near = measure(EVEN, 1e-6)
    assert near.quantile(0.5, x=0.36) == pytest.approx(0.36, rel=1e-2)
    assert near.above(0.3, alpha=1e-4)
    assert not near.above(0.4, alpha=1e-4)
    assert not measure(EVEN, 0.5).above(0.0, alpha=1e-4)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.5, 0.95])
def test_the_quantiles_of_both_distributions_agree(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a noncentrality of 100,000 the normal distribution is right to 0.01 deviations.

    The bias is a large part of the deviation here, so its sign shows.
    """
    result = Association(raw=10.0, bias=0.5, variance=0.05)  # 10 degrees of freedom
    x = 100_000 * 0.05 / (2 * 0.5)
    deviation = sqrt(0.05 + 4 * x * 0.05)
    exact = result.quantile(alpha, x=x)
    monkeypatch.setattr("sottovoce.curator.association.MAX_NONCENTRALITY", 1.0)
    normal = result.quantile(alpha, x=x)
    assert normal != exact
    assert normal == pytest.approx(exact, abs=0.01 * deviation)
