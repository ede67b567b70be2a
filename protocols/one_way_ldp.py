"""One-way tables from users: a synthetic table in which every attribute is right and nothing
belongs together. The floor.

    trust       nobody: every user randomizes her own value of one attribute
    who learns  the aggregator and everybody: noisy tables of single attributes
    privacy     epsilon for each user, who reports once
    error       that of the noise, with N / d users an attribute, and all dependence is lost

Whatever asks for more has to be better than this at the same epsilon, or it has learnt nothing;
CALM and PrivIncr as published are not, at epsilon 1 and 2 (spec E16).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..curator import BayesianNetwork, Curator, Marginal, synthesise
from ..curator.projections import norm_sub
from ..messages import UsageError
from ..parties import Party
from ..privacy import Domain
from .local import LocalOptions, OneSurvey, Question, questions_for
from .protocol import Outcome

__all__ = ["OneWayLocal"]


class OneWayLocalParameters(LocalOptions):
    synthetic_rows: Annotated[
        int, msgspec.Meta(ge=1, description="rows of the synthetic table, at most one a user")
    ] = 100_000


class OneWayLocal(OneSurvey[OneWayLocalParameters]):
    """Ask each user for one attribute, and draw each from its own table."""

    name = "one-way-ldp"
    summary = "a synthetic table of independent attributes, from users: the floor"
    paper = "the floor of the specification (E16)"

    def questions(self, domain: Domain, users: int) -> list[Question]:
        asked = [name for name in domain.attributes if domain.cells((name,)) > 1]
        if not asked:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        return questions_for(
            users, {(name,): 1.0 for name in asked}, lambda own: self.randomizer(domain.cells(own))
        )

    def party(self, me: Party) -> None:
        self.respond(me)

    def curator(self, desk: Curator) -> Outcome:
        answers, said = self.survey(desk)
        with desk.phase("synthesis"):
            tables = [own.estimate(desk.domain).table.map(norm_sub) for own in answers]
            tables += [
                Marginal.uniform(desk.domain, (name,)) for name in desk.domain.attributes
            ]  # of one label: not asked
            chain = BayesianNetwork(desk.domain, {}).fit(tables)
            rows = min(self.parameters.synthetic_rows, said.users)
            made = synthesise(chain, rows, generator=desk.randomness("sampling").generator())
        return Outcome(
            synthetic=desk.domain.decode(made.codes),
            summary={"users": said.users},
            user_traffic=said,
        )
