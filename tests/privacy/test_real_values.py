"""Sums and means of real numbers: what they answer, what they cost, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Neighbours
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.real_values import RealMean, RealSum, real_mean, real_sum

RELATIONS: list[Neighbours] = ["replace-one", "add-or-remove-one"]
SPENDING: list[dict[str, Any]] = [
    {"epsilon": 0.5},
    {"rho": 0.05},
    {"budget": Budget("epsilon", 2.0)},
    {"budget": Budget("rho", 0.5)},
]
SHAPES: list[dict[str, Any]] = [
    {"bounds": (0, 100)},
    {"bound": 40.0},
    {"bounds": (20, 60), "resolution": 0.5},
]


def draws(mechanism: RealSum | RealMean, *, times: int = 400) -> np.ndarray[Any, Any]:
    stream = RandomStream(b"r" * 32)
    return np.array([mechanism.draw(stream) for _ in range(times)])


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("spending", SPENDING)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sum_is_right_but_for_its_noise(
    shape: dict[str, Any], spending: dict[str, Any], neighbours: Neighbours
) -> None:
    """The mean and the spread of 400 draws; each fails with a probability below 1e-7."""
    values = np.random.default_rng(2).uniform(-20, 120, 50)
    mechanism = real_sum(values, neighbours=neighbours, **shape, **spending)
    low, high = shape.get("bounds", (-40, 40))
    exact = np.clip(values, low, high).sum()
    answers = draws(mechanism)
    gaussian = math.isinf(mechanism.loss.epsilon)
    deviation = mechanism.scale * (1 if gaussian else math.sqrt(2))
    rounding = 50 * mechanism.resolution / 2
    assert abs(answers.mean() - exact) < 5.5 * deviation / 20 + rounding
    assert 0.6 < answers.std() / deviation < 1.5


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("spending", SPENDING)
def test_one_record_changes_a_sum_by_the_sensitivity(
    spending: dict[str, Any], neighbours: Neighbours
) -> None:
    """Extreme records of vectors, in groups, change the exact value by 0.7 to 1 of what is said."""
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(12, 3)) * 100
    groups = generator.integers(0, 4, 12)
    options: dict[str, Any] = {"bound": 2.0, "neighbours": neighbours, **spending}
    first = real_sum(rows, groups=groups, number_of_groups=4, **options)
    largest = 0.0
    for _ in range(200):
        if neighbours == "replace-one":
            others = rows.copy()
            others[0] = -rows[0] if generator.random() < 0.5 else generator.normal(size=3) * 100
            other_groups = groups.copy()
            other_groups[0] = generator.choice([groups[0], generator.integers(0, 4)])
        else:
            others, other_groups = rows[1:], groups[1:]
        second = real_sum(others, groups=other_groups, number_of_groups=4, **options)
        largest = max(largest, first.exact_value().change(second.exact_value()))
    assert 0.7 * first.sensitivity < largest <= first.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("spending", SPENDING)
def test_the_loss_is_what_was_asked_for(spending: dict[str, Any]) -> None:
    mechanism = real_sum([[1.0, 2.0]], bound=5, neighbours="replace-one", **spending)
    if "rho" in str(spending):
        rho = spending.get("rho", 0.5)
        assert mechanism.loss.rho == rho
        # rho = D^2 / (2 s^2), in the units of the values; rounding makes D larger than 10.
        assert 1 <= 2 * rho * (mechanism.scale / 10) ** 2 < 1.001
        assert mechanism.loss.of_laplace < math.inf
    else:
        epsilon = spending.get("epsilon", 2.0)
        assert mechanism.loss.epsilon == epsilon
        assert 1 <= epsilon * mechanism.scale / (10 * math.sqrt(2)) < 1.001


@pytest.mark.parametrize("spending", SPENDING)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_means(neighbours: Neighbours, spending: dict[str, Any]) -> None:
    """Noise of the sum is divided by 4,000, so six of its deviations suffice (1e-8)."""
    values = np.random.default_rng(2).uniform(30, 90, (4_000, 2))
    mechanism = real_mean(values, bounds=([0, 0], [100, 50]), neighbours=neighbours, **spending)
    exact = np.clip(values, 0, [100, 50]).mean(axis=0)
    answer = draws(mechanism, times=1)[0]
    per_sum = mechanism.scale * (1 if isinstance(mechanism, RealSum) else 1 / 4_000)
    assert np.abs(answer - exact).max() < 6 * 2 * math.sqrt(2) * per_sum
    if isinstance(mechanism, RealSum):
        assert neighbours == "replace-one"
        width = math.hypot(100, 50) if math.isinf(mechanism.loss.epsilon) else 150
        assert mechanism.sensitivity == pytest.approx(width / 4_000, rel=1e-3)


@pytest.mark.parametrize("spending", SPENDING)
def test_a_record_changes_sums_and_their_count_by_the_sensitivity(
    spending: dict[str, Any],
) -> None:
    for values in ([0.0, 100.0, 3.0], [100.0], [0.0]):
        options: dict[str, Any] = {
            "bounds": (0, 100),
            "neighbours": "add-or-remove-one",
            **spending,
        }
        first, second = real_mean(values, **options), real_mean(values[:-1], **options)
        change = first.exact_value().change(second.exact_value())
        assert 0.5 * first.sensitivity < change <= first.sensitivity * (1 + 1e-9)


def test_a_mean_of_nothing_is_within_its_bounds() -> None:
    mechanism = real_mean([], bounds=(10, 20), neighbours="add-or-remove-one", epsilon=0.1)
    answers = draws(mechanism, times=50)
    assert answers.min() >= 10
    assert answers.max() <= 20


def test_numbers_may_be_texts_as_records_have_them() -> None:
    texts = np.array(["3", "4.5"], object)
    mechanism = real_sum(texts, bounds=(0, 8), neighbours="replace-one", epsilon=1e3)
    assert mechanism.draw(RandomStream(b"r" * 32)) == pytest.approx(7.5, abs=1)


def test_the_law_of_a_sum_is_declared() -> None:
    first, second = (
        real_sum([value], bounds=(0, 8), neighbours="add-or-remove-one", epsilon=1.0)
        for value in (8.0, 0.0)
    )
    assert isinstance(first, RealSum)
    answer = 9.5
    assert first.log_likelihood(answer) - second.log_likelihood(answer) == pytest.approx(1.0)


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([math.nan], {}, "expected finite numbers in real_sum, found NaN or infinity"),
    (["a"], {}, "expected numbers in real_sum, found a list of"),
    ([1.0 + 2.0j], {}, "expected numbers in real_sum, found a list of complex128"),
    ([None], {}, "expected numbers in real_sum, found a list of object"),
    ([[[1.0]]], {}, "a number, or a row of numbers, for each record in real_sum"),
    (3.0, {}, "found an array of 0 dimensions"),
    ([1.0], {"bounds": None}, r"expected bound=B .* or bounds=\(low, high\), found neither"),
    ([1.0], {"bounds": (2, 2)}, "low = high in all columns"),
    (
        [1.0],
        {"epsilon": None},
        "expected one of epsilon=, rho= and budget= in real_sum, found none",
    ),
    ([1.0], {"rho": 1.0}, "found 2 of them"),
    ([1.0], {"epsilon": None, "budget": 3}, "expected a Budget in real_sum, found an int"),
    ([1.0], {"neighbours": "label-alone"}, "protects whole records"),
    ([1.0], {"resolution": -1}, "expected a resolution above 0"),
    ([1e9] * 3, {"bounds": (0, 1e9), "resolution": 1e-6}, "expected a noise scale of at most"),
]


@pytest.mark.parametrize(("values", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    values: Any, options: dict[str, Any], text: str
) -> None:
    usual = {"bounds": (0, 9), "neighbours": "replace-one", "epsilon": 1.0}
    with pytest.raises(ValueError, match=text):
        real_sum(values, **{**usual, **options})
