"""Another author's mechanism on exact values that no table had: what it loses there is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.evaluation.value_pairs import TABLES, value_pairs
from sottovoce.privacy.exact_value import ExactValue
from sottovoce.privacy.loss import Loss
from sottovoce.privacy.taping import ReleasePair

ONE_MOVES = np.array([20, 35, 18]), np.array([21, 34, 18])


@dataclass
class Choice:
    """The exponential mechanism on scores; right with a factor of 2."""

    scores: npt.NDArray[np.int64]
    factor: float = 2.0

    name = "choice"
    sensitivity = 1.0
    scale = 1.0
    loss = Loss.pure(1.0)
    seen: Any = None
    by_users = ()
    whole_record = None

    def probabilities(self) -> npt.NDArray[np.float64]:
        weights = np.exp((self.scores - self.scores.max()) / self.factor)
        return np.asarray(weights / weights.sum())

    def exact_value(self) -> ExactValue:
        return ExactValue.of(self.scores, norm="max")

    def draw(self, randomness: RandomStream) -> int:
        return int(randomness.generator().choice(3, p=self.probabilities()))


@dataclass(frozen=True)
class Count:
    """A count, frozen as the project's own mechanisms are."""

    count: int

    name = "count"
    sensitivity = 1.0
    scale = 1.0

    def exact_value(self) -> ExactValue:
        return ExactValue.of([self.count], norm="L1")

    def draw(self, randomness: RandomStream) -> int:
        return self.count


class Remembers(Choice):
    """It keeps the sum beside its scores, so other scores would not fit."""

    def __init__(self, scores: npt.NDArray[np.int64]) -> None:
        super().__init__(scores)
        self.largest = scores.max()


def pair_of(first: Any, second: Any) -> ReleasePair:
    return ReleasePair(first, second, 0, None, (), "choice", 0)


def largest_loss(pairs: list[ReleasePair]) -> float:
    """Give the largest loss of an answer that is not too rare to be seen."""
    losses = []
    for pair in pairs:
        first, second = (each.probabilities() for each in (pair.first, pair.second))  # type: ignore[union-attr]
        is_frequent = np.maximum(first, second) > 0.02
        losses.append(np.abs(np.log(first / second))[is_frequent].max())
    return float(max(losses))


@pytest.mark.parametrize(("factor", "loses"), [(2.0, False), (1.0, True)])
def test_a_choice_loses_most_where_the_leader_is_closely_followed(
    factor: float, loses: bool
) -> None:
    """On the tables the leader is far ahead, and the others are hardly chosen."""
    seen = pair_of(*(Choice(scores, factor) for scores in ONE_MOVES))
    assert largest_loss([seen]) < 0.05
    pairs = [*value_pairs([seen], [])]
    assert {pair.tables for pair in pairs} == {TABLES}
    largest = largest_loss(pairs)
    assert largest > 1.5 if loses else largest <= 1.0


def test_the_change_is_one_that_tables_showed() -> None:
    seen = pair_of(*map(Choice, ONE_MOVES))
    for pair in value_pairs([seen, seen], []):
        first, second = (
            np.asarray(mechanism.exact_value().parts[0])  # type: ignore[union-attr]
            for mechanism in (pair.first, pair.second)
        )
        assert (second - first).tolist() == [1, -1, 0]
    # The party's own mechanisms stay as they are.
    assert seen.first.exact_value().parts[0].tolist() == [20, 35, 18]  # type: ignore[union-attr]


def test_a_number_is_put_near_those_that_the_program_names() -> None:
    pairs = value_pairs([pair_of(Count(3), Count(4))], ["sex", 2500, 0.25])
    values = {
        tuple(int(mechanism.exact_value().parts[0][0]) for mechanism in (pair.first, pair.second))  # type: ignore[union-attr]
        for pair in pairs
    }
    assert values == {(2499, 2500), (2500, 2501), (2501, 2502)}


def test_nothing_is_put_beside_what_follows_from_the_value() -> None:
    assert [*value_pairs([pair_of(*map(Remembers, (ONE_MOVES[0], ONE_MOVES[1] + 5)))], [])] == []
    same = pair_of(Choice(ONE_MOVES[0]), Choice(ONE_MOVES[0]))
    assert [*value_pairs([same], [1, 2])] == []


def test_no_count_is_put_below_0() -> None:
    """A mechanism may take a count for the row of a matrix, and -1 would be its last row."""
    upwards = [*value_pairs([pair_of(Count(0), Count(1))], [0, 5])]
    downwards = [*value_pairs([pair_of(Count(1), Count(0))], [0, 5])]
    for pair in [*upwards, *downwards]:
        assert min(pair.first.count, pair.second.count) >= 0  # type: ignore[union-attr]
    assert [pair.first.count for pair in upwards] == [0, 1, 4, 5, 6]  # type: ignore[union-attr]


@dataclass
class CountOfOne:
    """A count whose epsilon, scale and sensitivity are 1, as the count may be."""

    count: int
    epsilon: int = 1
    scale: float = 1.0
    sensitivity: float = 1.0

    name = "count"
    loss = Loss.pure(1.0)
    seen: Any = None
    by_users = ()
    whole_record = None

    def exact_value(self) -> ExactValue:
        return ExactValue.of([self.count], norm="L1")

    def draw(self, randomness: RandomStream) -> int:
        return self.count


@pytest.mark.parametrize("counts", [(1, 2), (2, 1), (0, 1)])
def test_an_epsilon_that_equals_the_count_stays(counts: tuple[int, int]) -> None:
    first, second = map(CountOfOne, counts)
    pair = ReleasePair(first, second, 0, None, (), "answer", 0)
    copies = [*value_pairs([pair], [40])]
    assert len(copies) == 3
    for copied in copies:
        assert isinstance(copied.first, CountOfOne)
        assert isinstance(copied.second, CountOfOne)
        for mechanism in (copied.first, copied.second):
            assert (mechanism.epsilon, mechanism.scale, mechanism.sensitivity) == (1, 1.0, 1.0)
        assert copied.second.count - copied.first.count == counts[1] - counts[0]
