"""The curator's side of a survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...curator.desk import lost_text
from ...messages import MessageError, PeerLostError, Private
from ...privacy.local import Assignment, Randomizer
from ..outcome import UserTraffic
from .messages import KEY_BYTES, MAX_ROWS, SurveyMessages
from .options import SurveyOptions
from .questions import Answer, Question, QuestionKind
from .reading import ReportBatch, read_reports, read_sums

__all__ = ["CuratorPlan", "CuratorSurvey"]

Counts = npt.NDArray[np.int64]
MessageT = TypeVar("MessageT")
ContentT = TypeVar("ContentT")


@dataclass(frozen=True, slots=True)
class CuratorPlan:
    """A round for the curator: which users are asked which question."""

    assignment: Assignment
    questions: tuple[Question, ...]


class CuratorSurvey:
    """The curator's side of a survey: it opens the survey, then plans rounds and collects reports.

    Args:
        desk: the curator, within the phase in which the survey is opened.
        options: the parameters of the survey.
    """

    def __init__(self, desk: Curator, options: SurveyOptions) -> None:
        self._desk, self._options = desk, options
        cohorts = desk.gather_living(SurveyMessages.Present, sources=desk.parties)
        desk.require_enough(cohorts, consequence="no user has reported")
        present = [cohort.rows for cohort in cohorts.values()]
        numbered = {cohort.numbered for cohort in cohorts.values()}
        if min(present) < 1 or max(present) > MAX_ROWS or len(numbered) > 1:
            raise MessageError(
                "expected cohorts of 1 to 2^40 rows, numbered alike, found ",
                Private(present),
                where=desk.where,
            )
        # A cohort that was lost before it sent its number of rows is one without any.
        rows = np.array(
            [cohorts[party].rows if party in cohorts else 0 for party in desk.parties], np.int64
        )
        self._rows = rows
        self._reporting = [*cohorts]
        self._sizes: list[Counts] = []
        self.users = options.users or int(rows.sum())
        """Number of users of all cohorts, also of those that are lost before they report."""
        self.key = desk.randomness("survey").draw(KEY_BYTES)
        """Public key of the order in which users are asked."""
        self._assignments: list[Assignment] = []
        desk.broadcast(SurveyMessages.Opening(rows, self.users, self.key))

    @property
    def remaining(self) -> int:
        """Number of users who come after all that were asked."""
        return self.users - self._next

    @property
    def reporting(self) -> int:
        """Number of users of the cohorts whose reports of the last round have arrived.

        In a run in which nobody is lost these are all users.
        """
        rows = int(sum(self._rows[party - 1] for party in self._reporting))
        return round(self.users * rows / int(self._rows.sum()))

    @property
    def sizes(self) -> Counts:
        """The users of each question in the last round whose reports count."""
        return self._sizes[-1]

    @property
    def traffic(self) -> UserTraffic:
        """What users send, by formula: the ledger is compared with it.

        Reports of a cohort that was lost in the middle of them do not count.
        """
        planned = [assignment.sizes for assignment in self._assignments[len(self._sizes) :]]
        groups = [
            (randomizer.bits, asked)
            for assignment, sizes in zip(self._assignments, [*self._sizes, *planned], strict=True)
            for start, stop, randomizer in assignment.alike
            if (asked := sizes[start:stop][sizes[start:stop] > 0]).size
        ]
        sizes_of_reports = [bits for bits, _ in groups]
        return UserTraffic(
            users=self.users,
            reports=sum(int(asked.sum()) for _, asked in groups),
            bits=sum(bits * int(asked.sum()) for bits, asked in groups),
            least=min(sizes_of_reports),
            most=max(sizes_of_reports),
            simulate=self._options.simulate,
            smallest_group=min(int(asked.min()) for _, asked in groups),
        )

    def traffic_of_reports(self, bits: int) -> UserTraffic:
        """What users send if each of them sends one report of so many bits."""
        reports = int(self.sizes.sum()) if self._sizes else self.users
        return UserTraffic(
            users=self.users,
            reports=reports,
            bits=reports * bits,
            least=bits,
            most=bits,
            simulate="reports",
            smallest_group=reports,
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
        randomizers = tuple(question.randomizer for question in questions)
        sizes = np.array([question.users for question in questions], np.int64)
        return CuratorPlan(self.assign_groups(randomizers, sizes, starts=starts), tuple(questions))

    def assign_groups(
        self,
        randomizers: tuple[Randomizer, ...],
        sizes: Counts,
        *,
        starts: Sequence[int] | None = None,
    ) -> Assignment:
        """Assign users to groups, each with a randomizer and a number of users."""
        assignment = Assignment(
            self.users,
            self.key,
            randomizers,
            sizes,
            self._next if starts is None else starts[0],
            None if starts is None else np.array(starts, np.int64),
        )
        self._assignments.append(assignment)
        return assignment

    def collect(self, plan: CuratorPlan | None) -> list[Answer]:
        """Receive and count the reports of a round."""
        if plan is None:
            return []
        ends = plan.assignment.cell_starts[1:]
        supports = np.split(self.count(plan.assignment), ends[:-1])
        return [
            Answer(question if users == question.users else replace(question, users=users), support)
            for question, users, support in zip(
                plan.questions, self.sizes.tolist(), supports, strict=True
            )
        ]

    def count(self, assignment: Assignment) -> Counts:
        """Receive the reports of a round, and count their support; the groups' follow one another.

        `sizes` then has the number of users in each group.
        """
        if self._options.simulate == "counts":
            batches = self.receive(
                SurveyMessages.Sums, partial(read_sums, assignment), sizes=assignment.sizes
            )
        else:
            batches = self.receive(
                SurveyMessages.Reports, partial(read_reports, assignment), sizes=assignment.sizes
            )
        support = np.zeros(int(assignment.cell_starts[-1]), np.int64)
        for batch in batches:
            support += batch
        return support

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

        If a cohort is lost before its last message, where the run may go on, none of its reports of
        the round counts: those that arrived are of some of the questions, and tables of different
        people do not fit together. So reports are held back there until their cohort has sent all.

        Raises:
            PeerLostError: too few cohorts are left, or nobody is left who was asked a question.
        """
        desk, planned = self._desk, int(sizes.sum())
        users = {rank: np.zeros(len(sizes), np.int64) for rank in desk.parties}
        held: dict[int, list[ContentT]] = {rank: [] for rank in desk.parties}
        cohorts = [*desk.parties]
        while cohorts:
            for rank in [*cohorts]:
                message = desk.gather_living(kind, sources=[rank]).get(rank)
                if message is None:
                    cohorts.remove(rank)
                    del users[rank], held[rank]
                    continue
                batch = self._read(message, read, rank=rank)
                users[rank] += batch.users
                counted: Counts = sum(users.values(), start=np.zeros(len(sizes), np.int64))
                if (counted > sizes).any():
                    raise MessageError(
                        f"expected at most as many users as planned, found more from cohort {rank}",
                        where=desk.where,
                    )
                desk.progress(float(counted.sum()), of=planned)
                if batch.last:
                    cohorts.remove(rank)
                if desk.min_parties is None:
                    yield batch.content
                else:
                    held[rank].append(batch.content)
        self._end_round(users, sizes)
        for contents in held.values():
            yield from contents

    def _read(
        self, message: MessageT, read: Callable[[MessageT], ReportBatch[ContentT]], *, rank: int
    ) -> ReportBatch[ContentT]:
        try:
            return read(message)
        except ValueError as error:
            raise MessageError(
                f"malformed reports from cohort {rank}: ", Private(error), where=self._desk.where
            ) from None

    def _end_round(self, users: Mapping[int, Counts], sizes: Counts) -> None:
        """Note whose reports count, and refuse others than were planned."""
        desk = self._desk
        counted: Counts = sum(users.values(), start=np.zeros(len(sizes), np.int64))
        if not desk.lost and (counted != sizes).any():
            raise MessageError(
                f"expected {int(sizes.sum())} users to report as planned, found ",
                Private(counted.sum()),
                where=desk.where,
            )
        rows = [int(self._rows[rank - 1]) for rank in users]
        desk.note_batch("reports", members=[*users], rows=rows)
        if (counted[sizes > 0] == 0).any():
            raise PeerLostError(
                "expected reports on every question, found one of which only users of lost "
                f"parties were asked: {lost_text(desk.lost)} lost; ask fewer questions, or more "
                "users",
                where=desk.where,
            )
        self._reporting = [*users]
        self._sizes.append(counted)

    @property
    def _next(self) -> int:
        """Place of the first user who has not been asked."""
        return self._assignments[-1].after if self._assignments else 0
