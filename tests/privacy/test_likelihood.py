"""Likelihoods against brute force, closed forms, and the mechanisms' own draws."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import hyp2f1, logsumexp

from sottovoce.crypto import RandomStream
from sottovoce.privacy import laplace
from sottovoce.privacy.batch import Batch
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.likelihood import UnknownLaw, log_ratio
from sottovoce.privacy.negative_binomial import NegativeBinomial
from sottovoce.privacy.noisy_scores import gaussian_scores, laplace_scores
from sottovoce.privacy.share_law import log_probabilities, noise_log_ratio
from sottovoce.privacy.shares import SharedNoise
from sottovoce.privacy.sparse_vector import sparse_vector, threshold_mechanism


@pytest.mark.parametrize("shape", [1 / 30, 1 / 2, 2 / 3, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("scale", [0.3, 2.0, 15.0])
def test_shares_have_the_law_of_a_difference_of_negative_binomials(
    shape: float, scale: float
) -> None:
    rate = Fraction(1 / scale)
    logs = log_probabilities(shape, rate, 64)
    single = stats.nbinom.pmf(np.arange(6_000), shape, -math.expm1(-float(rate)))
    brute = np.array([(single[k:] * single[: len(single) - k]).sum() for k in range(65)])
    kept = brute > 1e-250
    assert (logs - logs[0])[kept] == pytest.approx(np.log(brute / brute[0])[kept], abs=1e-9)


def test_shares_have_the_hypergeometric_form() -> None:
    shape, rate = 0.4, Fraction(1, 50)
    a, k = math.exp(-1 / 50), np.arange(60)
    form = [
        math.lgamma(j + shape)
        - math.lgamma(j + 1)
        - j / 50
        + math.log(hyp2f1(shape, j + shape, j + 1, a * a))
        for j in k
    ]
    logs = log_probabilities(shape, rate, 64)[:60]
    assert logs - logs[0] == pytest.approx(np.array(form) - form[0], abs=1e-9)


def test_noise_has_the_law_that_it_is_drawn_from() -> None:
    """Chi-squared: a correct law fails with probability 1e-7."""
    shape, rate = Fraction(1, 2), Fraction(1, 4)
    law = NegativeBinomial(shape=shape, rate=rate)
    stream = RandomStream(b"l" * 32)
    noise = law.draw(50_000, randomness=stream) - law.draw(50_000, randomness=stream)
    logs = log_probabilities(0.5, rate, 256)
    both = np.concatenate([logs[:0:-1], logs])
    chances = np.exp(both - logsumexp(both))[256 - 12 : 256 + 13]
    observed = np.bincount(noise[np.abs(noise) <= 12] + 12, minlength=25)
    chances = np.append(chances, 1 - chances.sum())
    observed = np.append(observed, len(noise) - observed.sum())
    assert stats.chisquare(observed, chances * len(noise)).pvalue > 1e-7


def test_unchanged_cells_cost_nothing() -> None:
    noise, shift = np.array([5, -3, 100]), np.array([0, 0, 0])
    assert noise_log_ratio(noise, shift, shape=1.0, rate=Fraction(1)) == 0.0


def test_full_noise_loses_at_most_epsilon_and_a_share_more() -> None:
    noise = np.arange(-50, 51)
    ones = np.ones_like(noise)
    full = [
        noise_log_ratio(noise[[i]], ones[[i]], shape=1.0, rate=Fraction(1, 3)) for i in range(101)
    ]
    assert max(full) == pytest.approx(1 / 3)
    half = noise_log_ratio(np.array([0]), np.array([1]), shape=0.5, rate=Fraction(1, 3))
    assert half > 1 / 3


def test_counts() -> None:
    first, second = (laplace(value, sensitivity=2, epsilon=1.0) for value in (10, 12))
    assert log_ratio(first, second, 7) == pytest.approx(1.0)
    assert log_ratio(first, second, 11) == 0.0
    assert log_ratio(first, second, 15) == pytest.approx(-1.0)


def test_one_partys_share() -> None:
    batch = Batch(cells=2, sensitivity=2, epsilon=1.0, rows=9, parties=2, colluding=1)
    pages = [np.array([3, 4])], [np.array([4, 3])]
    first, second = (SharedNoise(pages=page, batch=batch, seen={}) for page in pages)
    assert log_ratio(first, second, [np.array([3, 4])]) == pytest.approx(1.0)


def test_choices() -> None:
    scores = [0.0, 1.0, 5.0], [1.0, 0.0, 4.0]
    first, second = (choose(values, sensitivity=1.0, epsilon=2.0) for values in scores)
    logs = [np.array(values) - logsumexp(values) for values in scores]
    for answer in range(3):
        expected = logs[0][answer] - logs[1][answer]
        assert log_ratio(first, second, answer) == pytest.approx(expected, abs=1e-5)


def test_scores() -> None:
    scores = [0.0, 1.0], [0.5, 0.5]
    first, second = (laplace_scores(values, sensitivity=0.5, epsilon=1.0) for values in scores)
    assert log_ratio(first, second, np.array([-3.0, 9.0])) == pytest.approx(1.0, abs=1e-5)
    pair = [
        gaussian_scores(values, sensitivity=0.5, rho=rho_of(1.0, delta=1e-6)) for values in scores
    ]
    x, sigma = np.array([0.2, 1.4]), pair[0].scale
    laws = [stats.norm(values, sigma).logpdf(x).sum() for values in scores]
    assert log_ratio(pair[0], pair[1], x) == pytest.approx(laws[0] - laws[1], abs=1e-5)


def test_answers_above_thresholds_have_the_frequencies_of_draws() -> None:
    """The probabilities of all answers, normalised, against 4,000 draws (chi-squared, 1e-7)."""
    queries = [0.3, -0.5, 1.0]
    for vector, answers in (
        (
            sparse_vector(queries, np.zeros(3), sensitivity=1.0, epsilon=3.0, cutoff=1),
            [[], [0], [1], [2]],
        ),
        (
            threshold_mechanism(queries, np.zeros(3), sensitivity=1.0, epsilon=3.0, views=()),
            [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]],
        ),
    ):
        flat = dataclasses.replace(vector, steps=vector.steps * 0)
        stream = RandomStream(b"v" * 32)
        draws = [vector.draw(stream) for _ in range(4_000)]
        of_flat = [flat.draw(stream) for _ in range(4_000)]
        counts = np.array([draws.count(answer) for answer in answers])
        flat_counts = np.array([of_flat.count(answer) for answer in answers])
        ratios = np.array([log_ratio(vector, flat, answer) for answer in answers])
        observed = np.log((counts + 0.5) / (flat_counts + 0.5))
        error = np.sqrt(1 / (counts + 0.5) + 1 / (flat_counts + 0.5))
        assert (np.abs(observed - ratios) < 5.5 * error).all()


def test_a_plug_ins_mechanism_declares_its_law() -> None:
    class Declared:
        name = "declared"

        def __init__(self, value: float) -> None:
            self.value = value

        def log_likelihood(self, answer: float) -> float:
            return -abs(answer - self.value)

    class Undeclared:
        name = "undeclared"

    assert log_ratio(Declared(1.0), Declared(2.0), 0.0) == 1.0
    with pytest.raises(UnknownLaw, match="undeclared"):
        log_ratio(Undeclared(), Undeclared(), 0.0)
