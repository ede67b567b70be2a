"""Clipping of real numbers: sensitivities against brute force, and rounding against its bound."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce.privacy import Neighbours
from sottovoce.privacy.clipping import Clipping, fitted_clipping, make_clipping
from sottovoce.privacy.real_bounds import Bounds

RELATIONS: list[Neighbours] = ["replace-one", "add-or-remove-one"]
CLIPPINGS: list[dict[str, Any]] = [
    {"columns": 1, "bound": 3.0, "resolution": 0.25},
    {"columns": 1, "bounds": (0, 10), "resolution": 0.1},
    {"columns": 1, "bounds": (-2, 5), "resolution": Fraction(1, 3)},
    {"columns": 2, "bound": 1.0, "resolution": 0.01},
    {"columns": 3, "bound": 2.0, "resolution": 0.5},
    {"columns": 2, "bounds": ([0, -1], [1, 4]), "resolution": 0.125},
    {"columns": 2, "bounds": ([-1, 1], [2, 1]), "resolution": 0.5},
]


def extreme_rows(columns: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """List rows of far numbers in all directions, and the row of zeros."""
    generator = np.random.default_rng(5)
    corners = np.array(list(itertools.product([-1, 0, 1], repeat=columns)), np.float64)
    directions = generator.normal(size=(40, columns))
    return np.concatenate([corners * 1e6, directions * 1e6, corners * 0.7, directions])


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("options", CLIPPINGS)
def test_no_record_changes_sums_by_more_than_the_sensitivity(
    options: dict[str, Any], by_group: bool, neighbours: Neighbours
) -> None:
    """All pairs of extreme records, in all groups; the bound is reached but for rounding."""
    clipping = make_clipping(**options)
    rows = clipping.steps(extreme_rows(clipping.columns), mechanism="sum")
    changes = [np.concatenate([row, 0 * row]) for row in rows]
    if neighbours == "replace-one":
        changes = [np.concatenate([first - second, 0 * first]) for first in rows for second in rows]
        if by_group:
            changes += [np.concatenate([first, -second]) for first in rows for second in rows]
    stated = clipping.sensitivities(neighbours, by_group=by_group)
    l1 = max(int(np.abs(change).sum()) for change in changes)
    l2_squared = max(int((change**2).sum()) for change in changes)
    assert l1 <= stated.l1
    assert l2_squared <= stated.l2_squared
    slack = 0 if clipping.norm is None else 4 * clipping.columns
    assert math.sqrt(l2_squared) >= math.sqrt(stated.l2_squared) - slack
    assert l1 >= stated.l1 - (0 if clipping.norm is None else 0.15 * float(stated.l1) + slack)


@pytest.mark.parametrize("options", CLIPPINGS)
def test_rounding_moves_a_number_by_half_a_step(options: dict[str, Any]) -> None:
    clipping = make_clipping(**options)
    lows, highs = clipping.reals(clipping.lows), clipping.reals(clipping.highs)
    if clipping.norm is not None:
        highs = np.full(clipping.columns, options["bound"] / math.sqrt(clipping.columns))
        lows = -highs
    values = np.random.default_rng(1).uniform(lows, highs, size=(500, clipping.columns))
    error = np.abs(clipping.reals(clipping.steps(values, mechanism="sum")) - values)
    assert error.max() <= float(clipping.resolution) / 2 * (1 + 1e-9)


def test_long_rows_are_scaled_down_and_keep_their_direction() -> None:
    clipping = make_clipping(columns=2, bound=5.0, resolution=0.001)
    (row,) = clipping.reals(clipping.steps([[300.0, 400.0]], mechanism="sum"))
    assert row == pytest.approx([3.0, 4.0], abs=1e-3)
    huge = clipping.steps([[1e308, 1e308]], mechanism="sum")
    assert np.abs(huge).max() <= 5000


def test_rows_that_floating_point_made_too_long_are_shortened() -> None:
    clipping = Clipping(resolution=Fraction(1), lows=(-9, -9), highs=(9, 9), norm=Fraction(5))
    assert clipping.squared_norm is not None
    steps = np.array([[9, 9], [3, 4]])
    clipping._shorten(steps)
    assert (steps[0] ** 2).sum() <= clipping.squared_norm
    assert steps[1].tolist() == [3, 4]


def test_sums_by_group() -> None:
    clipping = make_clipping(columns=1, bounds=(0, 10), resolution=1)
    sums = clipping.sums(
        [[1.0], [2.0], [30.0]], mechanism="sum", groups=[0, 2, 0], number_of_groups=3
    )
    assert sums.tolist() == [[11], [0], [2]]


@pytest.mark.parametrize(
    ("bound", "bounds", "noise"), [(3.0, None, 0.5), (None, (0, 1e6), 4.0), (1e-3, None, 20)]
)
def test_the_default_resolution_fits_the_noise(
    bound: float | None, bounds: Bounds | None, noise: float
) -> None:
    def scale(clipping: Clipping) -> float:
        return noise * float(clipping.sensitivities("add-or-remove-one").l1)

    clipping = fitted_clipping(scale, columns=1, bound=bound, bounds=bounds, steps=1000)
    assert 1024 <= scale(clipping) <= 2048 + noise
    assert clipping.resolution.numerator == 1 or clipping.resolution.denominator == 1


@pytest.mark.parametrize(("steps", "factor"), [(33, 1), (64, 1), (65, 2), (128, 2)])
def test_the_number_of_steps_is_rounded_up_to_a_power_of_two(steps: int, factor: int) -> None:
    """A noise scale of 1/8 is 64 steps of 1/512, which 33 to 64 are rounded up to."""
    clipping = fitted_clipping(
        lambda trial: float(1 / (8 * trial.resolution)), columns=1, bound=1, steps=steps
    )
    assert clipping.resolution == Fraction(1, 512 * factor)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "found neither"),
    ({"bound": 1, "bounds": (0, 1)}, "found both"),
    ({"bound": -1}, "expected a bound above 0 and finite, found -1"),
    ({"bound": math.nan}, "expected a bound above 0 and finite, found nan"),
    ({"bounds": (3, 1)}, "expected finite bounds with low <= high"),
    ({"bounds": (0, math.inf)}, "expected finite bounds with low <= high"),
    ({"bounds": (0, 0)}, "not both 0"),
    ({"bounds": (0, 1, 2)}, r"expected bounds=\(low, high\), found something else"),
    (
        {"bounds": ([0, 0, 0], 1)},
        "as numbers, or as 2 numbers each for columns=2, found something else",
    ),
    ({"bounds": ([0], [1])}, "as numbers, or as 2 numbers each for columns=2"),
    ({"bound": 1, "resolution": 0}, "expected a resolution above 0"),
    ({"bound": 1, "resolution": 9}, "expected a resolution below the bounds, found 9"),
    ({"bound": 1, "resolution": 1e-12}, r"at most 2\*\*30 steps, found 1e\+12: choose a larger"),
    ({"bounds": (0, 1), "resolution": 1e-20}, r"at most 2\*\*50 steps"),
]


@pytest.mark.parametrize(("options", "text"), WRONG)
def test_bounds_that_make_no_sense_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_clipping(**{"columns": 2, "resolution": 0.5, **options})


def test_values_that_make_no_sense_are_refused() -> None:
    clipping = make_clipping(columns=2, bound=1.0, resolution=0.5)
    with pytest.raises(ValueError, match="rows of 2 numbers in sum, found an array of 1 dim"):
        clipping.steps([1.0, 2.0], mechanism="sum")
    with pytest.raises(ValueError, match="with rows of 3"):
        clipping.steps([[1.0, 2.0, 3.0]], mechanism="sum")
    with pytest.raises(ValueError, match="found NaN or infinity"):
        clipping.steps([[1.0, math.nan]], mechanism="sum")
    with pytest.raises(ValueError, match="expected groups from 0 to 1 in sum, found another"):
        clipping.sums([[1.0, 2.0]], mechanism="sum", groups=[2], number_of_groups=2)
    with pytest.raises(ValueError, match="number of a group for each row"):
        clipping.sums([[1.0, 2.0]], mechanism="sum", groups=[0, 1], number_of_groups=2)
    with pytest.raises(ValueError, match="protects whole records"):
        clipping.sensitivities("label-alone")
