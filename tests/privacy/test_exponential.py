"""The exponential mechanism has its law, and keeps epsilon after rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from sottovoce.crypto import RandomStream
from sottovoce.privacy.exponential import GRID, STEPS, ExponentialChoice, choose, on_grid
from sottovoce.privacy.noisy_scores import laplace_scores
from sottovoce.privacy.sparse_vector import sparse_vector


def law(
    scores: list[float], *, sensitivity: float, epsilon: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.exp(epsilon * (np.array(scores) - max(scores)) / (2 * sensitivity))
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_choices_have_their_law(epsilon: float) -> None:
    """A chi-squared test of 20,000 draws fails once in a million runs."""
    scores = [0.0, 0.01, 0.013, -0.02, 0.01]
    choice = choose(scores, sensitivity=0.01, epsilon=epsilon)
    stream = RandomStream(bytes([int(epsilon * 10)] * 32))
    counts = np.bincount([choice.draw(stream) for _ in range(20_000)], minlength=5)
    expected = 20_000 * law(scores, sensitivity=0.01, epsilon=epsilon)
    assert chi2.ppf(5e-7, 4) < ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 5e-7, 4)


def test_every_neighbour_of_every_score_keeps_epsilon() -> None:
    """No candidate's probability changes by more than e^epsilon, with rounded scores."""
    generator = np.random.default_rng(3)
    for _ in range(300):
        sensitivity = float(generator.uniform(1e-4, 2))
        epsilon = float(generator.uniform(0.01, 5))
        scores = generator.uniform(-3, 3, 6)
        neighbour = scores + generator.choice([-sensitivity, sensitivity], 6)
        rounded = []
        for values in (scores, neighbour):
            choice = choose(values, sensitivity=sensitivity, epsilon=epsilon)
            behind = (choice.steps - choice.steps.max()).astype(float) * epsilon / (2 * (GRID + 2))
            rounded.append(behind - np.log(np.exp(behind).sum()))
        assert np.abs(rounded[0] - rounded[1]).max() <= epsilon * (1 + 1e-9)


