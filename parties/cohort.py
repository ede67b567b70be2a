"""A cohort: a rank that acts for many users, each of whom has one record and reports for herself.

In a deployment there is no such role: every user randomizes on her own device and sends her report
to the aggregator. A cohort makes the reports of its users (`Reports`), or, much faster, draws what
they would add up to from its exact law (`Sums`). Whichever: who is asked what follows from public
randomness and the user's number, and her words from her number alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream, UserWords
from ..privacy import UserCost
from ..privacy.binary import BinaryEncoding
from ..privacy.local import Assignment, report
from .records import Records

__all__ = [
    "Cohort",
    "Reports",
    "Sums",
    "Values",
    "Window",
    "parities",
    "public_generator",
    "tables",
]

Numbers = npt.NDArray[np.int64]
Values: TypeAlias = Callable[[Numbers, Numbers], Numbers]
"""The values that users with these rows have, for the questions that they are asked, which come in
rising order.
"""

WINDOW: Final = 1 << 19
"""Users whose reports are made and sent at a time."""


class Cohort:
    """Whose records these are: a user for each row, or, resampled, as many as `copies` says for
    each row of the whole table.
    """

    def __init__(self, records: Records, *, before: int = 0, copies: Numbers | None = None) -> None:
        """`before`: rows of the cohorts before this one, where each has a table of its own."""
        self.records = records
        self._rows = (
            np.arange(before, before + len(records)) if records.numbers is None else records.numbers
        )
        self._copies = None if copies is None else copies[self._rows]
        self._first = (
            self._rows if copies is None else np.concatenate([[0], np.cumsum(copies)])[self._rows]
        )
        self._ends = None if self._copies is None else np.cumsum(self._copies)

    def __len__(self) -> int:
        return len(self._rows) if self._ends is None else int(self._ends[-1])

    def windows(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Go through the users: their rows, and their numbers among all users of all cohorts. One
        window at least.
        """
        for start in range(0, max(len(self), 1), WINDOW):
            at = np.arange(start, min(start + WINDOW, len(self)))
            if self._copies is None or self._ends is None:
                yield at, self._first[at]
            else:
                rows = np.searchsorted(self._ends, at, side="right")
                yield rows, self._first[rows] + at - (self._ends[rows] - self._copies[rows])


class Window(NamedTuple):
    """The reports of some users of a cohort: how many to each question, packed, and how many bits
    they are.
    """

    users: npt.NDArray[np.uint32]
    packed: npt.NDArray[np.uint8]
    bits: int
    last: bool
    """Whether all of the cohort's users have reported."""


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the users of a cohort are asked, and what they would say in truth."""

    cohort: Cohort
    assignment: Assignment
    values: Values
    told: Callable[[int, int], None]
    """Is told of the progress, in users."""
    by_users: tuple[UserCost, ...] = field(kw_only=True)
    """What each group's reports add to what it has told before, where users are asked more than
    once.
    """

    delta = 0.0

    @property
    def name(self) -> str:
        return ", ".join(dict.fromkeys(own.name for own in self.assignment.randomizers))

    @property
    def epsilon(self) -> float:
        return self.assignment.epsilon

    @property
    def sensitivity(self) -> float:
        """One: a user's value is another."""
        return 1.0

    @property
    def scale(self) -> float:
        """The largest deviation of a frequency that one user's report estimates."""
        return sqrt(
            max(
                own.variance()
                for own in {id(own): own for own in self.assignment.randomizers}.values()
            )
        )

    @property
    def seen(self) -> Mapping[str, float]:
        return {}

    @property
    def whole_record(self) -> float | None:
        """What a report tells of the whole value, where epsilon is of a part of it."""
        most = max(own.local_epsilon for own in self.assignment.randomizers)
        return most if most > self.epsilon else None

    @property
    def users(self) -> tuple[int, int]:
        """The places of all who are asked: a cohort's users have some of them, and nobody twice."""
        return self.assignment.first, self.assignment.after

    def _asked(self) -> Iterator[tuple[int, Numbers, Numbers, Numbers]]:
        """Go through the users who are asked: how many were looked at, their numbers, questions in
        rising order, and values.
        """
        done = 0
        for rows, users in self.cohort.windows():
            questions = self.assignment.questions(users)
            order = np.argsort(questions, kind="stable")
            order = order[: int(np.searchsorted(questions[order], len(self.assignment.sizes)))]
            done += len(users)
            yield (
                done,
                users[order],
                questions[order],
                np.asarray(self.values(rows[order], questions[order])),
            )
            self.told(done, max(len(self.cohort), 1))


@dataclass(frozen=True, slots=True)
class Reports(_Answers):
    """Every user's report, made with words of her own."""

    words: UserWords = field(default_factory=lambda: UserWords(None))

    def draw(self, randomness: RandomStream) -> Iterator[Window]:  # noqa: ARG002 - users have their own
        for done, users, questions, values in self._asked():
            asked = np.bincount(questions, minlength=len(self.assignment.sizes))
            ends = np.concatenate([[0], np.cumsum(asked)])
            reports = [
                report(
                    own,
                    values[ends[start] : ends[stop]],
                    users=users[ends[start] : ends[stop]],
                    words=self.words,
                )
                for start, stop, own in self.assignment.alike()
            ]
            packed, bits = self.assignment.pack(reports)
            yield Window(asked.astype(np.uint32), packed, bits, done == len(self.cohort))


