"""Other answers of releases: everything that a part may compute from an answer changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import laplace
from sottovoce.privacy.answers import copy_answer, other_answers
from sottovoce.privacy.taping import ReplayedAccountant, TapedAccountant


class Pair(NamedTuple):
    counts: Any
    noise: Any


class Window(msgspec.Struct, frozen=True):
    users: Any
    packed: bytes


ANSWERS = [
    3,
    1 << 100,
    2.5,
    True,
    "yes",
    b"\x00\x01",
    np.float64(3.0),
    np.array(7),
    np.array([True, False]),
    np.array([[5, 6], [7, 9]], np.uint8),
    [np.array([3, 4]), np.array([5.0])],
    Pair(np.array([1, 2]), 3),
    {"a": 1, "b": (2, "no")},
    Window(np.array([1, 2], np.uint32), b"x"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_other_answers_differ_and_have_the_same_types(answer: object) -> None:
    others = [*other_answers(answer, seed=1)]
    assert len(others) == 3
    for other in others:
        assert type(other) is type(answer)
        assert repr(other) != repr(answer)


@pytest.mark.parametrize(
    "statistic",
    [np.sum, np.argmax, np.ptp, lambda cells: cells[0] - cells[1], lambda cells: cells[0] > 9],
)
@pytest.mark.parametrize("seed", range(20))
def test_some_other_answer_changes_each_statistic(
    statistic: Callable[[np.ndarray], object], seed: int
) -> None:
    cells = np.random.default_rng(seed).integers(-5, 6, 8)
    changed = [statistic(other) for other in other_answers(cells, seed=seed)]
    assert {*changed} != {statistic(cells)}


def test_answers_of_an_unknown_type_are_refused() -> None:
    with pytest.raises(TypeError, match="expected numbers and texts, found object"):
        next(other_answers([object()], seed=1))


def test_a_copy_does_not_change_with_the_answer() -> None:
    answer = [np.array([1, 2])]
    copy = copy_answer(answer)
    answer[0] += 1
    assert copy[0].tolist() == [1, 2]
    generator = (number for number in range(3))
    assert copy_answer(generator) is generator  # nothing can copy it


def test_a_replayed_release_has_the_views_of_the_first() -> None:
    """With many parties some coalitions are listed only as a claim's threshold is among them."""
    figures: dict[str, Any] = {"party": 1, "budget": 1.0, "neighbours": "replace-one"}
    accountant = TapedAccountant(**figures, parties=100, threshold=50)
    replayed = ReplayedAccountant(accountant, parties=100, budget=1.0)
    for book in (accountant, replayed):
        mechanism = laplace(3, sensitivity=1, epsilon=0.5)
        book.release(mechanism, to=0, phase="count", randomness=RandomStream(b"k" * 32))
    assert "50_parties" in accountant.releases[0].seen
    assert replayed.releases == accountant.releases
