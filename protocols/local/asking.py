"""Asking users: both sides of a survey.

    cohort      Present     how many users it acts for (public: neighbours replace one)
    aggregator  Plan        who is asked what: questions, randomizers, sizes, and the key of the public permutation
    cohort      Reports     its users' reports, half a million at a time; or
                Sums        what they would add up to, drawn from its law

Each user answers one question in her life, with all of epsilon, so what all say together is epsilon-differentially private for
each of them against everybody, the aggregator included. A cohort makes nobody report on a plan that its own parameters do not
allow: more epsilon, another randomizer, more users than there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ...curator import Curator, Estimate, Marginal
from ...messages import CURATOR, USER_BITS, MessageError, Shape, UsageError, message
from ...parties import Party
from ...parties.cohort import Cohort, Reports, Sums, Values, public_generator
from ...privacy import Domain
from ...privacy.local import Randomizer, Survey
from ...privacy.local.survey import shared_out
from .options import SurveyOptions

__all__ = ["Answer", "Enlisted", "Mustered", "Question", "Surveyed", "answer", "ask", "enlist", "hear", "muster"]

Counts = npt.NDArray[np.int64]

KEY = 16
MOST_ROWS = 1 << 40


class Surveyed:
    """The messages; a protocol that asks users names this in `uses`."""

    @message
    class Present:
        """How many rows a cohort has, and whether they are numbered through all cohorts, as parts of one table."""

        rows: int
        numbered: bool

    @message
    class Plan:
        """Questions as numbers of attributes (or of bits), how each is answered and how many users are asked it."""

        rows: Annotated[npt.NDArray[np.int64], Shape(None)]
        users: int
        key: bytes
        questions: tuple[tuple[int, ...], ...]
        randomizers: tuple[str, ...]
        sizes: Annotated[npt.NDArray[np.int64], Shape(None)]

    @message
    class Reports:
        """Reports of some of a cohort's users, in the order of the questions, packed; the last ones or not."""

        users: Annotated[npt.NDArray[np.uint32], Shape(None)]
        bits: Annotated[int, USER_BITS]
        packed: Annotated[npt.NDArray[np.uint8], Shape(None)]
        last: bool

    @message
    class Sums:
        """Users and support of every question, the supports one after another."""

        users: Annotated[npt.NDArray[np.int64], Shape(None)]
        support: Annotated[npt.NDArray[np.int64], Shape(None)]


@dataclass(frozen=True, slots=True)
class Question:
    """What some users are asked: the cell of a marginal, or the parity of some bits."""

    attributes: tuple[str, ...]
    randomizer: Randomizer
    users: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What they said together."""

    question: Question
    support: Counts

    def frequencies(self) -> npt.NDArray[np.float64]:
        return self.question.randomizer.estimate(self.support, users=self.question.users)

    def estimate(self, domain: Domain) -> Estimate:
        """Make a marginal of frequencies, without bias; its variance is the cells' average, with that of who was asked."""
        own = self.question.randomizer
        variance = (own.total_variance + 1) / (own.cells * self.question.users)
        return Estimate(Marginal.of(domain, self.question.attributes, self.frequencies()), variance)


@dataclass(frozen=True, slots=True)
class Mustered:
    """Who is there: the rows of each cohort, and users in all."""

    rows: Counts
    users: int


@dataclass(frozen=True, slots=True)
class Enlisted:
    """What a cohort knows after the plan: its users, the survey, and the questions as they were said."""

    cohort: Cohort
    survey: Survey
    questions: tuple[tuple[int, ...], ...]
    rows: Counts


def muster(desk: Curator, options: SurveyOptions) -> Mustered:
    """Hear how many users there are."""
    heard = desk.gather(Surveyed.Present)
    rows = np.array([said.rows for said in heard], np.int64)
    if rows.min() < 1 or rows.max() > MOST_ROWS or len({said.numbered for said in heard}) > 1:
        raise MessageError(f"expected cohorts of 1 to 2^40 rows, numbered alike, found {rows.tolist()}", where=desk.where)
    return Mustered(rows, options.users or int(rows.sum()))


