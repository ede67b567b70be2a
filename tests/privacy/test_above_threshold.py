"""Questions about a threshold: the same answers as the sparse vector, and the same law."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import MisuseError
from sottovoce.privacy.above_threshold import above_threshold
from sottovoce.privacy.sparse_vector import sparse_vector


@pytest.mark.parametrize("seed", range(20))
def test_it_answers_as_the_sparse_vector_with_one_answer_above(seed: int) -> None:
    """Both draw their noise in the same order from the same stream."""
    values = np.random.default_rng(seed).normal(0, 3, 12)
    key = bytes([seed]) * 32
    expected = sparse_vector(values, np.full(12, 2.0), sensitivity=1.0, epsilon=1.0, cutoff=1).draw(
        RandomStream(key)
    )
    questions = above_threshold(2.0, sensitivity=1, epsilon=1.0)
    stream, first_above = RandomStream(key), []
    for number, value in enumerate(values.tolist()):
        if questions.question(value).draw(stream):
            first_above = [number]
            break
    assert first_above == expected


def test_a_value_that_reaches_the_noisy_threshold_is_above_as_in_the_sparse_vector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise is of whole steps, so both may be equal. Here all noise is 0."""
    for module in ("above_threshold", "sparse_vector"):
        monkeypatch.setattr(f"sottovoce.privacy.{module}.two_sided_geometric", lambda *_: 0)
    stream, values = RandomStream(bytes(32)), [1.0, 2.0]
    questions = above_threshold(2.0, sensitivity=1, epsilon=1.0)
    assert [questions.question(value).draw(stream) for value in values] == [False, True]
    sparse = sparse_vector(
        np.array(values), np.full(2, 2.0), sensitivity=1.0, epsilon=1.0, cutoff=2
    )
    assert sparse.draw(stream) == [1]


def test_all_answers_together_lose_epsilon_at_most() -> None:
    """Log-ratios add up over the questions, for all answers and all changes of four values."""
    values, epsilon, worst = [0.0, 1.0, -1.0, 2.0], 1.2, 0.0
    for change in itertools.product([-1, 0, 1], repeat=4):
        pairs = [above_threshold(0.5, sensitivity=1, epsilon=epsilon) for _ in range(2)]
        questions = [
            (pairs[0].question(value), pairs[1].question(value + step))
            for value, step in zip(values, change, strict=True)
        ]
        losses = [
            [first.log_likelihood(above) - second.log_likelihood(above) for above in (False, True)]
            for first, second in questions
        ]
        for stop in range(5):
            total = sum(loss[0] for loss in losses[:stop])
            total += losses[stop][1] if stop < 4 else 0.0
            worst = max(worst, abs(total))
    assert epsilon / 2 < worst <= epsilon + 1e-5


def test_the_probabilities_of_both_answers_add_up_to_one() -> None:
    questions = above_threshold(0.0, sensitivity=1, epsilon=2.0)
    for value in (0.3, -1.0, 4.0):
        question = questions.question(value)
        total = sum(math.exp(question.log_likelihood(above)) for above in (False, True))
        assert total == pytest.approx(1.0, abs=1e-6)


def test_the_first_question_costs_epsilon_and_the_others_nothing() -> None:
    questions = above_threshold(1000.0, sensitivity=2, epsilon=0.5)
    stream = RandomStream(b"q" * 32)
    losses = []
    for _ in range(3):
        question = questions.question(0.0)
        losses.append(question.loss.epsilon)
        assert not question.draw(stream)
    assert losses == [0.5, 0.0, 0.0]
    assert question.sensitivity == pytest.approx(2.0, rel=1e-5)


def test_questions_are_released_once_and_in_their_order() -> None:
    stream = RandomStream(b"q" * 32)
    questions = above_threshold(1000.0, sensitivity=1, epsilon=1.0)
    first, second = questions.question(0.0), questions.question(0.0)
    with pytest.raises(MisuseError, match="expected question 1 about a threshold, found quest"):
        second.draw(stream)
    first.draw(stream)
    with pytest.raises(MisuseError, match="expected question 2 about a threshold, found quest"):
        first.draw(stream)
    assert questions.question(1e9).number == 2
    assert not second.draw(stream)


def test_after_an_answer_above_there_is_no_question() -> None:
    questions = above_threshold(0.0, sensitivity=1, epsilon=1.0)
    assert questions.question(1e6).draw(RandomStream(b"q" * 32))
    with pytest.raises(MisuseError, match="prepare new questions by above_threshold"):
        questions.question(0.0)


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([1.0, 2.0], {}, "expected a number as the threshold, found an array of 1 dimensions"),
    (math.nan, {}, "found NaN or infinity"),
    (1.0, {"sensitivity": -2}, "expected a sensitivity above 0 and finite, found -2"),
    (1.0, {"epsilon": None}, "expected epsilon= or budget= in above_threshold, found neither"),
]


@pytest.mark.parametrize(("threshold", "options", "text"), WRONG)
def test_arguments_that_make_no_sense_are_refused(
    threshold: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        above_threshold(threshold, **{"sensitivity": 1, "epsilon": 1.0, **options})


def test_a_question_is_about_a_number() -> None:
    questions = above_threshold(1.0, sensitivity=1, epsilon=1.0)
    with pytest.raises(ValueError, match="expected a number in a question"):
        questions.question([1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_scale_is_that_of_the_noise_of_values(epsilon: float, sensitivity: int) -> None:
    """As the sparse vector states it; the threshold's own noise is narrower."""
    question = above_threshold(2.0, sensitivity=sensitivity, epsilon=epsilon).question(1.0)
    vector = sparse_vector([1.0], [2.0], sensitivity=sensitivity, epsilon=epsilon, cutoff=1)
    assert question.scale == pytest.approx(vector.scale)
    assert question.step / float(question.rates[0]) < question.scale
