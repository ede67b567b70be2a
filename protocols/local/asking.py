"""Asking users: both sides of a survey.

    cohort      Present     how many users it acts for (public: neighbours replace one)
    aggregator  Opening     how many there are in all, and the key of the public permutation in whose order they are asked
    aggregator  Plan        who is asked what: questions, randomizers, and of how many users each
    cohort      Reports     its users' reports, half a million at a time; or
                Sums        what they would add up to, drawn from its law

A protocol of several rounds has a plan and reports in each, and each goes on with those who have
not been asked yet. Each user answers one question in her life, with all of epsilon, so what all say
together is epsilon-differentially private for each of them against everybody, the aggregator
included. A cohort makes nobody report on a plan that its own parameters do not allow: more epsilon,
another randomizer, more users than there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ...curator import Curator, Estimate, Marginal
from ...curator.shrinkage import NoisyTable
from ...messages import CURATOR, USER_BITS, MessageError, Shape, UsageError, message
from ...parties import Party
from ...parties.cohort import Cohort, Reports, Sums, Values, public_generator
from ...privacy import Domain, UserCost
from ...privacy.local import Randomizer, Survey
from ...privacy.local.survey import shared_out
from .options import SurveyOptions

__all__ = [
    "Answer",
    "Enlisted",
    "Heard",
    "Mustered",
    "Question",
    "Surveyed",
    "answer",
    "ask",
    "ask_nobody",
    "enlist",
    "hear",
    "listen",
    "muster",
]

Counts = npt.NDArray[np.int64]

KEY = 16
MOST_ROWS = 1 << 40


class Surveyed:
    """The messages; a protocol that asks users names this in `uses`."""

    @message
    class Present:
        """How many rows a cohort has, and whether they are numbered through all cohorts, as parts
        of one table.
        """

        rows: int
        numbered: bool

    @message
    class Opening:
        """The rows of all cohorts, the users in all, and the key of the permutation in whose order
        they are asked.
        """

        rows: Annotated[npt.NDArray[np.int64], Shape(None)]
        users: int
        key: bytes

    @message
    class Plan:
        """Questions as numbers of attributes (or of bits), how each is answered and how many users
        are asked it.

        Without questions nobody is asked in this round.
        """

        questions: tuple[tuple[int, ...], ...]
        randomizers: tuple[str, ...]
        sizes: Annotated[npt.NDArray[np.int64], Shape(None)]

    @message
    class Reports:
        """Reports of some of a cohort's users, in the order of the questions, packed; the last ones
        or not.
        """

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
        """Make a marginal of frequencies, without bias; its variance is the cells' average, with
        that of who was asked.
        """
        own = self.question.randomizer
        variance = (own.total_variance + 1) / (own.cells * self.question.users)
        return Estimate(Marginal.of(domain, self.question.attributes, self.frequencies()), variance)

    def noisy(self, domain: Domain) -> NoisyTable:
        """Make a marginal of frequencies that says how each cell varies, by its frequency."""
        asked, users = self.question.randomizer, self.question.users
        base = asked.variance()
        # Given the data a cell of frequency f varies by base + (at 1 - base) f; who is asked adds f
        # (1 - f). f is about f (1 - f).
        slope = max(asked.variance(frequency=1.0) - base + 1, 0.0)
        table = Marginal.of(domain, self.question.attributes, self.frequencies())
        return NoisyTable(table, base / users, slope / users)

    def __add__(self, more: Answer) -> Answer:
        """Add what other users said to the same question: what each supports adds up (PrivIncr's
        property 5.1).
        """
        one, other = self.question, more.question
        if (one.attributes, one.randomizer.name, one.randomizer.cells) != (
            other.attributes,
            other.randomizer.name,
            other.randomizer.cells,
        ):
            raise ValueError(
                f"expected answers to one question, found {one.attributes} and {other.attributes}"
            )
        return Answer(replace(one, users=one.users + other.users), self.support + more.support)


@dataclass(frozen=True, slots=True)
class Mustered:
    """Who is there: users in all, the key of their order, and how many of them have been asked."""

    users: int
    key: bytes
    asked: int = 0

    @property
    def left(self) -> int:
        """Users who have not been asked anything."""
        return self.users - self.asked


@dataclass(frozen=True, slots=True)
class Enlisted:
    """What a cohort knows of all: its users and everybody's, the key of their order, how many have
    been asked, and rows.
    """

    cohort: Cohort
    users: int
    key: bytes
    rows: Counts
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Heard:
    """What a cohort knows of a round: the survey, and its questions as they were said."""

    survey: Survey
    questions: tuple[tuple[int, ...], ...]
    by_users: tuple[UserCost, ...] = ()
    """What is added for whom, where users are asked again."""


def muster(desk: Curator, options: SurveyOptions) -> Mustered:
    """Hear how many users there are, and open the survey."""
    heard = desk.gather(Surveyed.Present)
    rows = np.array([said.rows for said in heard], np.int64)
    if rows.min() < 1 or rows.max() > MOST_ROWS or len({said.numbered for said in heard}) > 1:
        raise MessageError(
            f"expected cohorts of 1 to 2^40 rows, numbered alike, found {rows.tolist()}",
            where=desk.where,
        )
    users, key = options.users or int(rows.sum()), desk.randomness("survey").draw(KEY)
    desk.broadcast(Surveyed.Opening(rows, users, key))
    return Mustered(users, key)


def ask(
    desk: Curator,
    mustered: Mustered,
    questions: Sequence[Question],
    *,
    numbers: Sequence[tuple[int, ...]],
) -> Survey:
    """Say who is asked what; `numbers`: the questions as the cohorts read them. Their order is
    kept.
    """
    sizes = np.array([own.users for own in questions], np.int64)
    desk.broadcast(
        Surveyed.Plan(tuple(numbers), tuple(own.randomizer.name for own in questions), sizes)
    )
    return Survey(
        mustered.users,
        mustered.key,
        tuple(own.randomizer for own in questions),
        sizes,
        mustered.asked,
    )


def ask_nobody(desk: Curator) -> None:
    """Say that nobody is asked in this round."""
    desk.broadcast(Surveyed.Plan((), (), np.zeros(0, np.int64)))


def enlist(me: Party, options: SurveyOptions) -> Enlisted:
    """Say how many users there are, and hear of all."""
    me.send(Surveyed.Present(len(me.records), me.records.numbers is not None), to=CURATOR)
    said = me.receive(Surveyed.Opening, source=CURATOR)
    users = options.users or sum(said.rows.tolist())
    try:
        _check(said, me, users=users)
    except ValueError as error:
        raise MessageError(f"malformed Opening from the curator: {error}", where=me.where) from None
    copies = None
    if options.users and options.simulate == "reports":
        rows = int(said.rows.sum())
        copies = public_generator(said.key, "users").multinomial(users, np.full(rows, 1 / rows))
    cohort = Cohort(me.records, before=int(said.rows[: me.number - 1].sum()), copies=copies)
    return Enlisted(cohort, users, said.key, said.rows)


def _check(said: Surveyed.Opening, me: Party, *, users: int) -> None:
    if len(said.rows) != len(me.parties) or int(said.rows[me.number - 1]) != len(me.records):
        raise ValueError(
            f"expected {len(me.records)} rows of cohort {me.number}, found another number"
        )
    if min(said.rows.tolist()) < 1 or sum(said.rows.tolist()) > MOST_ROWS:
        raise ValueError("expected cohorts of at least one row, found others")
    if me.records.numbers is not None and int(me.records.numbers.max()) >= sum(said.rows.tolist()):
        raise ValueError(
            f"expected more rows than {me.records.numbers.max()} in all, found {sum(said.rows.tolist())}"
        )
    if said.users != users:
        raise ValueError(f"expected {users} users, found {said.users}")


def listen(
    me: Party,
    enlisted: Enlisted,
    *,
    cells: Callable[[tuple[int, ...]], int],
    randomizer: Callable[[int], Randomizer],
) -> Heard | None:
    """Hear a round's plan, and check it; `None`: nobody is asked.

    `cells` counts a question's cells, and refuses a wrong one; `randomizer` is how so many cells
    have to be asked.
    """
    plan = me.receive(Surveyed.Plan, source=CURATOR)
    if not (plan.questions or plan.randomizers or len(plan.sizes)):
        return None
    try:
        randomizers = _randomizers(plan, cells=cells, randomizer=randomizer)
        return Heard(
            Survey(enlisted.users, enlisted.key, randomizers, plan.sizes, enlisted.asked),
            plan.questions,
        )
    except (ValueError, UsageError) as error:
        raise MessageError(f"malformed Plan from the curator: {error}", where=me.where) from None


def _randomizers(
    plan: Surveyed.Plan,
    *,
    cells: Callable[[tuple[int, ...]], int],
    randomizer: Callable[[int], Randomizer],
) -> tuple[Randomizer, ...]:
    """Make the randomizers that the options say: the plan cannot choose others."""
    if len(plan.questions) != len(plan.randomizers):
        raise ValueError(
            f"expected a randomizer for each of {len(plan.questions)} questions, found {len(plan.randomizers)}"
        )
    found = tuple(randomizer(cells(question)) for question in plan.questions)
    for own, name in zip(found, plan.randomizers, strict=True):
        if own.name != name:
            raise ValueError(f"expected {own.cells} cells to be asked by {own.name}, found {name}")
    return found


def answer(
    me: Party, enlisted: Enlisted, heard: Heard, values: Values, options: SurveyOptions
) -> Enlisted:
    """Let the cohort's users answer; who has been asked then is what it returns."""
    survey, cohort = heard.survey, enlisted.cohort
    after = replace(enlisted, asked=survey.after)

    def told(done: int, of: int) -> None:
        me.progress(done, of=of)

    if options.simulate == "reports":
        # The number of releases so far is the same on every rank: no two surveys of a run share
        # words.
        words = me.words_of_users(f"release {len(me.accountant.releases)}")
        reports = Reports(cohort, survey, values, told, words, by_users=heard.by_users)
        for window in me.release(reports, to=CURATOR, users=reports.users):
            me.send(
                Surveyed.Reports(window.users, window.bits, window.packed, window.last), to=CURATOR
            )
        return after
    asked = None
    if options.users:
        share = enlisted.rows / enlisted.rows.sum()
        draw = public_generator(survey.key, f"cohorts from {survey.first}")
        asked = draw.multinomial(survey.sizes, share)[:, me.number - 1]
    sums = Sums(cohort, survey, values, told, asked, by_users=heard.by_users)
    users, supports = me.release(sums, to=CURATOR, users=sums.users)
    me.send(Surveyed.Sums(users, np.concatenate(supports)), to=CURATOR)
    return after


