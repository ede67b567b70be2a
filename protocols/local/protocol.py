"""What is alike in protocols that ask users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np

from ...curator import Curator
from ...messages import MisuseError, encoded_size
from ...parties import Party, Records
from ...parties.cohort import Values, tables
from ...privacy import Domain
from ...privacy.local import Randomizer, Survey
from ..protocol import Cost, Mode, Protocol, Public, UserTraffic
from .asking import (
    KEY,
    Answer,
    Enlisted,
    Heard,
    Mustered,
    Question,
    Surveyed,
    answer,
    ask,
    ask_nobody,
    enlist,
    hear,
    listen,
    muster,
)
from .options import LocalOptions, SurveyOptions, choose

__all__ = ["LocalProtocol", "OneSurvey", "predict_round", "predict_users", "said"]


SurveyOptionsT = TypeVar("SurveyOptionsT", bound=SurveyOptions)


class LocalProtocol(Protocol[SurveyOptionsT]):
    """A protocol in which every user answers one question, and nobody is trusted with her value.

    Parties are cohorts: in a round `take_part` is all that they do, and `ask_round` the curator's
    part of it.
    """

    trust = (
        "nobody: users randomize on their own; a cohort is a simulation's stand-in for many of them"
    )
    neighbours = "replace-one"
    needs_schema = True
    uses = (Surveyed,)
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")

    def randomizer(self, cells: int) -> Randomizer:
        """Choose the randomizer for a question of so many cells; every size is chosen once."""
        if cells not in self._randomizers:
            self._randomizers[cells] = self.choose_randomizer(cells)
        return self._randomizers[cells]

    def choose_randomizer(self, cells: int) -> Randomizer:
        """Choose by the parameter `oracle`; a protocol without that parameter overrides this."""
        if not isinstance(self.parameters, LocalOptions):
            raise MisuseError(
                f"{self.name}: expected LocalOptions, or choose_randomizer overridden"
            )
        return choose(cells, self.parameters, mode=self.mode)

    def __init__(self, parameters: SurveyOptionsT, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self._randomizers: dict[int, Randomizer] = {}

    def cells(self, domain: Domain, question: tuple[int, ...]) -> int:
        """Count the cells of a question as cohorts read it; one that cannot be is a
        `ValueError`.
        """
        return domain.cells(_attributes(domain, question))

    def values(self, records: Records, questions: Sequence[tuple[int, ...]]) -> Values:
        """Say how a cohort finds what its users would say in truth."""
        return tables(records, [_attributes(records.domain, question) for question in questions])

    def take_part(self, me: Party, enlisted: Enlisted) -> Enlisted:
        """Hear a round's plan, and let the cohort's users answer; who has been asked then is what
        it returns.
        """
        heard = self.listen(me, enlisted)
        if heard is None:
            return enlisted
        return answer(
            me, enlisted, heard, self.values(me.records, heard.questions), self.parameters
        )

    def ask_round(
        self, desk: Curator, mustered: Mustered, questions: Sequence[Question]
    ) -> tuple[list[Answer], list[Survey], Mustered]:
        """Ask, and hear, in a round of several; with nothing to ask nobody is asked."""
        if not questions:
            ask_nobody(desk)
            return [], [], mustered
        survey = ask(desk, mustered, questions, numbers=self.numbers(desk.domain, questions))
        return (
            hear(desk, survey, questions, self.parameters),
            [survey],
            replace(mustered, asked=survey.after),
        )

    def listen(self, me: Party, enlisted: Enlisted) -> Heard | None:
        """Hear a round's plan, and check it."""
        return listen(
            me, enlisted, cells=partial(self.cells, me.records.domain), randomizer=self.randomizer
        )

    def numbers(self, domain: Domain, questions: Sequence[Question]) -> list[tuple[int, ...]]:
        """Write the questions as cohorts read them."""
        places = {name: at for at, name in enumerate(domain.attributes)}
        return [tuple(places[name] for name in own.attributes) for own in questions]

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        found = []
        if self.parameters.simulate == "counts":
            found.append(
                "simulate=counts: no user's report was made; what they add up to was drawn from its exact law, "
                "by a generator that is not for secrets"
            )
        if self.parameters.users:
            found.append(
                f"{self.parameters.users:,} users were drawn from the records, with replacement: epsilon holds for each of "
                "them, not for a record, which may stand behind several"
            )
        return found


