"""Parameters of every survey, and what they give up."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from ..cost import Public
from ..options import Epsilon, Options

__all__ = ["Simulation", "SurveyOptions", "number_of_users", "survey_warnings"]

Simulation: TypeAlias = Literal["reports", "counts"]


class SurveyOptions(Options):
    """Parameters of a protocol that asks users; derive its `Parameters` from these."""

    epsilon: Epsilon = 1.0
    simulate: Annotated[
        Simulation,
        msgspec.Meta(
            description="reports: make, send and count every user's; counts: draw their sums from "
            "the exact distribution"
        ),
    ] = "reports"
    users: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            lt=1 << 50,
            description="draw so many users from the records, with replacement; 0: one each",
        ),
    ] = 0


def number_of_users(options: SurveyOptions, public: Public) -> int:
    """Find how many users a survey has."""
    return options.users or public.rows


def survey_warnings(options: SurveyOptions) -> list[str]:
    """Say what the choices give up."""
    warnings = []
    if options.simulate == "counts":
        warnings.append(
            "simulate=counts: no user's report was made; sums of reports were drawn from their "
            "exact distribution, by a generator that is not for secrets"
        )
    if options.users:
        warnings.append(
            f"{options.users:,} users were drawn from the records, with replacement: epsilon holds "
            "for each of them, not for a record, which may stand behind several"
        )
    return warnings