def hear(
    desk: Curator, survey: Survey, questions: Sequence[Question], options: SurveyOptions
) -> list[Answer]:
    """Count what the users said; reports that cannot be, or of other numbers of users than planned,
    end the run.
    """
    users = np.zeros(len(questions), np.int64)
    supports = [np.zeros(own.cells, np.int64) for own in survey.randomizers]
    speaking = [*desk.parties]
    while speaking:
        for rank in [*speaking]:
            try:
                own, found, last = (_window if options.simulate == "reports" else _sums)(
                    desk, survey, rank
                )
            except ValueError as error:
                raise MessageError(
                    f"malformed reports from cohort {rank}: {error}", where=desk.where
                ) from None
            users += own
            if (users > survey.sizes).any():
                raise MessageError(
                    f"expected at most as many users as planned, found more from cohort {rank}",
                    where=desk.where,
                )
            supports = [support + more for support, more in zip(supports, found, strict=True)]
            desk.progress(float(users.sum()), of=survey.asked)
            if last:
                speaking.remove(rank)
    if (users != survey.sizes).any():
        raise MessageError(
            f"expected {survey.asked} users to report as planned, found {users.sum()}",
            where=desk.where,
        )
    return [
        Answer(question, support) for question, support in zip(questions, supports, strict=True)
    ]


