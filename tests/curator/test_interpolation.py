"""Interpolation between groups of labels: exact sums, and no steps where dependence has none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.curator.pairs import PairBatch, batches_of, nested_groups
from sottovoce.curator.pairs.interpolation import (
    changes_within_groups,
    smoothly_scaled,
    weights_between,
)
from sottovoce.curator.pairs.shrinkage_by_level import with_sums

Numbers = npt.NDArray[np.float64]


def batch_of(rows: Numbers, columns: Numbers, *, first: int = 2) -> PairBatch:
    (batch,) = batches_of(
        {"a": nested_groups(rows, first=first), "b": nested_groups(columns, first=first)}
    )
    return batch


def scaled(
    table: Numbers, level: int, *, first: int = 2
) -> tuple[PairBatch, Numbers, Numbers, Numbers]:
    """Scale the product of a table's margins to its groups: smoothly, and by steps."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    batch = batch_of(rows, columns, first=first)
    finest = batch.finest
    coarse = batch.merge(table[None], start=finest, level=level - 1)
    centre = batch.merge(np.outer(rows, columns)[None, None], start=finest, level=level)
    margins = batch.margins({"a": rows, "b": columns}, level)
    smooth = smoothly_scaled(batch, centre, coarse, level, margins=margins)
    return batch, smooth[0, 0], with_sums(batch, centre, coarse[:, None], level)[0, 0], coarse[0]


@pytest.mark.parametrize("level", [1, 2])
def test_sums_stay_those_of_the_groups(level: int) -> None:
    table = np.random.default_rng(level).dirichlet(np.ones(40 * 30)).reshape(40, 30)
    batch, smooth, _, coarse = scaled(table, level)
    sums = batch.merge(smooth[None], start=level, level=level - 1)[0]
    assert sums == pytest.approx(coarse, rel=0.02)
    assert (smooth >= 0).all()


def test_a_bilinear_dependence_is_met_between_the_middles_of_groups() -> None:
    """Eight groups of four labels: from label 2 to 29 each lies between two middles."""
    places = (np.arange(32) + 0.5) / 32 - 0.5
    table = (1 + 2.5 * np.outer(places, places)) / 32**2
    _, smooth, steps, _ = scaled(table, 2)
    inner = slice(2, 30)
    assert np.abs(smooth - table)[inner, inner].sum() < 0.1 * np.abs(steps - table).sum()
    assert np.abs(smooth - table).sum() < 0.3 * np.abs(steps - table).sum()


def test_two_groups_show_no_order() -> None:
    table = np.random.default_rng(5).dirichlet(np.ones(12 * 12)).reshape(12, 12)
    _, smooth, steps, _ = scaled(table, 1, first=1)
    assert smooth == pytest.approx(steps)


def test_nothing_is_interpolated_where_labels_are_not_grouped() -> None:
    """Three labels have no groups, and the groups of twelve do not matter where one row is left."""
    table = np.random.default_rng(5).dirichlet(np.ones(3 * 3)).reshape(3, 3)
    coarse = table.sum(axis=1)
    assert weights_between(coarse, np.arange(3)) == pytest.approx(np.eye(3))
    assert weights_between(np.full(12, 1 / 12), np.zeros(12, np.int64)) == pytest.approx(
        np.ones((12, 1))
    )


def change(table: Numbers, level: int) -> float:
    """Compute how far a table changes linearly within its groups."""
    margins = {"a": table.sum(axis=1), "b": table.sum(axis=0)}
    batch = batch_of(margins["a"], margins["b"])
    coarse = batch.merge(table[None], start=batch.finest, level=level - 1)
    return float(changes_within_groups(batch, margins, coarse, level)[0])


def test_the_change_within_groups_is_that_of_a_dependence_that_is_linear_in_them() -> None:
    places = (np.arange(32) + 0.5) / 32 - 0.5
    table = (1 + 2.5 * np.outer(places, places)) / 32**2
    _, _, steps, _ = scaled(table, 2)
    assert change(table, 2) == pytest.approx(np.abs(table - steps).sum() / 2, rel=0.2)
    _, _, steps, _ = scaled(table, 1)  # from four groups to eight
    eighths = table.reshape(8, 4, 8, 4).sum(axis=(1, 3))
    assert change(table, 1) == pytest.approx(np.abs(eighths - steps).sum() / 2, rel=0.3)
    assert change(np.full((32, 32), 1 / 32**2), 2) == pytest.approx(0, abs=1e-9)


def test_a_label_is_weighed_between_the_groups_beside_it() -> None:
    generator = np.random.default_rng(7)
    shares = generator.dirichlet(np.ones(60))
    parents = nested_groups(shares, first=2)[1]
    weights = weights_between(shares, parents)
    middles = np.cumsum(shares) - shares / 2
    sums = np.bincount(parents, shares)
    centres = np.bincount(parents, shares * middles) / sums
    assert weights.sum(axis=1) == pytest.approx(np.ones(60))
    assert (weights >= 0).all()
    assert weights @ centres == pytest.approx(np.clip(middles, centres[0], centres[-1]))
