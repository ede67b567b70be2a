"""Projections, against their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sottovoce.curator.projections import base_cut, norm_cut, norm_mul, norm_sub, threshold

if TYPE_CHECKING:
    from conftest import Random

KNOWN = np.array([0.5, 0.4, -0.1, 0.3])


def test_known_answers() -> None:
    assert norm_sub(KNOWN) == pytest.approx([0.43333, 0.33333, 0, 0.23333], abs=5e-6)
    assert norm_mul(KNOWN) == pytest.approx([0.41667, 0.33333, 0, 0.25], abs=5e-6)
    assert norm_cut(KNOWN) == pytest.approx([0.5, 0.4, 0, 0.1], abs=1e-12)
    level = 0.2241402727604947
    assert base_cut(
        np.array([level - 1e-9, level + 1e-9, 0, -9]), deviation=0.1, alpha=0.05
    ) == pytest.approx([0, level, 0, 0], abs=1e-8)


def test_norm_sub_is_the_nearest_distribution(random: Random) -> None:
    values = random.generator.normal(0.1, 1, (3, 4))
    total = float(random.generator.choice([1.0, 7.5, 40_000]))
    projected = norm_sub(values * total, total)
    assert projected.shape == values.shape
    assert projected.sum() == pytest.approx(total)
    assert projected.min() >= 0
    # Karush-Kuhn-Tucker: there is one multiplier for all positive cells, and no cell at 0 should
    # be above it.
    shift = (values * total - projected)[projected > 0]
    assert np.ptp(shift) < 1e-9 * total
    assert np.all((values * total)[projected == 0] <= shift[0] + 1e-9 * total)


def test_norm_sub_of_large_numbers() -> None:
    assert norm_sub(np.array([1e17, 0.0])).tolist() == [1, 0]
    assert norm_sub(np.array([2.0**53 + 2, 0])).tolist() == [1, 0]
    assert norm_sub(np.full(4, 1e16)).tolist() == [0.25] * 4
    assert norm_sub(np.array([1.0, 0.0]), 0.0).tolist() == [0, 0]


def test_norm_mul(random: Random) -> None:
    values = random.generator.normal(0, 1, 9)
    projected = norm_mul(values, 5.0)
    assert projected.sum() == pytest.approx(5)
    assert np.ptp((projected / values)[values > 0]) < 1e-12
    assert norm_mul(-np.abs(values), 9.0).tolist() == [1.0] * 9


def test_norm_cut(random: Random) -> None:
    values = random.generator.normal(0.2, 0.3, 8)
    projected = norm_cut(values)
    assert projected.sum() == pytest.approx(min(1.0, np.maximum(values, 0).sum()))
    changed = [
        index
        for index in np.argsort(-values)
        if values[index] > 0 and abs(projected[index] - values[index]) > 1e-12
    ]
    # The smallest cells were cut, and only the largest of these keeps a part.
    assert all(
        values[index]
        <= min(
            [values[other] for other in range(8) if values[other] > 0 and other not in changed],
            default=9,
        )
        for index in changed
    )
    assert all(projected[index] == pytest.approx(0, abs=1e-12) for index in changed[1:])


def test_threshold_is_the_best_integer(random: Random) -> None:
    counts = random.generator.normal(3, 30, 25)
    total = float(random.generator.choice([50, 100, 400]))
    projected = threshold(counts, total)
    assert projected.sum() == pytest.approx(total)
    gaps = {
        level: abs(counts[counts > level].sum() - total)
        for level in range(1, 200)
        if (counts > level).any()
    }
    best = min(gaps, key=lambda level: (round(gaps[level], 9), level))
    expected = np.where(counts > best, counts, 0)
    assert projected == pytest.approx(expected * total / expected.sum())


def test_threshold_when_nothing_is_left() -> None:
    assert threshold(np.array([-3.0, 0.5, 1.0, -2.0]), 100).tolist() == [25.0] * 4
