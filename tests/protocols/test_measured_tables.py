"""Weighted tables of a round: what is divided out of their sum, and the noise that is left."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs.tables import PlannedTable, measured_tables

ROWS = 4000
DOMAIN = Domain({name: tuple(map(str, range(80))) for name in "abc"})
TABLES = [
    PlannedTable(("a", "b"), 1),
    PlannedTable(("b", "c"), 7),
    PlannedTable(("a", "c"), 30, (tuple(label // 2 for label in range(80)), ())),
]


@pytest.mark.parametrize("deviation", [40.0, 900.0])
def test_frequencies_have_the_noise_of_a_weighted_sum(deviation: float) -> None:
    """The variance of 3,200 cells of noise is off by 15 per cent with a chance below 1e-8."""
    generator = np.random.default_rng(1)
    exact = [generator.integers(0, 9, table.shape(DOMAIN)) for table in TABLES]
    noise = [generator.normal(0, deviation, counts.shape).round() for counts in exact]
    cells = np.concatenate(
        [
            (table.weight * counts + noisy).ravel()
            for table, counts, noisy in zip(TABLES, exact, noise, strict=True)
        ]
    ).astype(np.int64)
    measured = measured_tables(DOMAIN, TABLES, cells, variance=deviation**2, rows=ROWS)
    assert [each.table for each in measured] == TABLES
    for each, counts, noisy in zip(measured, exact, noise, strict=True):
        error = each.frequencies - counts / ROWS
        assert error == pytest.approx(noisy / ROWS / each.table.weight)
        assert error.var() == pytest.approx(each.variance, rel=0.15)
