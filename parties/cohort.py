"""A cohort: a rank that acts for many users. Each user has one record and her own report.

In a deployment there is no such role: every user randomizes on her own device, and sends her report
to the aggregator. A cohort makes the reports of its users (`CohortReports`). Or it draws their sums
from the exact distribution, which is much faster (`CohortSums`). Which user is asked what follows
from public randomness and the user's number. Her random words follow from her number alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream, UserWords
from ..messages import WorkKind, count_work
from ..privacy import UserCost
from ..privacy.exact_value import ExactValue
from ..privacy.local import Assignment, report
from ..privacy.loss import Loss
from .records import Records
from .user_values import Integers, ValueFunction

__all__ = [
    "Cohort",
    "CohortReports",
    "CohortSums",
    "Progress",
    "ReportWindow",
    "public_generator",
]

Progress: TypeAlias = Callable[[int, int], None]
"""A function that is called with the number of users done and of all users."""

WINDOW: Final = 1 << 19
"""Users whose reports are made and sent at a time."""


class Cohort:
    """The users for whom a rank acts.

    There is a user for each row. If users are drawn from the rows, `copies` has the number of users
    for each row of the whole table.
    """

    def __init__(
        self,
        records: Records,
        *,
        before: int = 0,
        copies: Integers | None = None,
        numbered: bool = True,
    ) -> None:
        """Make a cohort.

        Args:
            records: its rows.
            before: the number of rows of earlier cohorts, if each has a table of its own.
            copies: the number of users for each row of the whole table.
            numbered: whether parts of one table keep the numbers of their rows.
        """
        self.records = records
        rows = np.arange(before, before + len(records))
        self._rows = rows if records.numbers is None or not numbered else records.numbers
        self._copies = None if copies is None else copies[self._rows]
        self._first_users = (
            self._rows if copies is None else np.concatenate([[0], np.cumsum(copies)])[self._rows]
        )
        """The number of each row's first user among all users."""
        self._ends = None if self._copies is None else np.cumsum(self._copies)

    def __len__(self) -> int:
        return len(self._rows) if self._ends is None else int(self._ends[-1])

    def windows(self) -> Iterator[tuple[Integers, Integers]]:
        """List the users' rows and their numbers among all users, in windows; at least one."""
        for start in range(0, max(len(self), 1), WINDOW):
            members = np.arange(start, min(start + WINDOW, len(self)))
            if self._copies is None or self._ends is None:
                yield members, self._first_users[members]
            else:
                rows = np.searchsorted(self._ends, members, side="right")
                copies = members - (self._ends[rows] - self._copies[rows])
                yield rows, self._first_users[rows] + copies

    def exact_value(self, names: Sequence[str]) -> ExactValue:
        """Show the labels of all users in some columns, as a mechanism's exact value."""
        columns = [np.asarray(self.records.codes(name)) for name in names]
        rows = np.arange(len(self.records))
        return ExactValue.of(np.stack(columns, axis=1), rows, norm="records")


class ReportWindow(NamedTuple):
    """The reports of some users of a cohort."""

    users: npt.NDArray[np.uint32]
    """Number of users for each question."""
    packed: npt.NDArray[np.uint8]
    bits: int
    """Number of bits of all these reports."""
    last: bool
    """Whether all of the cohort's users have reported."""


@dataclass(frozen=True, slots=True)
class _SurveyMechanism:
    """The questions to the users of a cohort, and their true answers."""

    cohort: Cohort
    assignment: Assignment
    values: ValueFunction
    progress: Progress
    by_users: tuple[UserCost, ...] = field(kw_only=True)
    """The privacy loss that is added for each group, if users are asked more than once."""
    delta: float = field(default=0.0, kw_only=True)
    """Probability with which a belief, on which epsilon rests, is too small."""

    @property
    def name(self) -> str:
        return ", ".join(dict.fromkeys(r.name for _, _, r in self.assignment.alike))

    @property
    def loss(self) -> Loss:
        return Loss.pure(self.assignment.epsilon, delta=self.delta)

    @property
    def sensitivity(self) -> float:
        """1, because a neighbouring dataset has another value of one user."""
        return 1.0

    @property
    def scale(self) -> float:
        """Largest standard deviation of a frequency that is estimated from one user's report."""
        return sqrt(max(r.variance() for _, _, r in self.assignment.alike))

    @property
    def seen(self) -> Mapping[str, Loss]:
        return {}

    @property
    def whole_record(self) -> float | None:
        """Privacy loss of the whole value, if epsilon is of a part of it."""
        largest = max(r.local_epsilon for _, _, r in self.assignment.alike)
        return largest if largest > self.assignment.epsilon else None

    @property
    def users(self) -> tuple[int, int]:
        """The places of all users who are asked. No user of a cohort has two of them."""
        return self.assignment.first, self.assignment.after

    def exact_value(self) -> ExactValue:
        """Show the true answers of all users who are asked, and whose record each is."""
        windows = [*replace(self, progress=lambda _done, _of: None).answers()]
        return ExactValue.of(
            np.concatenate([window.values for window in windows]),
            np.concatenate([window.rows for window in windows]),
            norm="records",
        )

    def answers(self) -> Iterator[Answers]:
        """List the answers of the users who are asked, window by window."""
        done = 0
        for rows, users in self.cohort.windows():
            questions = self.assignment.questions(users)
            order = np.argsort(questions, kind="stable")
            order = order[: int(np.searchsorted(questions[order], len(self.assignment.sizes)))]
            done += len(users)
            values = np.asarray(self.values(rows[order], questions[order]))
            yield Answers(done, rows[order], users[order], questions[order], values)
            self.progress(done, max(len(self.cohort), 1))


