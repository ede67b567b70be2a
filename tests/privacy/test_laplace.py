"""Discrete Laplace noise against its exact law."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.privacy import laplace
from sottovoce.privacy.laplace import two_sided_geometric


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.1, 1), (0.5, 1), (1.0, 2), (2.0, 1), (3.7, 3)]
)
def test_the_noise_has_its_exact_law(epsilon: float, sensitivity: int) -> None:
    stream = RandomStream(bytes(31) + b"\7")
    draws = 20_000
    rate = epsilon / sensitivity
    counts = Counter(
        two_sided_geometric(Fraction(epsilon) / sensitivity, stream) for _ in range(draws)
    )
    q = math.exp(-rate)
    edge = next(x for x in range(1000) if draws * (1 - q) / (1 + q) * q ** (x + 1) < 20)
    statistic, cells = 0.0, 0
    for x in range(-edge, edge + 1):
        expected = draws * (1 - q) / (1 + q) * q ** abs(x)
        statistic += (counts[x] - expected) ** 2 / expected
        cells += 1
    tail = draws * 2 * q ** (edge + 1) / (1 + q)
    statistic += (sum(n for x, n in counts.items() if abs(x) > edge) - tail) ** 2 / max(tail, 1)
    # Chi-square with `cells` degrees of freedom exceeds this with probability 1e-7 (Wilson and
    # Hilferty).
    bound = cells * (1 - 2 / (9 * cells) + 5.2 * math.sqrt(2 / (9 * cells))) ** 3
    assert statistic < bound


def test_impossible_sensitivities_and_epsilons_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"sensitivity": 0, "epsilon": 1.0},
        {"sensitivity": 1, "epsilon": 0.0},
        {"sensitivity": 1, "epsilon": math.inf},
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="expected a"):
            laplace(5, **arguments)


WRONG_NUMBERS: list[tuple[Any, str]] = [
    (2.5, "expected whole numbers in laplace, found a float: round them, or use real_sum"),
    (np.array([1.0, 2.0]), "found an array of float64: round them, or use real_sum"),
    ([], "expected at least one number in laplace, found an empty array"),
    (np.array([], np.int64), "expected at least one number in laplace, found an empty array"),
    (True, "expected whole numbers in laplace, found a bool: count them first"),
    (np.array([True, False]), "found an array of bool: count them first"),
    ("5", "found a str: count them first"),
    (None, "found None: count them first"),
    (np.array([1 << 62]), r"expected whole numbers below 2\*\*62 in laplace"),
]


@pytest.mark.parametrize(("value", "text"), WRONG_NUMBERS)
def test_what_is_no_whole_number_is_refused(value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        laplace(value, sensitivity=1, epsilon=1.0)


WRONG_FIGURES: list[tuple[dict[str, Any], str]] = [
    ({"sensitivity": -1, "epsilon": 1.0}, "a sensitivity above 0 and finite, found -1"),
    ({"sensitivity": math.nan, "epsilon": 1.0}, "a sensitivity above 0 and finite, found nan"),
    ({"sensitivity": "2", "epsilon": 1.0}, "an int, a Fraction or a float, found a str"),
    ({"sensitivity": None, "epsilon": 1.0}, "an int, a Fraction or a float, found None"),
    ({"sensitivity": 1, "epsilon": 1e-20}, "at most 2.*40, found 1e.20: choose a larger budget"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG_FIGURES)
def test_figures_that_make_no_sense_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        laplace(5, **arguments)


@pytest.mark.parametrize("sensitivity", [1, 2, Fraction(1, 3), 0.1, np.float64(0.75), np.int64(3)])
def test_a_sensitivity_is_the_exact_fraction_that_it_is(sensitivity: Any) -> None:
    mechanism = laplace([5, 6], sensitivity=sensitivity, epsilon=0.5)
    exact = sensitivity if isinstance(sensitivity, Fraction) else Fraction(sensitivity.real)
    assert mechanism.rate == Fraction(1, 2) / Fraction(exact)
    assert mechanism.sensitivity == float(sensitivity)


@pytest.mark.parametrize("sensitivity", [1, Fraction(5, 2), 0.3])
def test_arrays_have_the_same_law_in_each_cell(sensitivity: float | Fraction) -> None:
    """An honest sampler fails with probability 1e-7 for each case (chi-squared)."""
    cells, edge = 60_000, 12
    mechanism = laplace(np.full((3, cells // 3), 7), sensitivity=sensitivity, epsilon=1.0)
    answer = mechanism.draw(RandomStream(b"a" * 32))
    assert answer.shape == (3, cells // 3)
    assert answer.dtype == np.int64
    noise = np.abs(answer.reshape(-1) - 7)
    q = math.exp(-1 / float(sensitivity))
    chances = np.array([(1 - q) / (1 + q) * q**x * (2 if x else 1) for x in range(edge)])
    expected = np.append(chances, 1 - chances.sum()) * cells
    observed = np.append(np.bincount(noise, minlength=edge)[:edge], (noise >= edge).sum())
    wide = expected > 5
    expected = np.append(expected[wide], expected[~wide].sum() + 1e-9)
    observed = np.append(observed[wide], observed[~wide].sum())
    statistic = ((observed[:-1] - expected[:-1]) ** 2 / expected[:-1]).sum()
    assert stats.chi2(len(expected) - 1).sf(statistic) > 1e-7
    # Cells are independent: their signs agree with their neighbours' half of the time.
    signs = np.sign(answer.reshape(-1) - 7)
    assert abs((signs[1:] * signs[:-1]).sum()) < 5.4 * math.sqrt(cells)


def test_no_answer_tells_neighbouring_arrays_further_apart_than_epsilon() -> None:
    """The exact law, by enumeration of all answers near the values."""
    epsilon = 0.7
    first = laplace([0, 0], sensitivity=2, epsilon=epsilon)
    second = laplace([1, -1], sensitivity=2, epsilon=epsilon)
    ratios = [
        first.log_likelihood(np.array(answer)) - second.log_likelihood(np.array(answer))
        for answer in itertools.product(range(-5, 6), repeat=2)
    ]
    assert max(map(abs, ratios)) == pytest.approx(epsilon)


def test_the_value_is_not_shown() -> None:
    assert "31337" not in repr(laplace(31337, sensitivity=1, epsilon=1))
