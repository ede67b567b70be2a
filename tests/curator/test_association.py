"""The chi-squared statistic of noisy tables: known answers, its bias and variance, and how often
its tests are wrong.
"""

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


def own(table: np.ndarray, base: float, slope: float = 0.0) -> Any:
    return association(table, table.sum(axis=1), table.sum(axis=0), base=base, slope=slope)


def test_known_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own(EVEN, 1e-15).x == pytest.approx(0.36)
    found = own(EVEN, 1e-3)
    assert found.x == pytest.approx(0.356)
    assert sqrt(found.variance) == pytest.approx(0.00565685, abs=1e-8)
    found = own(ODD, 2e-4)
    assert found.x == pytest.approx(0.381851467)
    assert sqrt(found.variance) == pytest.approx(0.002471663, abs=1e-9)
    monkeypatch.setattr(module, "MIN_SHARE", 1.0)
    assert own(ODD, 2e-4).x == pytest.approx(0.359376671)


def test_without_noise_it_is_chi_squared_over_n() -> None:
    rows, columns = ODD.sum(axis=1), ODD.sum(axis=0)
    product = np.outer(rows, columns)
    found = own(ODD, 1e-15)
    assert found.x == pytest.approx(float(((ODD - product) ** 2 / product).sum()), abs=1e-9)
    assert found.bits == pytest.approx(found.x / 2 / log(2))
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
    """Of 4000 tables the mean of X is 0, and its variance as computed, to within 5.5 standard
    deviations and 10 per cent.
    """
    generator = np.random.default_rng(3)
    rows, columns = (generator.dirichlet(np.full(size, 3.0)) for size in shape)
    truth = np.outer(rows, columns).reshape(-1)
    asked, users, tables = kind(truth.size, epsilon=epsilon), 5000, 4000
    one = Multinomial(float(asked.p), float(asked.q), users) if kind is DirectEncoding else None
    base = asked.variance(users=users)
    slope = asked.variance(users=users, frequency=1.0) - base + 1 / users
    found, expected = [], []
    for _ in range(tables):
        counts = generator.multinomial(users, truth)
        table = asked.estimate(asked.simulate(counts, generator), users=users).reshape(shape)
        told = association(table, rows, columns, base=base, slope=slope, multinomial=one)
        found.append(told.x)
        expected.append(told.variance)
    spread = np.std(found)
    assert abs(np.mean(found)) < 5.5 * spread / sqrt(tables)
    # Of 1 degree of freedom the variance of a sample variance is 14 / tables of its square.
    assert np.mean(expected) == pytest.approx(spread**2, rel=0.1 + 5.5 * sqrt(14 / tables))


@pytest.mark.parametrize(("users", "epsilon"), [(1000, 1.0), (10_000, 1.0), (10_000, 4.0)])
def test_an_edge_at_the_threshold_is_seldom_pruned(users: int, epsilon: float) -> None:
    """Spec 2.5: at 0.75 of the threshold, alpha = 0.05, it is wrong in less than 8 per cent (the
    spec's bound: 7.5).
    """
    generator = np.random.default_rng(5)
    margin = np.full(6, 1 / 6)
    truth = np.outer(margin, margin)
    x = 2 * 5 * 0.3**2 / 2 * log(2)
    truth = truth * (1 - sqrt(x / 5)) + np.diag(margin) * sqrt(x / 5)
    assert association(truth, margin, margin, base=1e-15, slope=0.0).x == pytest.approx(x, rel=1e-6)
    asked = OptimisedUnary(36, epsilon=epsilon)
    base = asked.variance(users=users)
    wrong = 0
    for _ in range(400):
        counts = generator.multinomial(users, truth.reshape(-1))
        table = asked.estimate(asked.simulate(counts, generator), users=users).reshape(6, 6)
        told = association(table, margin, margin, base=base, slope=2 / users)
        wrong += told.below(0.75 * x, alpha=0.05)
    assert wrong / 400 < 0.08 + 5 * sqrt(0.08 * 0.92 / 400)


TABLES = 20_000


@cache
def of_mere_noise() -> list[Association]:
    """Measure so many independent tables of two by two."""
    generator = np.random.default_rng(7)
    margin, users = np.array([0.5, 0.5]), 2000
    asked = OptimisedUnary(4, epsilon=1.0)
    base = asked.variance(users=users)
    found = []
    for _ in range(TABLES):
        counts = generator.multinomial(users, np.full(4, 0.25))
        table = asked.estimate(asked.simulate(counts, generator), users=users).reshape(2, 2)
        found.append(association(table, margin, margin, base=base, slope=2 / users))
    return found


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 45])
def test_mere_noise_is_seldom_proven(alpha: float) -> None:
    """Of 20,000 independent tables of two by two no more than alpha and 5 deviations are proven,
    nor much less (a normal law would prove 20 times as many at the smaller alpha)."""
    proven = sum(told.above(0.0, alpha=alpha) for told in of_mere_noise())
    deviation = sqrt(alpha * (1 - alpha) / TABLES)
    assert abs(proven / TABLES - alpha) < 5 * deviation + 0.2 * alpha


def test_quantiles_far_away_are_normal() -> None:
    far = own(EVEN, 1e-9)
    assert far.quantile(0.05, x=0.36) < 0.36 < far.quantile(0.95, x=0.36)
    near = own(EVEN, 1e-6)
    assert near.quantile(0.5, x=0.36) == pytest.approx(0.36, rel=1e-2)
    assert near.above(0.3, alpha=1e-4)
    assert not near.above(0.4, alpha=1e-4)
    assert not own(EVEN, 0.5).above(0.0, alpha=1e-4)