def _window(desk: Curator, survey: Survey, rank: int) -> tuple[Counts, list[Counts], bool]:
    """Hear some reports: users and support of each question, and whether these were the cohort's
    last.
    """
    said = desk.receive(Surveyed.Reports, source=rank)
    users = said.users.astype(np.int64)
    found = survey.unpack(said.packed, users)
    bits = sum(
        own.bits * reports for own, reports in zip(survey.randomizers, users.tolist(), strict=True)
    )
    if said.bits != bits or not (users.any() or said.last):
        raise ValueError(f"expected {bits} bits of {users.sum()} users, found {said.bits}")
    return users, found, said.last


def _sums(desk: Curator, survey: Survey, rank: int) -> tuple[Counts, list[Counts], bool]:
    """Hear what all of a cohort's reports would add up to."""
    said = desk.receive(Surveyed.Sums, source=rank)
    ends = np.cumsum([own.cells for own in survey.randomizers])
    if len(said.support) != ends[-1] or len(said.users) != len(ends) or said.users.min() < 0:
        raise ValueError(
            f"expected {ends[-1]} counts of users for {len(ends)} questions, found {len(said.support)}"
        )
    found = np.split(said.support, ends[:-1])
    if any(
        own.min() < 0 or own.max() > users
        for own, users in zip(found, said.users.tolist(), strict=True)
    ):
        raise ValueError(
            "expected at most as many users to support a value as there are, found more"
        )
    return said.users, found, True


def questions_for(
    users: int,
    weights: Mapping[tuple[str, ...], float],
    randomizer: Callable[[tuple[str, ...]], Randomizer],
) -> list[Question]:
    """UserCost users out over questions by weight, and let each be asked by its randomizer; nobody to
    ask is a `UsageError`.
    """
    sizes = shared_out(users, [*weights.values()])
    if min(sizes) < 1:
        raise UsageError(
            f"expected at least a user for each of {len(sizes):,} questions, found {users:,} users"
        )
    return [Question(own, randomizer(own), size) for own, size in zip(weights, sizes, strict=True)]
