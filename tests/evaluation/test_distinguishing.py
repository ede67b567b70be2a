"""The distinguishing test against mechanisms whose epsilon is known.

An honest mechanism's bound exceeds its epsilon with probability at most 1 - confidence. So of 200
honest audits at 99.9 % more than 5 exceed it with a probability below 1e-7. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.evaluation.distinguishing import bound_of_counts, lower_bound

Random = np.random.Generator


def discrete_laplace(
    random: Random, value: int, epsilon: float, size: int
) -> npt.NDArray[np.int64]:
    chance = -math.expm1(-epsilon)
    noise = random.geometric(chance, size) - random.geometric(chance, size)
    return np.asarray(value + noise)


def audit(law: Callable[[Random, int], list[list[float]]], *, seed: int) -> float:
    random = np.random.default_rng(seed)
    return lower_bound(law(random, 0), law(random, 1))


def test_an_honest_count_is_not_accused() -> None:
    bounds = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        first, second = (discrete_laplace(random, value, 1.0, 300) for value in (5, 6))
        bounds.append(lower_bound([[x] for x in first], [[x] for x in second]))
    assert sum(bound > 1.0 for bound in bounds) <= 5
    assert max(bounds) > 0


def test_an_honest_answer_of_many_numbers_is_not_accused() -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        noise = [
            random.geometric(0.2, (400, 30)) - random.geometric(0.2, (400, 30)) for _ in range(2)
        ]
        neighbour = np.zeros(30)
        neighbour[:2] = 1  # One record moved from one cell to another, so the loss adds up.
        assert lower_bound([*noise[0]], [*(noise[1] + neighbour)]) <= -2 * math.log(0.8)


def test_randomized_response_is_measured_closely() -> None:
    def law(random: Random, bit: int) -> list[list[float]]:
        keeps = random.random(40_000) < math.e / (math.e + 1)
        return [[float(bit if keep else 1 - bit)] for keep in keeps]

    assert 0.9 < audit(law, seed=1) <= 1.0


def test_noise_that_is_too_small_is_found() -> None:
    def law(random: Random, value: int) -> list[list[float]]:
        return [[float(x)] for x in discrete_laplace(random, value, 2.0, 4_000)]

    assert 1.0 < audit(law, seed=2) <= 2.0


def test_small_noise_in_one_of_many_numbers_is_found() -> None:
    def law(random: Random, value: int) -> list[npt.NDArray[np.float64]]:
        table = random.laplace(0, 10, (2_000, 60))
        table[:, 17] = value + random.laplace(0, 0.2, 2_000)
        return [*table]

    random = np.random.default_rng(3)
    assert lower_bound(law(random, 0), law(random, 1)) > 2.0


def test_exact_values_are_found() -> None:
    first, second = [[57.0, 3.0]] * 1_000, [[58.0, 3.0]] * 1_000
    assert lower_bound(first, second) == pytest.approx(math.log(500 / 7.6), abs=0.05)


def test_an_exact_value_that_appears_now_and_then_is_found() -> None:
    def law(random: Random, value: int) -> list[list[float]]:
        exact = random.random(2_000) < 0.1
        noise = np.where(exact, 0.0, random.laplace(0, 40, 2_000))
        return [[float(x)] for x in 1_000 + value + noise]

    assert audit(law, seed=4) > 1.5


def test_floating_point_laplace_is_found_by_its_lowest_bits() -> None:
    def law(random: Random, value: int) -> list[list[float]]:
        return [[float(x)] for x in value + random.laplace(0, 1.0, 4_000)]

    assert audit(law, seed=5) > 2.0


def test_scaled_integers_are_found_by_their_parity() -> None:
    def law(random: Random, value: int) -> list[list[float]]:
        return [[float(x)] for x in value + 2 * discrete_laplace(random, 0, 0.01, 2_000)]

    assert audit(law, seed=6) > 4.0


def test_the_number_of_numbers_is_looked_at() -> None:
    def law(random: Random, value: int) -> list[list[float]]:
        return [[0.0] * (3 + value) for _ in range(200)]

    assert audit(law, seed=7) > 2.0


def test_two_numbers_that_only_together_tell_are_found() -> None:
    """Noise that cancels in a difference: each number alone is private, the difference is exact."""

    def law(random: Random, value: int) -> list[list[float]]:
        noise = discrete_laplace(random, 0, 0.02, 2_000)
        return [[float(x), float(x + value)] for x in noise]

    assert audit(law, seed=8) > 3.0


def test_answers_without_numbers_say_nothing() -> None:
    assert lower_bound([[]] * 20, [[]] * 20) == 0.0


def test_delta_is_taken_off() -> None:
    first, second = [[0.0]] * 1_000, [[0.0]] * 990 + [[1.0]] * 10
    assert lower_bound(second, first, delta=0.05) == 0.0


def test_bounds_of_counts_are_clopper_and_pearsons() -> None:
    # k = n: the least probability is failure^(1/n); k = 0: the largest is 1 - failure^(1/n).
    failure = 0.0005
    expected = math.log(failure ** (1 / 100) / (1 - failure ** (1 / 100)))
    assert bound_of_counts(100, 100, 0, 100, confidence=0.999) == pytest.approx(expected)
    assert bound_of_counts(0, 100, 100, 100, confidence=0.999) == 0


def test_too_few_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 8 answers"):
        lower_bound([[1.0]] * 7, [[1.0]] * 7)
    with pytest.raises(ValueError, match="confidence"):
        lower_bound([[1.0]] * 9, [[1.0]] * 9, confidence=1.0)