def ask(desk: Curator, mustered: Mustered, questions: Sequence[Question], *, numbers: Sequence[tuple[int, ...]]) -> Survey:
    """Say who is asked what; `numbers`: the questions as the cohorts read them. Their order is kept."""
    key = desk.randomness("survey").draw(KEY)
    sizes = np.array([own.users for own in questions], np.int64)
    desk.broadcast(
        Surveyed.Plan(
            mustered.rows, mustered.users, key, tuple(numbers), tuple(own.randomizer.name for own in questions), sizes
        )
    )
    return Survey(mustered.users, key, tuple(own.randomizer for own in questions), sizes)


def enlist(
    me: Party, options: SurveyOptions, *, cells: Callable[[tuple[int, ...]], int], randomizer: Callable[[int], Randomizer]
) -> Enlisted:
    """Say how many users there are, hear the plan, and check it.

    `cells` counts a question's cells, and refuses a wrong one; `randomizer` is how so many cells have to be asked.
    """
    me.send(Surveyed.Present(len(me.records), me.records.numbers is not None), to=CURATOR)
    plan = me.receive(Surveyed.Plan, source=CURATOR)
    users = options.users or sum(plan.rows.tolist())
    try:
        _check(plan, me, users=users)
        survey = Survey(users, plan.key, _randomizers(plan, cells=cells, randomizer=randomizer), plan.sizes)
    except (ValueError, UsageError) as error:
        raise MessageError(f"malformed Plan from the curator: {error}", where=me.where) from None
    copies = None
    if options.users and options.simulate == "reports":
        rows = int(plan.rows.sum())
        copies = public_generator(plan.key, "users").multinomial(users, np.full(rows, 1 / rows))
    cohort = Cohort(me.records, before=int(plan.rows[: me.number - 1].sum()), copies=copies)
    return Enlisted(cohort, survey, plan.questions, plan.rows)


def _check(plan: Surveyed.Plan, me: Party, *, users: int) -> None:
    if len(plan.rows) != len(me.parties) or int(plan.rows[me.number - 1]) != len(me.records):
        raise ValueError(f"expected {len(me.records)} rows of cohort {me.number}, found another number")
    if min(plan.rows.tolist()) < 1 or sum(plan.rows.tolist()) > MOST_ROWS:
        raise ValueError("expected cohorts of at least one row, found others")
    if me.records.numbers is not None and int(me.records.numbers.max()) >= sum(plan.rows.tolist()):
        raise ValueError(f"expected more rows than {me.records.numbers.max()} in all, found {sum(plan.rows.tolist())}")
    if plan.users != users:
        raise ValueError(f"expected a plan for {users} users, found one for {plan.users}")
    if len(plan.questions) != len(plan.randomizers):
        raise ValueError(f"expected a randomizer for each of {len(plan.questions)} questions, found {len(plan.randomizers)}")


def _randomizers(
    plan: Surveyed.Plan, *, cells: Callable[[tuple[int, ...]], int], randomizer: Callable[[int], Randomizer]
) -> tuple[Randomizer, ...]:
    """Make the randomizers that the options say: the plan cannot choose others."""
    found = tuple(randomizer(cells(question)) for question in plan.questions)
    for own, name in zip(found, plan.randomizers, strict=True):
        if own.name != name:
            raise ValueError(f"expected {own.cells} cells to be asked by {own.name}, found {name}")
    return found