class Answers(NamedTuple):
    """The true answers of some users."""

    done: int
    """Number of users so far, including those who are not asked."""
    rows: Integers
    """The record of each user who is asked."""
    users: Integers
    questions: Integers
    """In rising order."""
    values: Integers


@dataclass(frozen=True, slots=True)
class CohortReports(_SurveyMechanism):
    """Every user's report, made with her own random words."""

    words: UserWords = field(default_factory=lambda: UserWords(None))

    def draw(self, randomness: RandomStream) -> Iterator[ReportWindow]:  # noqa: ARG002 - users have their own
        for answers in self.answers():
            counts = np.bincount(answers.questions, minlength=len(self.assignment.sizes))
            ends = np.concatenate([[0], np.cumsum(counts)])
            reports = []
            for first, after, randomizer in self.assignment.alike:
                part = slice(ends[first], ends[after])
                reports.append(
                    report(
                        randomizer,
                        answers.values[part],
                        users=answers.users[part],
                        words=self.words,
                    )
                )
            count_work(WorkKind.REPORT, len(answers.users))
            packed, bits = self.assignment.pack(reports)
            is_last = answers.done == len(self.cohort)
            yield ReportWindow(counts.astype(np.uint32), packed, bits, is_last)


@dataclass(frozen=True, slots=True)
class CohortSums(_SurveyMechanism):
    """The sums of the reports, drawn from their distribution: users and support of each question.

    The supports follow one another. The noise is numpy's and not the operating system's, so this is
    for experiments.
    """

    users_drawn: Integers | None = None
    """Number of the cohort's users for each question, if users are drawn from its rows."""

    def draw(self, randomness: RandomStream) -> tuple[Integers, Integers]:
        generator = randomness.generator()
        if self.users_drawn is None:
            users, counts = self._count_users()
        else:
            users, counts = self.users_drawn, self._draw_users(self.users_drawn, generator)
        starts = self.assignment.cell_starts
        supports = []
        for first, after, randomizer in self.assignment.alike:
            # Fourier coefficients are hundreds of thousands of questions with one randomizer.
            groups = counts[starts[first] : starts[after]].reshape(-1, randomizer.cells)
            supports.append(randomizer.simulate_groups(groups, generator).reshape(-1))
        return users, np.concatenate(supports)

    def _count_users(self) -> tuple[Integers, Integers]:
        """Count users by question, and their values."""
        starts = self.assignment.cell_starts
        counts = np.zeros(int(starts[-1]), np.int64)
        users = np.zeros(len(self.assignment.sizes), np.int64)
        for answers in self.answers():
            cells = starts[answers.questions] + answers.values
            counts += np.bincount(cells, minlength=len(counts))
            users += np.bincount(answers.questions, minlength=len(users))
        return users, counts

    def _draw_users(self, sizes: Integers, generator: np.random.Generator) -> Integers:
        """Draw users from the cohort's rows, and count their values.

        The counts for a question are multinomial.
        """
        rows = np.arange(len(self.cohort.records))
        if int(sizes.sum()) < len(rows) * len(sizes):  # fewer users than rows to look at
            return self._draw_each_user(sizes, generator)
        counts = []
        for question, randomizer in enumerate(self.assignment.randomizers):
            values = np.asarray(self.values(rows, np.full(len(rows), question)))
            shares = np.bincount(values, minlength=randomizer.cells) / len(rows)
            counts.append(generator.multinomial(int(sizes[question]), shares))
            self.progress(question + 1, len(sizes))
        return np.concatenate(counts)

    def _draw_each_user(self, sizes: Integers, generator: np.random.Generator) -> Integers:
        starts = self.assignment.cell_starts
        counts = np.zeros(int(starts[-1]), np.int64)
        ends = np.cumsum(sizes)
        for start in range(0, int(ends[-1]), WINDOW):
            users = np.arange(start, min(start + WINDOW, int(ends[-1])))
            questions = np.searchsorted(ends, users, side="right")
            rows = generator.integers(0, len(self.cohort.records), len(users))
            values = np.asarray(self.values(rows, questions))
            counts += np.bincount(starts[questions] + values, minlength=len(counts))
            self.progress(int(users[-1]) + 1, int(ends[-1]))
        return counts


def public_generator(key: bytes, purpose: str) -> np.random.Generator:
    """Make a generator of public choices, which is the same for all who have the key."""
    prefix = b"sottovoce public v1" + len(key).to_bytes(8, "little") + key
    digest = hashlib.sha256(prefix + purpose.encode()).digest()
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(digest))))