class OneSurvey(LocalProtocol[SurveyOptionsT]):
    """One in which all users are asked at once.

    A subclass says `questions`, and what the curator makes of the answers. `respond` is all that
    cohorts do, and `survey` the curator's part of the same conversation.
    """

    @abstractmethod
    def questions(self, domain: Domain, users: int) -> list[Question]:
        """Choose what is asked, of how many of so many users: from public knowledge alone."""

    def respond(self, me: Party) -> None:
        """Hear the plan, and let the cohort's users answer: a party's side of a survey."""
        with me.phase("plan"):
            enlisted = enlist(me, self.parameters)
            heard = self.listen(me, enlisted)
        if heard is not None:
            with me.phase("reports"):
                answer(
                    me, enlisted, heard, self.values(me.records, heard.questions), self.parameters
                )

    def survey(self, desk: Curator) -> tuple[list[Answer], UserTraffic]:
        """Ask, and hear: the curator's side."""
        with desk.phase("plan"):
            mustered = muster(desk, self.parameters)
            questions = self.questions(desk.domain, mustered.users)
            survey = ask(desk, mustered, questions, numbers=self.numbers(desk.domain, questions))
        with desk.phase("reports"):
            answers = hear(desk, survey, questions, self.parameters)
        return answers, said(mustered.users, [survey], self.parameters)

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None:
            return []
        users = self.parameters.users or public.rows
        questions = self.questions(public.domain, users)
        numbers = self.numbers(public.domain, questions)
        return [
            *predict_users(public, phase="plan", users=users),
            *predict_round(
                public, questions, numbers, self.parameters, phase="plan", answered="reports"
            ),
        ]


def predict_users(public: Public, *, phase: str, users: int) -> list[Cost]:
    """Predict what is said before anybody is asked."""
    opening = encoded_size(Surveyed.Opening(np.zeros(public.parties, np.int64), users, bytes(KEY)))
    present = encoded_size(Surveyed.Present(1, True))  # noqa: FBT003 - a field
    return [
        Cost(
            phase=phase,
            kind="Present",
            messages=public.parties,
            payload_bytes=public.parties * present,
        ),
        Cost(
            phase=phase,
            kind="Opening",
            messages=public.parties,
            payload_bytes=public.parties * opening,
        ),
    ]


def predict_round(
    public: Public,
    questions: Sequence[Question],
    numbers: Sequence[tuple[int, ...]],
    options: SurveyOptions,
    *,
    phase: str,
    answered: str = "",
) -> list[Cost]:
    """Predict a plan, and sums where they are drawn; how many messages reports are depends on who
    is in which cohort.
    """
    names = tuple(own.randomizer.name for own in questions)
    plan = encoded_size(
        Surveyed.Plan(tuple(numbers), names, np.array([own.users for own in questions], np.int64))
    )
    lines = [
        Cost(phase=phase, kind="Plan", messages=public.parties, payload_bytes=public.parties * plan)
    ]
    if options.simulate == "counts" and questions:
        support = np.zeros(sum(own.randomizer.cells for own in questions), np.int64)
        size = encoded_size(Surveyed.Sums(np.zeros(len(questions), np.int64), support))
        lines.append(
            Cost(
                phase=answered or phase,
                kind="Sums",
                messages=public.parties,
                payload_bytes=public.parties * size,
            )
        )
    return lines


def said(users: int, surveys: Sequence[Survey], options: SurveyOptions) -> UserTraffic:
    """Say what a user sends: by formula, for the ledger to be compared with."""
    sizes = [
        own.bits
        for survey in surveys
        for own, size in zip(survey.randomizers, survey.sizes, strict=True)
        if size
    ]
    return UserTraffic(
        users=users,
        reports=sum(own.asked for own in surveys),
        bits=sum(own.bits for own in surveys),
        least=min(sizes),
        most=max(sizes),
        simulate=options.simulate,
    )


def _attributes(domain: Domain, question: tuple[int, ...]) -> tuple[str, ...]:
    """Read a question: different attributes, by number."""
    names = domain.attributes
    if (
        not question
        or len(set(question)) < len(question)
        or not all(0 <= at < len(names) for at in question)
    ):
        raise ValueError(
            f"expected questions of different attributes below {len(names)}, found {question}"
        )
    return tuple(names[at] for at in question)