@dataclass(frozen=True, slots=True)
class Sums(_Answers):
    """What the reports would add up to, drawn from its law: users and support of each question.

    The noise is numpy's, not the operating system's: for experiments.
    """

    asked: Numbers | None = None
    """How many of the cohort's users are asked each question, where they are drawn anew from its
    rows.
    """

    def draw(self, randomness: RandomStream) -> tuple[Numbers, list[Numbers]]:
        generator = randomness.generator()
        if self.asked is None:
            users, counts = self._counted()
        else:
            users, counts = self.asked, self._drawn(self.asked, generator)
        return users, [
            own.simulate(c, generator)
            for own, c in zip(self.assignment.randomizers, counts, strict=True)
        ]

    def _counted(self) -> tuple[Numbers, list[Numbers]]:
        sizes = np.array([own.cells for own in self.assignment.randomizers])
        first = np.concatenate([[0], np.cumsum(sizes)])
        found = np.zeros(int(first[-1]), np.int64)
        users = np.zeros(len(sizes), np.int64)
        for _, _, questions, values in self._asked():
            found += np.bincount(first[questions] + values, minlength=len(found))
            users += np.bincount(questions, minlength=len(sizes))
        return users, np.split(found, first[1:-1])

    def _drawn(self, asked: Numbers, generator: np.random.Generator) -> list[Numbers]:
        """Draw users from the cohort's rows, each alike: what those asked a question have is
        multinomial.
        """
        drawn = []
        rows = np.arange(len(self.cohort.records))
        if int(asked.sum()) < len(rows) * len(asked):  # fewer users than rows to look at
            return self._drawn_one_by_one(asked, generator)
        for question, own in enumerate(self.assignment.randomizers):
            values = np.asarray(self.values(rows, np.full(len(rows), question)))
            drawn.append(
                generator.multinomial(
                    int(asked[question]), np.bincount(values, minlength=own.cells) / len(rows)
                )
            )
            self.told(question + 1, len(asked))
        return drawn

    def _drawn_one_by_one(self, asked: Numbers, generator: np.random.Generator) -> list[Numbers]:
        sizes = np.array([own.cells for own in self.assignment.randomizers])
        first = np.concatenate([[0], np.cumsum(sizes)])
        found = np.zeros(int(first[-1]), np.int64)
        ends = np.cumsum(asked)
        for start in range(0, int(ends[-1]), WINDOW):
            users = np.arange(start, min(start + WINDOW, int(ends[-1])))
            questions = np.searchsorted(ends, users, side="right")
            values = np.asarray(
                self.values(generator.integers(0, len(self.cohort.records), len(users)), questions)
            )
            found += np.bincount(first[questions] + values, minlength=len(found))
            self.told(int(users[-1]) + 1, int(ends[-1]))
        return np.split(found, first[1:-1])


def tables(records: Records, questions: list[tuple[str, ...]]) -> Values:
    """Answer with the cell of a marginal: question i is the marginal of `questions[i]`."""

    def values(rows: Numbers, asked: Numbers) -> Numbers:
        found = np.empty(len(rows), np.int64)
        start = 0
        for question in np.unique(asked).tolist():
            end = int(np.searchsorted(asked, question, side="right"))
            found[start:end] = records.cells(questions[question], rows[start:end])
            start = end
        return found

    return values


def parities(records: Records, questions: list[tuple[int, ...]]) -> Values:
    """Answer with whether an odd number of some bits of the record are 1; bits as
    `privacy.BinaryEncoding` writes them, by number.
    """
    columns = BinaryEncoding(records.domain).encode(
        [np.asarray(records.codes(name)) for name in records.domain.attributes]
    )
    width = -(-len(columns) // 64)
    bits = np.zeros((len(records), width), np.uint64)
    for at, column in enumerate(columns):
        bits[:, at // 64] |= column.astype(np.uint64) << np.uint64(at % 64)
    masks = np.zeros((len(questions), width), np.uint64)
    for question, chosen in enumerate(questions):
        for at in chosen:
            masks[question, at // 64] |= np.uint64(1 << at % 64)

    def values(rows: Numbers, asked: Numbers) -> Numbers:
        odd: Numbers = (np.bitwise_count(bits[rows] & masks[asked]).sum(axis=1) & 1).astype(
            np.int64
        )
        return odd

    return values


def public_generator(key: bytes, purpose: str) -> np.random.Generator:
    """Make a generator of public choices, the same for whoever has the key."""
    digest = hashlib.sha256(
        b"sottovoce public v1" + len(key).to_bytes(8, "little") + key + purpose.encode()
    ).digest()
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(digest))))
