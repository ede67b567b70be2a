"""What all protocols that ask users have in common."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from ...privacy import BudgetHolder, Neighbours
from ..cost import Public
from ..protocol import Protocol
from .messages import SurveyMessages
from .options import SurveyOptions, survey_warnings

__all__ = ["SurveyProtocol"]

SurveyOptionsT = TypeVar("SurveyOptionsT", bound=SurveyOptions)


class SurveyProtocol(Protocol[SurveyOptionsT]):
    """A protocol whose parties are cohorts of users, each of whom randomizes her own record."""

    trust = (
        "no one: every user randomizes her own record; a cohort simulates many users, and sees "
        "their records"
    )
    neighbours: ClassVar[Neighbours] = "replace-one"
    budget_of: ClassVar[BudgetHolder] = "user"
    needs_schema = True
    parties_talk = False
    uses: ClassVar[tuple[type, ...]] = (SurveyMessages,)

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        return survey_warnings(self.parameters)
