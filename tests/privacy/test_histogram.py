"""Histograms of secret labels: threshold, loss by enumeration, and what they answer."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Neighbours
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.gaussian import gaussian
from sottovoce.privacy.histogram import SecretHistogram, secret_histogram, threshold_for
from sottovoce.privacy.laplace import laplace

RELATIONS: list[Neighbours] = ["replace-one", "add-or-remove-one"]


def tail(log_law: Any, *, start: int) -> float:
    """Add up the probabilities of noise from `start` on, for a law up to a constant."""
    places = range(-3000, 3001)
    weights = [math.exp(log_law(place)) for place in places]
    return math.fsum(w for w, place in zip(weights, places, strict=True) if place >= start) / (
        math.fsum(weights)
    )


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_the_threshold_of_laplace_noise_is_the_smallest(epsilon: float, delta: float) -> None:
    noisy = laplace([0], sensitivity=1, epsilon=epsilon)
    threshold = threshold_for(noisy, delta=delta)

    def law(place: int) -> float:
        return noisy.log_likelihood(np.array([place]))

    assert tail(law, start=threshold - 1) <= delta
    assert threshold == 2 or tail(law, start=threshold - 2) > delta


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-9])
@pytest.mark.parametrize("rho", [0.001, 0.1, 5.0])
def test_the_threshold_of_gaussian_noise_suffices(rho: float, delta: float) -> None:
    noisy = gaussian([0], sensitivity=1, rho=rho)
    threshold = threshold_for(noisy, delta=delta)

    def law(place: int) -> float:
        return noisy.log_likelihood(np.array([place]))

    assert tail(law, start=threshold - 1) <= delta
    # It is at most two above the smallest, as the bound is that of one step before.
    assert threshold <= 4 or tail(law, start=threshold - 4) > delta


PAIRS: list[tuple[Neighbours, str, str]] = [
    ("replace-one", "aab", "aac"),
    ("replace-one", "aab", "abb"),
    ("replace-one", "aaa", "aab"),
    ("add-or-remove-one", "aab", "aa"),
    ("add-or-remove-one", "a", ""),
    ("add-or-remove-one", "aab", "ab"),
]


@pytest.mark.parametrize(("neighbours", "first", "second"), PAIRS)
def test_the_loss_by_enumeration(neighbours: Neighbours, first: str, second: str) -> None:
    """The chance of answers beyond epsilon is delta at most, and for new labels half of it."""
    epsilon, delta = 1.5, 0.01
    tables = [
        secret_histogram(list(table), neighbours=neighbours, epsilon=epsilon, delta=delta)
        for table in (first, second)
    ]
    for one_side, other in (tables, tables[::-1]):
        counts = [
            [None, *range(one_side.threshold, one_side.threshold + 40)] for _ in one_side.counts
        ]
        total = excess = 0.0
        for values in itertools.product(*counts):
            answer = {
                label: value
                for label, value in zip(one_side.counts, values, strict=True)
                if value is not None
            }
            probability = math.exp(one_side.log_likelihood(answer))
            total += probability
            log_other = other.log_likelihood(answer)
            excess += max(0.0, probability - math.exp(epsilon + log_other))
        assert total == pytest.approx(1.0, abs=1e-6)
        assert excess <= delta * (1 + 1e-9)
        if set(one_side.counts) - set(other.counts):
            assert excess > delta / 5


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    "spending", [{"epsilon": 1.0}, {"rho": 0.1}, {"budget": Budget("rho", 0.3)}]
)
def test_common_labels_are_named_and_rare_ones_are_not(
    spending: dict[str, Any], neighbours: Neighbours
) -> None:
    """A wrong label has a chance of 1e-9, and a common one is missed with less."""
    labels = ["x"] * 900 + ["y"] * 500 + [f"only {i}" for i in range(40)]
    mechanism = secret_histogram(labels, neighbours=neighbours, delta=1e-9, **spending)
    answer = mechanism.draw(RandomStream(b"h" * 32))
    assert set(answer) == {"x", "y"}
    assert abs(answer["x"] - 900) < 25 * mechanism.scale
    assert mechanism.loss.delta == 1e-9
    assert mechanism.draw(RandomStream(b"h" * 32)) == answer


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_one_record_changes_as_many_counts_as_stated(neighbours: Neighbours) -> None:
    def of(table: str) -> SecretHistogram:
        return secret_histogram(list(table), neighbours=neighbours, epsilon=1.0, delta=1e-3)

    others = ["aac", "abb", "aab"] if neighbours == "replace-one" else ["aa", "ab", "aabc"]
    exact = of("aab").exact_value()
    changes = [exact.change(of(other).exact_value()) for other in others]
    assert max(changes) == of("aab").sensitivity
    assert exact == of("aab").exact_value()
    assert exact != of("aac").exact_value()


def test_of_nothing_nothing_is_named() -> None:
    mechanism = secret_histogram([], neighbours="replace-one", epsilon=1.0, delta=1e-9)
    assert mechanism.draw(RandomStream(b"h" * 32)) == {}
    assert "secret" not in repr(
        secret_histogram(["a secret"], neighbours="replace-one", epsilon=1.0, delta=0.1)
    ).replace("secret-histogram", "")


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ("text", {}, "expected a label for each record in secret_histogram, found no list"),
    ([("a", "b"), ("c", "d")], {}, "found an array of 2 dimensions: join several labels"),
    (["a"], {"delta": 0}, "expected a delta above 0 and finite, found 0"),
    (["a"], {"delta": 1}, "expected a delta below 1, found 1"),
    (["a"], {"delta": None}, "expected a delta as an int, a Fraction or a float, found None"),
    (["a"], {"epsilon": None}, "expected one of epsilon=, rho= and budget=.*, found none"),
    (["a"], {"neighbours": "label-alone"}, "found label-alone"),
]


@pytest.mark.parametrize(("values", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    values: Any, options: dict[str, Any], text: str
) -> None:
    usual = {"neighbours": "replace-one", "epsilon": 1.0, "delta": 1e-9}
    with pytest.raises(ValueError, match=text):
        secret_histogram(values, **{**usual, **options})
