"""Worst pairs of neighbouring values for the mechanisms that authors of protocols import."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..crypto import RandomStream
from ..evaluation.exact_gaussian import gaussian_epsilon
from ..privacy import gaussian, laplace, real_mean, real_sum
from ..privacy.above_threshold import above_threshold
from ..privacy.conversion import rho_of
from ..privacy.histogram import secret_histogram
from ..privacy.noisy_max import report_noisy_max
from ..privacy.quantiles import median
from ..privacy.real_values import RealMean
from .mechanism_case import DELTA, EPSILON, MechanismCase, pair

__all__ = ["author_cases"]

CANDIDATES: Final = 60
QUESTIONS: Final = 60
RHO: Final = rho_of(EPSILON, delta=DELTA)


def author_cases() -> list[MechanismCase]:
    """List the cases of mechanisms for authors."""
    return [*_noise(), *_reals(), *_choices(), *_thresholds()]


def _noise() -> list[MechanismCase]:
    arrays = [5, 5, 5], [6, 4, 5]
    bells = [gaussian(array, sensitivity=math.sqrt(2), rho=RHO) for array in arrays]
    shift = math.sqrt(2) / bells[0].scale
    return [
        pair(
            *(laplace(array, sensitivity=2, epsilon=EPSILON) for array in arrays),
            name="discrete-laplace (array)",
        ),
        pair(
            *bells,
            name="discrete-gaussian (array)",
            delta=DELTA,
            exact_epsilon=gaussian_epsilon(shift, delta=DELTA),
        ),
    ]


def _reals() -> list[MechanismCase]:
    tables = [[3.0, 10.0], [3.0, 0.0]]
    sums = [
        real_sum(table, bounds=(0, 10), neighbours="replace-one", epsilon=EPSILON)
        for table in tables
    ]
    rows = [[[3.0, 4.0]], [[-3.0, -4.0]]]
    bells = [real_sum(row, bound=5, neighbours="replace-one", rho=RHO) for row in rows]
    means = [
        real_mean(table, bounds=(0, 10), neighbours="add-or-remove-one", epsilon=EPSILON)
        for table in ([3.0, 10.0], [3.0])
    ]
    # A mean hides the noisy figures that it is computed from: they are what is audited.
    noisy = [mean.noisy for mean in means if isinstance(mean, RealMean)]
    shift = 10 / bells[0].scale
    return [
        pair(*sums),
        pair(
            *bells,
            name="real-sum (rows, Gaussian)",
            delta=DELTA,
            max_draws=2_000,
            exact_epsilon=gaussian_epsilon(shift, delta=DELTA),
        ),
        pair(*noisy, name="real-mean (noisy count)"),
    ]


def _choices() -> list[MechanismCase]:
    one_up = np.eye(1, CANDIDATES)[0]
    # Of a grid of 1,001 points most are below 990. There the distance grows when the second of
    # four records moves from the lowest point to the highest, and above 990 it shrinks.
    tables = [[0, 0, 990, 1000], [0, 990, 1000, 1000]]
    medians = [
        median(table, bounds=(0, 1000), resolution=1, neighbours="replace-one", epsilon=EPSILON)
        for table in tables
    ]
    return [
        pair(
            *(
                report_noisy_max(scores, sensitivity=1, epsilon=EPSILON)
                for scores in (one_up, 1 - one_up)
            ),
            answers=(0,),
        ),
        pair(*medians, name="quantile (median)", answers=(995.0, 400.0)),
    ]


def _thresholds() -> list[MechanismCase]:
    falling = np.concatenate([np.zeros(QUESTIONS - 1), [1.0]])
    values = falling.tolist(), (1 - falling).tolist()
    tables = [["a"] * 60 + ["b"] * 40, ["a"] * 60 + ["b"] * 41]
    histograms = [
        secret_histogram(table, neighbours="add-or-remove-one", epsilon=EPSILON, delta=DELTA)
        for table in tables
    ]
    return [
        MechanismCase(
            name="above-threshold",
            first=_asking(values[0]),
            second=_asking(values[1]),
            ratio=lambda answers: (
                _log_likelihood(values[0], answers) - _log_likelihood(values[1], answers)
            ),
            answers=([False] * (QUESTIONS - 1) + [True], [False] * QUESTIONS),
            max_draws=1_000,
        ),
        pair(*histograms, delta=DELTA),
    ]


def _asking(values: list[float]) -> Callable[[RandomStream], list[bool]]:
    """Ask whether values are above 3, until one is."""

    def draw(stream: RandomStream) -> list[bool]:
        questions = above_threshold(3.0, sensitivity=1, epsilon=EPSILON)
        answers: list[bool] = []
        for value in values:
            answers.append(questions.question(value).draw(stream))
            if answers[-1]:
                break
        return answers

    return draw


def _log_likelihood(values: list[float], answers: list[Any]) -> float:
    """Add up the log-probabilities of all answers, each after those before."""
    questions = above_threshold(3.0, sensitivity=1, epsilon=EPSILON)
    prepared = [questions.question(value) for value in values[: len(answers)]]
    return sum(
        question.log_likelihood(answer) for question, answer in zip(prepared, answers, strict=True)
    )