def logs_of(scores: tuple[float, ...], *, epsilon: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Compute the log-probabilities of the candidates, with rounded scores."""
    behind = choose(scores, sensitivity=1.0, epsilon=epsilon).steps * (epsilon / (2 * STEPS))
    return np.asarray(behind - np.log(np.exp(behind).sum()))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_a_choice_has_a_bounded_range_and_costs_an_eighth_of_its_square(epsilon: float) -> None:
    """All neighbours of some scores: the Renyi divergence of order a is at most a epsilon^2 / 8.

    This is rho-zCDP (Cesar, Rogers 2021, lemma 3.2). Two candidates as good as each other, of which
    one becomes better and the other worse, reach it for small epsilon.
    """
    loss = choose([0.0, 0.0], sensitivity=1.0, epsilon=epsilon).loss
    assert (loss.epsilon, loss.rho, loss.delta) == (epsilon, epsilon**2 / 8, 0.0)
    rho = loss.rho
    largest = 0.0
    for candidates in (2, 3, 4):
        for scores in product((0.0, -0.7, -3.0), repeat=candidates - 1):
            before = logs_of((0.0, *scores), epsilon=epsilon)
            for changes in product((-1.0, 0.0, 1.0), repeat=candidates):
                moved = tuple(np.add((0.0, *scores), changes))
                ratios = before - logs_of(moved, epsilon=epsilon)
                assert np.ptp(ratios) <= epsilon
                assert np.abs(ratios).max() <= epsilon
                for order in (1.0001, 1.5, 2.0, 5.0, 30.0):
                    powers = before + (order - 1) * ratios
                    divergence = np.log(np.exp(powers).sum()) / (order - 1)
                    assert divergence <= order * rho * (1 + 1e-7) + 1e-12
                    largest = max(largest, float(divergence) / (order * rho))
    assert largest > (0.999 if epsilon < 0.1 else 0.9 if epsilon <= 2 else 0.5)


def test_scores_far_behind_are_still_possible() -> None:
    choice = choose([0.0, -1000.0], sensitivity=1.0, epsilon=1.0)
    stream = RandomStream(bytes(32))
    assert {choice.draw(stream) for _ in range(100)} == {0}
    assert choice.sensitivity == pytest.approx(1, rel=1e-5)
    assert choice.scale == pytest.approx(2, rel=1e-5)
    assert choose([5.0], sensitivity=1, epsilon=1).draw(stream) == 0
    assert choose([-1e300, 0.0, -1e20], sensitivity=1e-9, epsilon=1).draw(stream) == 1


class NumberBelow(RandomStream):
    """A stream whose next number below a bound is a chosen one; -1 is the largest."""

    def __init__(self, number: int) -> None:
        super().__init__(bytes(32))
        self.number = number

    def below(self, bound: int) -> int:
        return self.number % bound


@pytest.mark.parametrize(("number", "chosen"), [(0, 0), (1, 1), (-2, 1), (-1, 2)])
def test_the_worst_candidates_have_one_number_each_wherever_they_stand(
    number: int, chosen: int
) -> None:
    """One that no number chooses would betray the scores, however far behind it is."""
    choice = choose([-1e6, 0.0, -1e6], sensitivity=1.0, epsilon=1.0)
    assert choice.draw(NumberBelow(number)) == chosen


@pytest.mark.parametrize(
    ("scores", "sensitivity", "epsilon", "message"),
    [
        ([], 1, 1, "at least one score"),
        ([1.0, float("nan")], 1, 1, "found NaN or infinity"),
        ([1.0], 0, 1, "a sensitivity above 0 and finite, found 0"),
        ([1.0], 1, 0, "an epsilon above 0 and finite, found 0"),
        ([1.0], 1, float("inf"), "an epsilon above 0 and finite, found inf"),
    ],
)
def test_impossible_arguments_are_refused(
    scores: list[float], sensitivity: float, epsilon: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        choose(scores, sensitivity=sensitivity, epsilon=epsilon)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, math.inf)]
)
def test_no_grid_is_made_for_an_impossible_loss(sensitivity: float, epsilon: float) -> None:
    """With an infinite epsilon a step would have the length 0."""
    with pytest.raises(ValueError, match="finite epsilon above 0"):
        on_grid([1.0, 2.0], sensitivity=sensitivity, epsilon=epsilon)


def test_scores_are_not_shown() -> None:
    assert "array" not in repr(choose([1.0, 2.0], sensitivity=1, epsilon=1))
    assert isinstance(choose([1.0], sensitivity=1, epsilon=1), ExponentialChoice)


def test_the_sensitivity_covers_the_rounding_of_scores() -> None:
    """The best score falls by 1 and the other rises by 1; after rounding that is a step more."""
    above_half = 2.0**-21 + 2.0**-60  # in steps: a little more than a half
    before = choose([0.0, above_half], sensitivity=1.0, epsilon=1.0)
    after = choose([1.0, above_half - 1.0], sensitivity=1.0, epsilon=1.0)
    changes = np.diff(before.steps)[0] - np.diff(after.steps)[0]
    assert changes == 2 * GRID + 1
    change = before.exact_value().change(after.exact_value())
    assert 1.0 < change <= before.sensitivity < 1 + 1e-5
    # The law keeps epsilon exactly: the rate is per step, and 2 STEPS of them cost epsilon.
    assert changes * Fraction(1) / (2 * STEPS) <= 1


@pytest.mark.parametrize(
    "prepare", [laplace_scores, partial(sparse_vector, thresholds=[0.0], cutoff=1)]
)
def test_the_sensitivity_covers_the_rounding_of_numbers(prepare: Any) -> None:
    above_half = 2.0**-21 + 2.0**-60
    before = prepare([above_half], sensitivity=1.0, epsilon=1.0)
    after = prepare([above_half - 1.0], sensitivity=1.0, epsilon=1.0)
    assert int(before.steps[0] - after.steps[0]) == GRID + 1
    assert before.exact_value().change(after.exact_value()) <= before.sensitivity < 1 + 1e-5
