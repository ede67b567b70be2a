"""Mechanisms of an author's own, from which answers are drawn with chosen streams."""

from __future__ import annotations

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.evaluation.own_mechanisms import answers_alike
from sottovoce.privacy import DiscreteLaplace, laplace
from sottovoce.privacy.taping import ReleasePair


class Failing(DiscreteLaplace[int]):
    def draw(self, randomness: RandomStream) -> int:
        raise ArithmeticError


@pytest.mark.parametrize(("count", "alike"), [(3, True), (4, False)])
def test_equal_counts_are_answered_alike(count: int, *, alike: bool) -> None:
    first, second = (laplace(value, sensitivity=1, epsilon=1.0) for value in (3, count))
    pair = ReleasePair(first, second, 3, None, (), "count", 0)
    assert answers_alike(pair, stream=b"k" * 32) is alike


def test_a_draw_that_ends_in_an_error_is_no_like_answer() -> None:
    usual = laplace(3, sensitivity=1, epsilon=1.0)
    failing = Failing(usual.value, usual.l1_sensitivity, usual.epsilon)
    pair = ReleasePair(usual, failing, 3, None, (), "count", 0)
    assert not answers_alike(pair, stream=b"k" * 32)
