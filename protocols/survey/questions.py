"""What users are asked, and what their reports say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...curator import Estimate, Marginal
from ...curator.shrinkage import NoisyTable
from ...messages import UsageError
from ...parties import Records
from ...parties.user_values import ValueFunction, cell_values
from ...privacy import Domain
from ...privacy.local import Randomizer
from ...privacy.local.assignment import share_out

__all__ = [
    "Answer",
    "MarginalQuestions",
    "Question",
    "QuestionKind",
    "attribute_numbers",
    "questions_by_weight",
    "read_attributes",
]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """What some users are asked: their cell of a marginal, or the parity of some of their bits."""

    attributes: tuple[str, ...]
    """Attributes of the marginal, or bits."""
    randomizer: Randomizer
    users: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reports on a question say together: how many of them support each value."""

    question: Question
    support: Counts

    def frequencies(self) -> npt.NDArray[np.float64]:
        """Estimate the share of users with each value, without bias."""
        return self.question.randomizer.estimate(self.support, users=self.question.users)

    def estimate(self, domain: Domain) -> Estimate:
        """Make a marginal of frequencies without bias.

        Its variance is the average of its cells, with that of the choice of users.
        """
        randomizer = self.question.randomizer
        variance = (randomizer.total_variance + 1) / (randomizer.cells * self.question.users)
        return Estimate(Marginal.of(domain, self.question.attributes, self.frequencies()), variance)

    def noisy(self, domain: Domain) -> NoisyTable:
        """Make a marginal of frequencies in which each cell's variance follows its frequency."""
        randomizer, users = self.question.randomizer, self.question.users
        base = randomizer.variance()
        # Given the data, a cell of frequency f has variance base + (variance(1) - base) f. The
        # choice of users adds f (1 - f), which is about f.
        slope = max(randomizer.variance(frequency=1.0) - base + 1, 0.0)
        table = Marginal.of(domain, self.question.attributes, self.frequencies())
        return NoisyTable(table, base / users, slope / users)

    def __add__(self, other: Answer) -> Answer:
        """Add the reports of other users on the same question (property 5.1 of PrivIncr)."""
        first, second = self.question, other.question
        if (first.attributes, first.randomizer.name, first.randomizer.cells) != (
            second.attributes,
            second.randomizer.name,
            second.randomizer.cells,
        ):
            raise ValueError(
                f"expected answers to one question, found {first.attributes} "
                f"and {second.attributes}"
            )
        return Answer(
            replace(first, users=first.users + second.users), self.support + other.support
        )


class QuestionKind(Protocol):
    """How questions are written in a plan, and what users answer to them."""

    def write(self, attributes: tuple[str, ...]) -> tuple[int, ...]:
        """Write a question as numbers."""
        ...

    def cells(self, question: tuple[int, ...]) -> int:
        """Count a question's cells. A malformed question is a `ValueError`."""
        ...

    def values(self, records: Records, questions: Sequence[tuple[int, ...]]) -> ValueFunction:
        """Find the true values of a cohort's users."""
        ...


@dataclass(frozen=True, slots=True)
class MarginalQuestions:
    """Questions for the cell of a marginal; a question is written as numbers of attributes."""

    domain: Domain

    def write(self, attributes: tuple[str, ...]) -> tuple[int, ...]:
        return attribute_numbers(self.domain, attributes)

    def cells(self, question: tuple[int, ...]) -> int:
        return self.domain.cells(read_attributes(self.domain, question))

    def values(self, records: Records, questions: Sequence[tuple[int, ...]]) -> ValueFunction:
        return cell_values(
            records, [read_attributes(self.domain, question) for question in questions]
        )


def questions_by_weight(
    users: int,
    weights: Mapping[tuple[str, ...], float],
    randomizer: Callable[[tuple[str, ...]], Randomizer],
) -> list[Question]:
    """Share users out over questions by weight; a question without a user is a `UsageError`."""
    sizes = share_out(users, [*weights.values()])
    if min(sizes) < 1:
        raise UsageError(
            f"expected at least a user for each of {len(sizes):,} questions, found {users:,} "
            "users: ask more users, or of fewer attributes"
        )
    return [
        Question(attributes, randomizer(attributes), size)
        for attributes, size in zip(weights, sizes, strict=True)
    ]


def attribute_numbers(domain: Domain, attributes: Sequence[str]) -> tuple[int, ...]:
    """Write attributes as their numbers in the domain."""
    return tuple(domain.attributes.index(name) for name in attributes)


def read_attributes(domain: Domain, question: tuple[int, ...]) -> tuple[str, ...]:
    """Read different attributes by number. Anything else is a `ValueError`."""
    names = domain.attributes
    if (
        not question
        or len(set(question)) < len(question)
        or not all(0 <= number < len(names) for number in question)
    ):
        raise ValueError(
            f"expected questions of different attributes below {len(names)}, found {question}"
        )
    return tuple(names[number] for number in question)
