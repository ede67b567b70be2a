"""The sparse vector technique has its law; the threshold mechanism breaks its claim."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import Accountant, losses_by_view, views
from sottovoce.privacy.sensitivity import mutual_information_sensitivity
from sottovoce.privacy.sparse_vector import log_likelihood, sparse_vector, threshold_mechanism

DRAWS = 20_000
X = np.linspace(-40, 40, 16_001)


def tail(x: np.ndarray) -> np.ndarray:
    """Compute P[noise >= x] for noise of scale 1."""
    return np.asarray(np.where(x >= 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2))


def law(queries: list[float], *, epsilon: float, cutoff: int) -> dict[tuple[int, ...], float]:
    """Compute each answer's probability by integration, at sensitivity 1 and thresholds 0."""
    share = 1 / (1 + (2 * cutoff) ** (2 / 3))
    scale = 1 / (share * epsilon), 2 * cutoff / ((1 - share) * epsilon)
    density = np.exp(-np.abs(X)) / np.exp(-np.abs(X)).sum()
    above = [tail((X * scale[0] - query) / scale[1]) for query in queries]
    probabilities: dict[tuple[int, ...], float] = {}
    for answers in product([False, True], repeat=len(queries)):
        listed = tuple(query for query, is_above in enumerate(answers) if is_above)
        if len(listed) > cutoff:
            continue
        # The mechanism stops after `cutoff` queries were above.
        answered = listed[-1] + 1 if len(listed) == cutoff else len(queries)
        if any(answers[answered:]):
            continue
        factors = [above[q] if answers[q] else 1 - above[q] for q in range(answered)]
        probabilities[listed] = float((density * np.prod(factors, axis=0)).sum())
    return probabilities


@pytest.mark.parametrize(("epsilon", "cutoff"), [(1.0, 1), (2.0, 2), (5.0, 4)])
def test_answers_have_their_law(epsilon: float, cutoff: int) -> None:
    queries = [1.5, -1.0, 0.5, 3.0]
    mechanism = sparse_vector(queries, [0.0] * 4, sensitivity=1.0, epsilon=epsilon, cutoff=cutoff)
    stream = RandomStream(bytes(31) + b"\1")
    counts = Counter(tuple(mechanism.draw(stream)) for _ in range(DRAWS))
    expected = law(queries, epsilon=epsilon, cutoff=cutoff)
    assert sum(expected.values()) == pytest.approx(1, abs=1e-3)
    for listed, likely in expected.items():
        # 5.5 standard deviations fail with probability 4e-8 for each of at most 16 answers.
        deviation = (likely * (1 - likely) / DRAWS) ** 0.5
        assert abs(counts[listed] / DRAWS - likely) < 5.5 * deviation + 1e-3, listed


@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_no_answer_distinguishes_neighbours_by_more_than_epsilon(cutoff: int) -> None:
    queries = [0.3, -0.5, 1.0, 0.0]
    answers = law(queries, epsilon=1.0, cutoff=cutoff)
    worst = 0.0
    for change in product([-1.0, 0.0, 1.0], repeat=4):
        changed = [q + c for q, c in zip(queries, change, strict=True)]
        neighbour = law(changed, epsilon=1.0, cutoff=cutoff)
        worst = max(worst, *(abs(log(answers[key] / neighbour[key])) for key in answers))
    assert 0.2 < worst <= 1.0 + 1e-6


def test_epsilon_is_divided_and_scales_follow() -> None:
    mechanism = sparse_vector([1.0], [0.0], sensitivity=0.5, epsilon=1.0, cutoff=4)
    of_threshold, of_queries = mechanism.shares
    assert float(of_threshold + of_queries) == 1.0
    assert float(of_queries / of_threshold) == pytest.approx(4.0)  # (2 * 4)^(2/3)
    assert mechanism.scale == pytest.approx(2 * 4 * 0.5 / 0.8, rel=1e-5)
    assert mechanism.sensitivity == pytest.approx(0.5, rel=1e-5)


def test_the_threshold_mechanism_answers_as_printed() -> None:
    queries, borders = [1.0, -1.0, 0.5], [0.0, 0.0, 1.0]
    mechanism = threshold_mechanism(
        queries, borders, sensitivity=1.0, epsilon=2.0, views=tuple(views(1))
    )
    stream = RandomStream(bytes(31) + b"\2")
    counts = Counter(tuple(mechanism.draw(stream)) for _ in range(DRAWS))
    patterns = list(product([False, True], repeat=3))
    logs = np.array(
        [log_likelihood(queries, borders, pattern, scale=mechanism.scale) for pattern in patterns]
    )
    likely = np.exp(logs - logs.max())
    likely /= likely.sum()
    for pattern, chance in zip(patterns, likely.tolist(), strict=True):
        listed = tuple(query for query, is_above in enumerate(pattern) if is_above)
        assert abs(counts[listed] / DRAWS - chance) < 5.5 * (chance * (1 - chance) / DRAWS) ** 0.5


