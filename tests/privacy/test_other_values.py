"""Answers that differ from a given one everywhere, and errors about exact values of other kinds."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.messages import ArgumentError
from sottovoce.privacy import Budget
from sottovoce.privacy.answers import FAR, other_answers
from sottovoce.privacy.arguments import SmallBudgetError
from sottovoce.privacy.exact_value import ExactValue
from sottovoce.privacy.histogram import LabelCounts, SecretHistogram
from sottovoce.privacy.laplace import require_scale
from sottovoce.privacy.real_bounds import interval


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_other_answers_change_cells_sums_differences_signs_and_sizes(dtype: type) -> None:
    """Of 500 cells, each kind of change that is drawn is missing with a probability below 1e-50."""
    answer: np.ndarray = np.arange(500).astype(dtype) - 250
    more, opposite, far = other_answers(answer, seed=3)
    assert set((more - answer).tolist()) == {1, 2}
    assert np.array_equal(opposite, -answer)
    factors = far / (np.abs(answer) + 1)
    assert FAR <= factors.min() < 1.2 * FAR
    assert 1.8 * FAR < factors.max() < 2 * FAR
    assert len(set(factors.tolist())) > 400


def test_label_counts_change_from_label_counts_alone() -> None:
    counts = [
        LabelCounts((np.array(values),), "L1", labels=labels)
        for labels, values in ((("a", "b"), [3, 1]), (("b", "c"), [4, 2]))
    ]
    assert counts[0].change(counts[1]) == 3 + 3 + 2
    other = ExactValue.of(np.array([3.0, 1.0]), norm="L1")
    with pytest.raises(ArgumentError, match="expected counts by label"):
        counts[0].change(other)


@pytest.mark.parametrize("columns", [1, 3])
def test_an_error_about_bounds_says_how_columns_have_their_own(columns: int) -> None:
    with pytest.raises(ArgumentError) as error:
        interval(("low", 1), columns=columns)
    assert ("or as 3 numbers each for columns=3" in str(error.value)) == (columns == 3)
    assert ("numbers each" in str(error.value)) == (columns == 3)


@pytest.mark.parametrize("budget", [Budget.pure(0.3), Budget.pure(2.0), Budget("rho", 0.01)])
def test_the_likelihood_of_a_histogram_is_that_of_its_noise(budget: Budget) -> None:
    """Counts far above the threshold: probabilities add up to 1, and have the noise's variance.

    Discrete noise has the variance of the sum over all noise of its square.
    """
    histogram = SecretHistogram({"a": 10_000}, budget, 1e-9, "replace-one")
    span = np.arange(-int(30 * histogram.scale), int(30 * histogram.scale) + 1)
    chances = np.exp([histogram.log_likelihood({"a": 10_000 + noise}) for noise in span.tolist()])
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    assert chances @ span == pytest.approx(0, abs=1e-6)
    deviation = histogram.scale if budget.concentrated else histogram.scale * np.sqrt(2)
    discrete = 1 / 12 if not budget.concentrated else 0  # rounding makes Laplace noise narrower
    assert chances @ span**2 == pytest.approx(deviation**2, abs=2.5 * discrete + 1e-6)


def test_noise_of_the_largest_scale_fits_into_64_bits() -> None:
    """Noise beyond 2^60 is a million scales away, which happens with a chance of e^-1000000."""
    largest = 2.0**60 / 2**20
    require_scale(largest)
    with pytest.raises(SmallBudgetError, match=r"at most 2\*\*40"):
        require_scale(np.nextafter(largest, np.inf))
