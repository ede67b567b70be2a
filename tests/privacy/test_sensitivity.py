"""Sensitivities are compared with every pair of small neighbouring tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.privacy.sensitivity import choice_sensitivity, dependence_sensitivity

Numbers = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def tables_of(rows: int, cells: int) -> Counts:
    """List all tables of so many rows: a table is a way to put bars between stars."""
    bars = np.array(list(combinations(range(rows + cells - 1), cells - 1)))
    ends = np.full((len(bars), 1), rows + cells - 1)
    return np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1


def distances(tables: Counts, shape: tuple[int, int]) -> Numbers:
    """Compute R of every table, by its definition."""
    p = tables.reshape(-1, *shape) / tables.sum(axis=1)[:, None, None]
    product = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True)
    return np.asarray(np.abs(p - product).sum(axis=(1, 2)) / 2)


def largest_change(rows: int, shape: tuple[int, int]) -> float:
    """Find the largest change of R between neighbours: tables that share all records but one."""
    cells = shape[0] * shape[1]
    shared = tables_of(rows - 1, cells)
    scores = np.array([distances(shared + record, shape) for record in np.eye(cells, dtype=int)])
    return float(np.ptp(scores, axis=0).max())


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        *(((2, 2), rows) for rows in (2, 3, 4, 5, 8, 13, 30)),
        *(((2, 3), rows) for rows in (2, 3, 4, 5, 8, 13)),
        *(((4, 2), rows) for rows in (2, 3, 4, 5, 8, 10)),
        ((2, 5), 7),
        ((2, 6), 5),
    ],
)
def test_with_a_binary_side_the_bound_is_the_largest_change(
    shape: tuple[int, int], rows: int
) -> None:
    bound = dependence_sensitivity(rows, binary=True)
    assert bound == pytest.approx(2 / rows - 2 / rows**2)
    assert largest_change(rows, shape) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("shape", "rows", "part"),
    [
        ((3, 3), 2, 0.66),
        ((3, 3), 4, 0.77),
        ((3, 3), 6, 0.79),
        ((3, 3), 10, 0.81),
        ((3, 4), 6, 0.79),
        ((4, 4), 5, 0.74),
    ],
)
def test_without_one_no_change_is_above_the_bound(
    shape: tuple[int, int], rows: int, part: float
) -> None:
    """The change is this part of the bound at least; a binary side's bound would be too small."""
    change = largest_change(rows, shape)
    bound = dependence_sensitivity(rows, binary=False)
    assert part * bound < change <= bound + 1e-12
    assert rows < 4 or change > dependence_sensitivity(rows, binary=True) + 1e-6


@pytest.mark.parametrize("root", [4, 10, 100, 1000])
def test_the_general_bound_is_reached_by_large_tables(root: int) -> None:
    """Of n = root^2 records one leaves an independent table and agrees with nobody any more."""
    others = root - 1
    before = np.array([0, 0, 0, 0, 1, others, 0, others, others**2])
    after = before + np.eye(9, dtype=int)[0] - np.eye(9, dtype=int)[4]
    zero, change = distances(np.array([before, after]), (3, 3))
    assert zero == pytest.approx(0)
    bound = dependence_sensitivity(root**2, binary=False)
    assert change == pytest.approx(bound * (1 - 2 / (3 * root + 3)))


@pytest.mark.parametrize("binary", [True, False])
def test_a_single_row_has_no_bound(binary: bool) -> None:
    with pytest.raises(ValueError, match="at least 2 rows, found 1"):
        dependence_sensitivity(1, binary=binary)


def test_two_scores_of_a_choice_differ_by_their_two_bounds() -> None:
    """The largest change of a difference, by trying every change of every score."""
    for bounds in ([1.0], [0.0, 2.0], [1.0, 1.0, 1.0], [0.5, 3.0, 2.0]):
        signs = np.array(np.meshgrid(*[[-1, 0, 1]] * len(bounds))).reshape(len(bounds), -1)
        changes = signs * np.array(bounds)[:, None]
        largest = np.ptp(changes, axis=0).max() / 2 if len(bounds) > 1 else bounds[0] / 2
        assert choice_sensitivity(bounds) == largest
