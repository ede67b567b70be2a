"""Tables of single attributes from users: a baseline that keeps no dependence between attributes.

    trust       nobody: every user randomizes her own value of one attribute
    who learns  the curator and everyone: noisy tables of single attributes
    privacy     epsilon for each user, who reports once
    error       that of the noise, with N / d users for each attribute; all dependence is lost

A protocol that asks for more must be better than this at the same epsilon. Otherwise it learns
nothing. CALM and PrivIncr as published are not better at epsilon 1 and 2 (spec E16).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..curator import BayesianNetwork, Curator, Marginal, synthesise
from ..curator.projections import norm_sub
from ..messages import UsageError
from ..parties import Party
from ..privacy import Domain
from ..privacy.local import Randomizer, printed_choice
from .cost import Cost, Public
from .local import LocalOptions, LocalProtocol, choose_randomizer
from .options import MAX_SYNTHETIC_ROWS, Mode
from .outcome import Outcome
from .survey import (
    CuratorSurvey,
    MarginalQuestions,
    PartySurvey,
    Question,
    predict_survey,
    questions_by_weight,
)

__all__ = ["OneWayLocal"]


class OneWayLocalParameters(LocalOptions):
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=MAX_SYNTHETIC_ROWS,
            description="rows of the synthetic table, at most one a user",
        ),
    ] = 100_000


class OneWayLocal(LocalProtocol[OneWayLocalParameters]):
    """Ask each user for one attribute, and draw each attribute from its own table."""

    name = "one-way-ldp"
    summary = "a synthetic table of independent attributes, from users: a baseline"
    paper = "the baseline of the specification (E16)"
    goes_on = True

    @classmethod
    def variant(cls, parameters: OneWayLocalParameters, *, mode: Mode) -> type[OneWayLocal]:  # noqa: ARG003
        return PrintedOneWayLocal if mode == "paper" else OneWayLocal

    def questions(self, domain: Domain, users: int) -> list[Question]:
        """Ask as many users for each attribute of two labels or more."""
        asked = [name for name in domain.attributes if domain.cells((name,)) > 1]
        if not asked:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        return questions_by_weight(
            users,
            {(name,): 1.0 for name in asked},
            lambda attributes: self.randomizer(domain.cells(attributes)),
        )

    def party(self, me: Party) -> None:
        with me.phase("plan"):
            survey = PartySurvey(me, self.parameters)
            kind = MarginalQuestions(me.records.domain)
            plan = survey.plan(kind, randomizer=self.randomizer)
        with me.phase("reports"):
            survey.answer(plan)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("plan"):
            survey = CuratorSurvey(desk, self.parameters)
            questions = self.questions(domain, survey.users)
            plan = survey.plan(questions, MarginalQuestions(domain))
        with desk.phase("reports"):
            answers = survey.collect(plan)
        with desk.phase("synthesis"):
            tables = [answer.estimate(domain).table.map(norm_sub) for answer in answers]
            # Attributes of one label are not asked.
            tables += [Marginal.uniform(domain, (name,)) for name in domain.attributes]
            chain = BayesianNetwork(domain, {}).fit(tables)
            rows = min(self.parameters.synthetic_rows, survey.reporting)
            drawn = synthesise(chain, rows, generator=desk.randomness("sampling").generator())
        return Outcome(
            synthetic=domain.rows(drawn.codes),
            summary={"users": survey.reporting},
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        return predict_survey(public, self.parameters, self.questions, MarginalQuestions)


class PrintedOneWayLocal(OneWayLocal):
    """The same with the randomizers that CALM prints."""

    def choose_randomizer(self, cells: int) -> Randomizer:
        return choose_randomizer(cells, self.parameters, rule=printed_choice)
