"""Intervals of noisy marginals: against the law by enumeration, by simulation, and end to end."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.privacy.noise_interval import gaussian_half_width, laplace_half_width

DRAWS = 200_000


@pytest.mark.parametrize("shape", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 40)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_laplace_intervals_are_the_least_that_cover(
    shape: float, rate: Fraction, confidence: float
) -> None:
    """The referee draws the noise as gamma-mixed Poisson differences, another way to make it.

    The coverage of 200,000 draws is within 6 standard deviations of the law: the chance of a
    failure is below 4e-9 each, and below 1e-6 for all.
    """
    generator = np.random.default_rng(5)
    alpha = np.exp(-float(rate))
    halves = [
        generator.poisson(generator.gamma(shape, alpha / (1 - alpha), DRAWS)) for _ in range(2)
    ]
    noise = np.abs(halves[0] - halves[1])
    half_width = laplace_half_width(rate, shape=shape, confidence=confidence)
    margin = 6 * np.sqrt(confidence * (1 - confidence) / DRAWS)
    assert (noise <= half_width).mean() >= confidence - margin
    assert half_width == 0 or (noise <= half_width - 1).mean() < confidence + margin


def test_large_noise_has_a_wider_interval_that_covers() -> None:
    exact = laplace_half_width(Fraction(1, 100_000), shape=1, confidence=0.95)
    assert exact == pytest.approx(100_000 * np.log(20), rel=1e-4)
    assert laplace_half_width(Fraction(1, 100_000), shape=1.5, confidence=0.95) > exact


def test_gaussian_intervals() -> None:
    assert gaussian_half_width(100.0, confidence=0.95) == 20
    assert gaussian_half_width(1e-6, confidence=0.95) == 1


@pytest.mark.parametrize("options", [{"delta": 0}, {"noise": "gaussian"}])
def test_published_intervals_cover_the_exact_counts(options: dict[str, Any]) -> None:
    """Each of 8 runs has 4,096 cells with noise of their own.

    Of 32,768 intervals at confidence 0.9 the share that covers is at least 0.9 - 6 standard
    deviations = 0.890, with a chance of failure below 1e-9. The table is so large that it is not
    below 0.9 + 0.03, or the intervals would be too wide.
    """
    generator = np.random.default_rng(2)
    size = 64
    table = pd.DataFrame(
        {name: generator.integers(size, size=400_000).astype(str) for name in ("a", "b")}
    )
    labels = [str(number) for number in range(size)]
    exact = (
        table.groupby(["a", "b"]).size().reindex(pd.MultiIndex.from_product([labels, labels]))
    ).fillna(0)
    covered = []
    for seed in range(8):
        run = sottovoce.run(
            "noisy-marginals", table, parties=3, schema={"a": labels, "b": labels},
            aggregator="masks", marginals="a*b", confidence=0.9, epsilon=0.2, seed=seed,
            judge=False, **options,
        )  # fmt: skip
        cells = run.marginals
        assert cells is not None
        assert (cells["low"] >= 0).all()
        truth = exact.to_numpy()
        covered.append((cells["low"].to_numpy() <= truth) & (truth <= cells["high"].to_numpy()))
    assert 0.890 <= np.mean(covered) <= 0.93


def test_one_marginal_by_its_attributes() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 100, "b": ["p", "p", "q", "q"] * 50})
    run = sottovoce.run("noisy-marginals", table, aggregator="masks", epsilon=50.0, seed=1)
    pair = run.marginal("b", "a")
    assert list(pair.columns) == ["b", "a", "count", "low", "high"]
    assert pair.set_index(["b", "a"])["count"].to_dict() == pytest.approx(
        {("p", "x"): 50, ("q", "x"): 50, ("p", "y"): 50, ("q", "y"): 50}, abs=5
    )
    assert run.marginal("a")["a"].tolist() == ["x", "y"]
    with pytest.raises(
        sottovoce.UsageError, match=r"published marginals \(a, b, a\*b\), found 'c'"
    ):
        run.marginal("c")