def answer(me: Party, enlisted: Enlisted, values: Values, options: SurveyOptions) -> None:
    """Let the cohort's users answer."""
    survey, cohort = enlisted.survey, enlisted.cohort

    def told(done: int, of: int) -> None:
        me.progress(done, of=of)

    if options.simulate == "reports":
        # The number of releases so far is the same on every rank: no two surveys of a run share words.
        words = me.words_of_users(f"release {len(me.accountant.releases)}")
        reports = Reports(cohort, survey, values, told, words)
        for window in me.release(reports, to=CURATOR, users=reports.users):
            me.send(Surveyed.Reports(window.users, window.bits, window.packed, window.last), to=CURATOR)
        return
    asked = None
    if options.users:
        share = enlisted.rows / enlisted.rows.sum()
        asked = public_generator(survey.key, "cohorts").multinomial(survey.sizes, share)[:, me.number - 1]
    sums = Sums(cohort, survey, values, told, asked)
    users, supports = me.release(sums, to=CURATOR, users=sums.users)
    me.send(Surveyed.Sums(users, np.concatenate(supports)), to=CURATOR)


def hear(desk: Curator, survey: Survey, questions: Sequence[Question], options: SurveyOptions) -> list[Answer]:
    """Count what the users said; reports that cannot be, or of other numbers of users than planned, end the run."""
    users = np.zeros(len(questions), np.int64)
    supports = [np.zeros(own.cells, np.int64) for own in survey.randomizers]
    speaking = [*desk.parties]
    while speaking:
        for rank in [*speaking]:
            try:
                own, found, last = (_window if options.simulate == "reports" else _sums)(desk, survey, rank)
            except ValueError as error:
                raise MessageError(f"malformed reports from cohort {rank}: {error}", where=desk.where) from None
            users += own
            if (users > survey.sizes).any():
                raise MessageError(
                    f"expected at most as many users as planned, found more from cohort {rank}", where=desk.where
                )
            supports = [support + more for support, more in zip(supports, found, strict=True)]
            desk.progress(float(users.sum()), of=survey.asked)
            if last:
                speaking.remove(rank)
    if (users != survey.sizes).any():
        raise MessageError(f"expected {survey.asked} users to report as planned, found {users.sum()}", where=desk.where)
    return [Answer(question, support) for question, support in zip(questions, supports, strict=True)]


def _window(desk: Curator, survey: Survey, rank: int) -> tuple[Counts, list[Counts], bool]:
    """Hear some reports: users and support of each question, and whether these were the cohort's last."""
    said = desk.receive(Surveyed.Reports, source=rank)
    users = said.users.astype(np.int64)
    found = survey.unpack(said.packed, users)
    bits = sum(own.bits * reports for own, reports in zip(survey.randomizers, users.tolist(), strict=True))
    if said.bits != bits or not (users.any() or said.last):
        raise ValueError(f"expected {bits} bits of {users.sum()} users, found {said.bits}")
    return users, found, said.last


def _sums(desk: Curator, survey: Survey, rank: int) -> tuple[Counts, list[Counts], bool]:
    """Hear what all of a cohort's reports would add up to."""
    said = desk.receive(Surveyed.Sums, source=rank)
    ends = np.cumsum([own.cells for own in survey.randomizers])
    if len(said.support) != ends[-1] or len(said.users) != len(ends) or said.users.min() < 0:
        raise ValueError(f"expected {ends[-1]} counts of users for {len(ends)} questions, found {len(said.support)}")
    found = np.split(said.support, ends[:-1])
    if any(own.min() < 0 or own.max() > users for own, users in zip(found, said.users.tolist(), strict=True)):
        raise ValueError("expected at most as many users to support a value as there are, found more")
    return said.users, found, True


def questions_for(
    users: int, weights: Mapping[tuple[str, ...], float], randomizer: Callable[[tuple[str, ...]], Randomizer]
) -> list[Question]:
    """Share users out over questions by weight, and let each be asked by its randomizer; nobody to ask is a `UsageError`."""
    sizes = shared_out(users, [*weights.values()])
    if min(sizes) < 1:
        raise UsageError(f"expected at least a user for each of {len(sizes):,} questions, found {users:,} users")
    return [Question(own, randomizer(own), size) for own, size in zip(weights, sizes, strict=True)]
