"""Other answers of releases: everything that a part may compute from an answer changes. What a
replayed release records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.privacy import laplace
from sottovoce.privacy.answers import copy_answer, other_answers
from sottovoce.privacy.taping import ExtraRelease, ReplayedAccountant, TapedAccountant


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


def test_a_replayed_release_has_the_part_the_phase_and_the_receiver_of_the_first() -> None:
    accountant = TapedAccountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    replayed = ReplayedAccountant(accountant, parties=2, budget=1.0)
    answers = []
    for book, count in ((accountant, 3), (replayed, 4)):
        _, second = book.partition(["even", "odd"], by_value=True)
        mechanism = laplace(count, sensitivity=1, epsilon=0.5)
        stream = RandomStream(b"k" * 32)
        answers.append(book.release(mechanism, to=2, phase="odd", randomness=stream, part=second))
    assert answers[0] == answers[1]
    assert replayed.releases == accountant.releases
    (pair,) = replayed.pairs
    assert (pair.part, pair.phase, pair.to, pair.users) == (second, "odd", 2, None)
    values = [getattr(mechanism, "value") for mechanism in (pair.first, pair.second)]  # noqa: B009
    assert values == [3, 4]


def test_a_replayed_release_has_the_users_of_the_first() -> None:
    figures: dict[str, Any] = {"neighbours": "replace-one", "budget_of": "user", "party": 1}
    accountant = TapedAccountant(**figures, parties=2, budget=1.0)
    replayed = ReplayedAccountant(accountant, parties=2, budget=1.0)
    for book in (accountant, replayed):
        for users in ((0, 5), (5, 9)):  # each spends the whole budget, of other users
            mechanism = laplace(3, sensitivity=1, epsilon=1.0)
            stream = RandomStream(b"k" * 32)
            book.release(mechanism, to=0, phase="p", randomness=stream, users=users)
    assert replayed.releases == accountant.releases
    assert [pair.users for pair in replayed.pairs] == [(0, 5), (5, 9)]


def test_a_release_beyond_the_tape_ends_the_replay_and_draws_nothing() -> None:
    accountant = TapedAccountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    replayed = ReplayedAccountant(accountant, parties=2, budget=1.0)
    mechanism = laplace(3, sensitivity=1, epsilon=0.5)
    with pytest.raises(ExtraRelease):
        replayed.release(mechanism, to=0, phase="p", randomness=RandomStream(b"k" * 32))
    assert replayed.exceeded
    assert not replayed.releases
