"""The curator's side of a survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import MessageError, Private
from ...privacy.local import Assignment
from ..protocol import UserTraffic
from .messages import KEY_BYTES, MAX_ROWS, SurveyMessages
from .options import SurveyOptions
from .questions import Answer, Question, QuestionKind

__all__ = ["CuratorPlan", "CuratorSurvey", "ReportBatch"]

Counts = npt.NDArray[np.int64]
MessageT = TypeVar("MessageT")
ContentT = TypeVar("ContentT")


@dataclass(frozen=True, slots=True)
class CuratorPlan:
    """A round for the curator: which users are asked which question."""

    assignment: Assignment
    questions: tuple[Question, ...]


class ReportBatch(NamedTuple, Generic[ContentT]):
    """One message of a cohort: the users of each question, the content, whether it is the last."""

    users: Counts
    content: ContentT
    last: bool


class CuratorSurvey:
    """The curator's side of a survey: it opens the survey, then plans rounds and collects reports.

    Args:
        desk: the curator, within the phase in which the survey is opened.
        options: the parameters of the survey.
    """

    def __init__(self, desk: Curator, options: SurveyOptions) -> None:
        self._desk, self._options = desk, options
        cohorts = desk.gather(SurveyMessages.Present)
        rows = np.array([cohort.rows for cohort in cohorts], np.int64)
        numbered = {cohort.numbered for cohort in cohorts}
        if rows.min() < 1 or rows.max() > MAX_ROWS or len(numbered) > 1:
            raise MessageError(
                "expected cohorts of 1 to 2^40 rows, numbered alike, found ",
                Private(rows.tolist()),
                where=desk.where,
            )
        self.users = options.users or int(rows.sum())
        """Number of users of all cohorts."""
        self.key = desk.randomness("survey").draw(KEY_BYTES)
        """Public key of the order in which users are asked."""
        self._assignments: list[Assignment] = []
        desk.broadcast(SurveyMessages.Opening(rows, self.users, self.key))

    @property
    def remaining(self) -> int:
        """Number of users who come after all that were asked."""
        return self.users - self._next

    @property
    def traffic(self) -> UserTraffic:
        """What users send, by formula: the ledger is compared with it."""
        groups = [
            (randomizer.bits, users)
            for assignment in self._assignments
            for randomizer, users in zip(
                assignment.randomizers, assignment.sizes.tolist(), strict=True
            )
            if users
        ]
        sizes = [bits for bits, _ in groups]
        return UserTraffic(
            users=self.users,
            reports=sum(assignment.asked for assignment in self._assignments),
            bits=sum(assignment.bits for assignment in self._assignments),
            least=min(sizes),
            most=max(sizes),
            simulate=self._options.simulate,
            smallest_group=min(users for _, users in groups),
        )

    def traffic_of_reports(self, bits: int) -> UserTraffic:
        """What users send if each of them sends one report of so many bits."""
        return UserTraffic(
            users=self.users,
            reports=self.users,
            bits=self.users * bits,
            least=bits,
            most=bits,
            simulate="reports",
            smallest_group=self.users,
        )

    def plan(self, questions: Sequence[Question], kind: QuestionKind) -> CuratorPlan | None:
        """Announce a round. The order of the questions is kept; without one nobody is asked."""
        self._desk.broadcast(
            SurveyMessages.Plan(
                tuple(kind.write(question.attributes) for question in questions),
                tuple(question.randomizer.name for question in questions),
                np.array([question.users for question in questions], np.int64),
            )
        )
        return self.assign(questions) if questions else None

    def assign(
        self, questions: Sequence[Question], *, starts: Sequence[int] | None = None
    ) -> CuratorPlan:
        """Assign users to the questions of a round that has been announced.

        `starts` holds the place of each question's first user. Without it users follow those who
        were asked before.
        """
        assignment = Assignment(
            self.users,
            self.key,
            tuple(question.randomizer for question in questions),
            np.array([question.users for question in questions], np.int64),
            self._next if starts is None else starts[0],
            None if starts is None else np.array(starts, np.int64),
        )
        self._assignments.append(assignment)
        return CuratorPlan(assignment, tuple(questions))

    def collect(self, plan: CuratorPlan | None) -> list[Answer]:
        """Receive and count the reports of a round."""
        if plan is None:
            return []
        assignment = plan.assignment
        if self._options.simulate == "counts":
            batches = self.receive(
                SurveyMessages.Sums, partial(_read_sums, assignment), sizes=assignment.sizes
            )
        else:
            batches = self.receive(
                SurveyMessages.Reports, partial(_read_reports, assignment), sizes=assignment.sizes
            )
        supports = [np.zeros(randomizer.cells, np.int64) for randomizer in assignment.randomizers]
        for batch in batches:
            supports = [sums + more for sums, more in zip(supports, batch, strict=True)]
        return [
            Answer(question, support)
            for question, support in zip(plan.questions, supports, strict=True)
        ]

    def receive(
        self,
        kind: type[MessageT],
        read: Callable[[MessageT], ReportBatch[ContentT]],
        *,
        sizes: Counts,
    ) -> Iterator[ContentT]:
        """Receive reports from all cohorts in turn, until each has sent its last.

        `read` refuses a malformed message by a `ValueError`. `sizes` holds the planned number of
        users of each question; reports of other numbers of users end the run.
        """
        desk, planned = self._desk, int(sizes.sum())
        users = np.zeros(len(sizes), np.int64)
        cohorts = [*desk.parties]
        while cohorts:
            for rank in [*cohorts]:
                message = desk.receive(kind, source=rank)
                try:
                    batch = read(message)
                except ValueError as error:
                    raise MessageError(
                        f"malformed reports from cohort {rank}: ",
                        Private(error),
                        where=desk.where,
                    ) from None
                users += batch.users
                if (users > sizes).any():
                    raise MessageError(
                        f"expected at most as many users as planned, found more from cohort {rank}",
                        where=desk.where,
                    )
                desk.progress(float(users.sum()), of=planned)
                if batch.last:
                    cohorts.remove(rank)
                yield batch.content
        if (users != sizes).any():
            raise MessageError(
                f"expected {planned} users to report as planned, found ",
                Private(users.sum()),
                where=desk.where,
            )

    @property
    def _next(self) -> int:
        """Place of the first user who has not been asked."""
        return self._assignments[-1].after if self._assignments else 0


def _read_reports(
    assignment: Assignment, message: SurveyMessages.Reports
) -> ReportBatch[list[Counts]]:
    """Count the support of each question in packed reports."""
    users = message.users.astype(np.int64)
    supports = assignment.unpack(message.packed, users)
    bits = sum(
        randomizer.bits * reports
        for randomizer, reports in zip(assignment.randomizers, users.tolist(), strict=True)
    )
    if message.bits != bits or not (users.any() or message.last):
        raise ValueError(f"expected {bits} bits of {users.sum()} users, found {message.bits}")
    return ReportBatch(users, supports, message.last)


def _read_sums(assignment: Assignment, message: SurveyMessages.Sums) -> ReportBatch[list[Counts]]:
    """Read the sums of a cohort's reports."""
    users, support = message.users, message.support
    ends = np.cumsum([randomizer.cells for randomizer in assignment.randomizers])
    if len(support) != ends[-1] or len(users) != len(ends) or users.min() < 0:
        raise ValueError(
            f"expected {ends[-1]} counts of users for {len(ends)} questions, found {len(support)}"
        )
    supports = np.split(support, ends[:-1])
    if any(
        counts.min() < 0 or counts.max() > most
        for counts, most in zip(supports, users.tolist(), strict=True)
    ):
        raise ValueError(
            "expected at most as many users to support a value as there are, found more"
        )
    return ReportBatch(users, supports, last=True)
