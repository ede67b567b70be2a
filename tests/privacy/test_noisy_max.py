"""Permute-and-flip against its law: by enumeration of all orders, and by draws."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.noisy_max import report_noisy_max

SCORES = [[3.0, 3.0], [0.0, 1.0, 2.5], [4.0, 0.0, 0.0, 1.0], [1.0] * 5, [0.0, 0.5, 9.0, 8.0]]


def probabilities(scores: list[float], *, epsilon: float) -> list[float]:
    """Add up the chances of each candidate over all orders."""
    best = max(scores)
    accepted = [math.exp(-epsilon * (best - score) / 2) for score in scores]
    total = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for candidate in order:
            total[candidate] += left * accepted[candidate]
            left *= 1 - accepted[candidate]
    return total


@pytest.mark.parametrize("scores", SCORES)
def test_its_law_is_that_of_all_orders(scores: list[float]) -> None:
    """The grid's rounding changes a logarithm by less than 3e-5."""
    expected = probabilities(scores, epsilon=1.3)
    mechanism = report_noisy_max(scores, sensitivity=1, epsilon=1.3)
    assert sum(expected) == pytest.approx(1.0)
    for candidate, probability in enumerate(expected):
        assert mechanism.log_likelihood(candidate) == pytest.approx(math.log(probability), abs=3e-5)


@pytest.mark.parametrize("scores", SCORES)
def test_draws_have_this_law(scores: list[float]) -> None:
    """Chi-squared; an honest sampler fails with probability 1e-7."""
    draws = 5000
    mechanism = report_noisy_max(scores, sensitivity=1, epsilon=1.3)
    stream = RandomStream(b"o" * 32)
    counts = Counter(mechanism.draw(stream) for _ in range(draws))
    expected = [draws * part for part in probabilities(scores, epsilon=1.3)]
    statistic = sum((counts[i] - n) ** 2 / n for i, n in enumerate(expected))
    cells = len(scores)
    assert statistic < cells * (1 - 2 / (9 * cells) + 5.2 * math.sqrt(2 / (9 * cells))) ** 3


def test_no_choice_tells_neighbouring_scores_further_apart_than_epsilon() -> None:
    """All changes of four scores by -1, 0 or 1, and up to nine tenths of epsilon is used."""
    epsilon, worst = 0.8, 0.0
    base = np.array([2.0, 2.0, 1.0, 0.0])
    for start in (base, np.zeros(4), np.array([6.0, 0.0, 0.0, 0.0])):
        first = report_noisy_max(start, sensitivity=1, epsilon=epsilon)
        for change in itertools.product([-1, 0, 1], repeat=4):
            second = report_noisy_max(start + np.array(change), sensitivity=1, epsilon=epsilon)
            for candidate in range(4):
                ratio = first.log_likelihood(candidate) - second.log_likelihood(candidate)
                worst = max(worst, abs(ratio))
    assert 0.9 * epsilon < worst <= epsilon + 1e-5


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in SCORES:
        flips = probabilities(scores, epsilon=1.0)
        weights = [math.exp(score / 2) for score in scores]
        choices = [weight / sum(weights) for weight in weights]
        of_flips, of_choices = (
            sum(part * score for part, score in zip(law, scores, strict=True))
            for law in (flips, choices)
        )
        assert of_flips >= of_choices - 1e-12


def test_a_budget_in_rho_is_taken_as_pure() -> None:
    mechanism = report_noisy_max([1, 2], sensitivity=1, budget=Budget("rho", 0.08))
    assert mechanism.epsilon == pytest.approx(0.4)
    assert mechanism.loss.rho == pytest.approx(0.08)


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "expected a list of scores in report_noisy_max, found an array of the shape"),
    ([[1.0]], {}, "expected a list of scores"),
    ([1.0, math.inf], {}, "found NaN or infinity"),
    (["a"], {}, "turn texts into numbers first"),
    ([1.0], {"sensitivity": 0}, "expected a sensitivity above 0 and finite, found 0"),
    ([1.0], {"epsilon": None}, "found neither: say one of them"),
    ([1.0], {"epsilon": None, "budget": 0.5}, "expected a Budget in report_noisy_max, found a flo"),
]


@pytest.mark.parametrize(("scores", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    scores: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        report_noisy_max(scores, **{"sensitivity": 1, "epsilon": 1.0, **options})