def counter_example(
    attributes: int, *, rows: int, epsilon: float, theta: float | None, rate: float = 1.0
) -> float:
    """Compute the log-ratio of the counter-example in spec B1.

    Columns are binary. One tuple has ones in the second half of them, its neighbour in the first
    half. Pairs within that half have the largest information that one tuple can give, and all
    others none. The answer says which half it is. It is computed for the mutual information itself,
    and `epsilon` is that of the sampled table.
    """
    half = attributes // 2
    within, cross = half * (half - 1) // 2, half * half
    largest = mutual_information_sensitivity(rows, binary=True, base=np.e)
    first, second, none = (
        [0.0] * within + [largest] * within + [0.0] * cross,
        [largest] * within + [0.0] * within + [0.0] * cross,
        [0.0] * (2 * within + cross),
    )
    answers = [False] * within + [True] * within + [False] * cross
    borders = [largest / 2 if theta is None else theta] * len(answers)
    likelihood, neighbours, without = (
        log_likelihood(queries, borders, answers, scale=2 * largest / epsilon)
        for queries in (first, second, none)
    )
    if rate < 1:  # The sample has the tuple with probability `rate`.
        likelihood, neighbours = (
            float(np.logaddexp(log(rate) + sampled, log(1 - rate) + without))
            for sampled in (likelihood, neighbours)
        )
    return likelihood - neighbours


@pytest.mark.parametrize(
    ("attributes", "low", "high"),
    [
        (4, 0.068, 0.703),
        (6, 0.201, 2.10),
        (10, 0.661, 6.97),
        (16, 1.85, 19.5),
        (24, 4.38, 46.1),
        (40, 12.6, 133),
    ],
)
def test_the_threshold_mechanism_is_private_for_no_epsilon(
    attributes: int, low: float, high: float
) -> None:
    """J1: the log-ratio grows with the square of the attributes, whatever epsilon is claimed."""
    assert counter_example(attributes, rows=1000, epsilon=0.1, theta=None) == pytest.approx(
        low, rel=6e-3
    )
    assert counter_example(attributes, rows=1000, epsilon=1.0, theta=None) == pytest.approx(
        high, rel=6e-3
    )


def test_the_counter_example_with_the_papers_own_figures() -> None:
    assert counter_example(20, rows=45_222, epsilon=0.1, theta=0.02) == pytest.approx(
        2.95, abs=0.005
    )
    assert counter_example(50, rows=45_222, epsilon=0.1, theta=0.02) == pytest.approx(
        20.0, abs=0.05
    )
    assert counter_example(20, rows=1000, epsilon=1.0, theta=0.02) == pytest.approx(
        31.0098, abs=0.001
    )
    # This is the complete algorithm 1 on Adult's rows, with sampling, at a claimed 0.1.
    rate = 20_422 / 45_222
    sampled = log(1 + (exp(0.1) - 1) / rate)
    for attributes, ratio in ((20, 4.36), (50, 31.2), (100, 128.0)):
        log_ratio = counter_example(attributes, rows=20_422, epsilon=sampled, theta=0.02, rate=rate)
        assert log_ratio == pytest.approx(ratio, rel=2e-3)


def test_the_accountant_says_that_no_epsilon_holds() -> None:
    accountant = Accountant(party=1, parties=1, budget=1.0, neighbours="replace-one")
    mechanism = threshold_mechanism(
        [1.0], [0.0], sensitivity=1.0, epsilon=0.1, views=tuple(views(1))
    )
    accountant.release(mechanism, to=0, phase="graph", randomness=RandomStream(bytes(32)))
    losses = losses_by_view(accountant.releases, parties=1)
    assert {loss.epsilon for loss in losses.worst.values()} == {inf}
    assert accountant.spent == 0.1


@pytest.mark.parametrize(
    ("queries", "epsilon", "cutoff", "match"),
    [
        ([], 1.0, 1, "at least one score"),
        ([np.nan], 1.0, 1, "found NaN or infinity"),
        ([1.0], 0.0, 1, "epsilon above 0"),
        ([1.0], inf, 1, "epsilon above 0"),
        ([1.0], 1.0, 0, "a cutoff of at least 1, found 0"),
    ],
)
def test_impossible_arguments_are_refused(
    queries: list[float], epsilon: float, cutoff: int, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        sparse_vector(
            queries, [0.0] * len(queries), sensitivity=1.0, epsilon=epsilon, cutoff=cutoff
        )
