"""A cohort's side of a survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ...crypto import UserWords
from ...messages import CURATOR, MessageError, Private, UsageError
from ...parties import Party
from ...parties.cohort import (
    Cohort,
    CohortReports,
    CohortSums,
    ReportWindow,
    public_generator,
)
from ...parties.user_values import ValueFunction
from ...privacy import Mechanism, UserCost
from ...privacy.local import Assignment, Randomizer
from ...privacy.local.randomizer import Counts
from .messages import MAX_ROWS, SurveyMessages
from .options import SurveyOptions
from .questions import QuestionKind

__all__ = ["CohortPlan", "PartySurvey", "UserReports"]

MessageT = TypeVar("MessageT")
PlanT = TypeVar("PlanT")


class UserReports(Mechanism[Iterator[ReportWindow]], Protocol):
    """The reports of a cohort's users, made window by window."""

    @property
    def users(self) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class CohortPlan:
    """A round for a cohort: which users are asked which question, and the users' true values."""

    assignment: Assignment
    values: ValueFunction
    costs: tuple[UserCost, ...] = ()
    """What the round adds to the privacy loss of each group, where users are asked again."""
    delta: float = 0.0
    """Probability with which the round's epsilon may not hold for a user."""


class PartySurvey:
    """A cohort's side of a survey: it opens the survey, then takes part in its rounds.

    A cohort refuses every plan that its own parameters do not allow: a larger epsilon, another
    randomizer, or more users than there are.

    Args:
        me: the party, within the phase in which the survey is opened.
        options: the parameters of the survey.
    """

    def __init__(self, me: Party, options: SurveyOptions) -> None:
        self._me, self._options = me, options
        records = me.records
        me.send(SurveyMessages.Present(len(records), records.numbers is not None), to=CURATOR)
        opening = me.receive(SurveyMessages.Opening, source=CURATOR)
        self.users = options.users or sum(opening.rows.tolist())
        """Number of users of all cohorts."""
        try:
            _check_opening(opening, me, users=self.users)
        except ValueError as error:
            raise MessageError(
                "malformed Opening from the curator: ", Private(error), where=me.where
            ) from None
        self.key = opening.key
        """Public key of the order in which users are asked."""
        self._rows = opening.rows
        self._next = 0  # place of the first user who has not been asked
        copies = None
        if options.users and options.simulate == "reports":
            rows = int(opening.rows.sum())
            generator = public_generator(opening.key, "users")
            copies = generator.multinomial(self.users, np.full(rows, 1 / rows))
        self.cohort = Cohort(
            records,
            before=int(opening.rows[: me.number - 1].sum()),
            copies=copies,
            # Where a cohort is missing the numbers of one table's rows would leave gaps.
            numbered=bool(opening.rows.min()),
        )
        """The users for whom this party acts."""

    def plan(
        self, kind: QuestionKind, *, randomizer: Callable[[int], Randomizer]
    ) -> CohortPlan | None:
        """Receive a round's plan, and check it. `None` means that the round asks nobody.

        `randomizer` chooses the randomizer for a question of so many cells. The plan cannot choose
        another.
        """

        def check(plan: SurveyMessages.Plan) -> CohortPlan | None:
            if not (plan.questions or plan.randomizers or len(plan.sizes)):
                return None
            randomizers = _check_randomizers(plan, kind=kind, randomizer=randomizer)
            values = kind.values(self._me.records, plan.questions)
            return self.assign(randomizers, plan.sizes, values)

        return self.receive(SurveyMessages.Plan, check)

    def assign(
        self, randomizers: tuple[Randomizer, ...], sizes: Counts, values: ValueFunction
    ) -> CohortPlan:
        """Assign users to groups, each with a randomizer and a number of users.

        Sizes that cannot be are a `ValueError`.
        """
        assignment = Assignment(self.users, self.key, randomizers, sizes, self._next)
        return CohortPlan(assignment, values)

    def receive(self, kind: type[MessageT], check: Callable[[MessageT], PlanT]) -> PlanT:
        """Receive what the curator asks for; `check` refuses it by a `ValueError`."""
        request = self._me.receive(kind, source=CURATOR)
        try:
            return check(request)
        except (ValueError, UsageError) as error:
            raise MessageError(
                f"malformed {kind.__name__} from the curator: ",
                Private(error),
                where=self._me.where,
            ) from None

    def answer(self, plan: CohortPlan | None) -> None:
        """Let the cohort's users report, or send the sums of their reports."""
        if plan is None:
            return
        self._next = plan.assignment.after
        if self._options.simulate == "counts":
            self._answer_by_sums(plan)
            return
        reports = CohortReports(
            self.cohort,
            plan.assignment,
            plan.values,
            self.progress,
            self.words(),
            by_users=plan.costs,
            delta=plan.delta,
        )
        self.send(
            reports,
            lambda window: SurveyMessages.Reports(
                window.users, window.bits, window.packed, window.last
            ),
        )

    def send(self, reports: UserReports, write: Callable[[ReportWindow], object]) -> None:
        """Release the reports of the cohort's users, and send them window by window."""
        for window in self._me.release(reports, to=CURATOR, users=reports.users):
            self._me.send(write(window), to=CURATOR)

    def words(self) -> UserWords:
        """Find the random words of the users' next reports.

        All cohorts have made the same number of releases. So no two rounds of a run share words.
        """
        return self._me.words_of_users(f"release {len(self._me.accountant.releases)}")

    def progress(self, done: int, of: int) -> None:
        """Show how many of the cohort's users have reported."""
        self._me.progress(done, of=of)

    def _answer_by_sums(self, plan: CohortPlan) -> None:
        me, assignment, sizes = self._me, plan.assignment, None
        if self._options.users:
            generator = public_generator(self.key, f"cohorts from {assignment.first}")
            shares = self._rows / self._rows.sum()
            sizes = generator.multinomial(assignment.sizes, shares)[:, me.number - 1]
        sums = CohortSums(
            self.cohort,
            assignment,
            plan.values,
            self.progress,
            sizes,
            by_users=plan.costs,
            delta=plan.delta,
        )
        users, support = me.release(sums, to=CURATOR, users=sums.users)
        me.send(SurveyMessages.Sums(users, support), to=CURATOR)


def _check_opening(opening: SurveyMessages.Opening, me: Party, *, users: int) -> None:
    rows = opening.rows.tolist()
    if len(rows) != len(me.parties) or rows[me.number - 1] != len(me.records):
        raise ValueError(
            f"expected {len(me.records)} rows of cohort {me.number}, found another number"
        )
    least = 1 if me.min_parties is None else 0  # a cohort without rows was lost
    if min(rows) < least or sum(rows) > MAX_ROWS:
        raise ValueError("expected cohorts of at least one row, found others")
    numbers = me.records.numbers
    if numbers is not None and min(rows) and int(numbers.max()) >= sum(rows):
        raise ValueError(f"expected more rows than {numbers.max()} in all, found {sum(rows)}")
    if opening.users != users:
        raise ValueError(f"expected {users} users, found {opening.users}")


def _check_randomizers(
    plan: SurveyMessages.Plan,
    *,
    kind: QuestionKind,
    randomizer: Callable[[int], Randomizer],
) -> tuple[Randomizer, ...]:
    """Make the randomizers that this cohort's parameters demand, and compare the plan with them."""
    if len(plan.questions) != len(plan.randomizers):
        raise ValueError(
            f"expected a randomizer for each of {len(plan.questions)} questions, found "
            f"{len(plan.randomizers)}"
        )
    randomizers = tuple(randomizer(kind.cells(question)) for question in plan.questions)
    for expected, name in zip(randomizers, plan.randomizers, strict=True):
        if expected.name != name:
            raise ValueError(
                f"expected {expected.cells} cells to be asked by {expected.name}, found {name}"
            )
    return randomizers
