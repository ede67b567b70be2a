"""The cost of a survey, predicted from public figures.

Reports are not predicted: how many messages they are depends on which users are in which cohort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...privacy import Domain
from ..cost import Cost, Public
from .messages import KEY_BYTES, SurveyMessages
from .options import SurveyOptions, number_of_users
from .questions import Question, QuestionKind

__all__ = ["predict_opening", "predict_round", "predict_survey", "with_each_cohort"]


def with_each_cohort(public: Public, message: object, *, phase: str) -> Cost:
    """Predict one message of this size to or from each cohort."""
    return Cost.of(message, phase=phase, messages=public.parties)


def predict_opening(public: Public, options: SurveyOptions, *, phase: str) -> list[Cost]:
    """Predict the messages that open a survey."""
    rows = np.zeros(public.parties, np.int64)
    opening = SurveyMessages.Opening(rows, number_of_users(options, public), bytes(KEY_BYTES))
    present = SurveyMessages.Present(1, numbered=True)
    return [with_each_cohort(public, message, phase=phase) for message in (present, opening)]


def predict_round(
    public: Public,
    questions: Sequence[Question],
    kind: QuestionKind,
    options: SurveyOptions,
    *,
    phase: str,
    report_phase: str = "",
) -> list[Cost]:
    """Predict a round's plan and, where they are drawn, the sums of its reports.

    `report_phase` is the phase of the reports, if it is another than that of the plan.
    """
    plan = SurveyMessages.Plan(
        tuple(kind.write(question.attributes) for question in questions),
        tuple(question.randomizer.name for question in questions),
        np.array([question.users for question in questions], np.int64),
    )
    lines = [with_each_cohort(public, plan, phase=phase)]
    if options.simulate == "counts" and questions:
        cells = sum(question.randomizer.cells for question in questions)
        sums = SurveyMessages.Sums(np.zeros(len(questions), np.int64), np.zeros(cells, np.int64))
        lines.append(with_each_cohort(public, sums, phase=report_phase or phase))
    return lines


def predict_survey(
    public: Public,
    options: SurveyOptions,
    questions: Callable[[Domain, int], Sequence[Question]],
    kind: Callable[[Domain], QuestionKind],
) -> list[Cost]:
    """Predict a survey of one round, with the phases `plan` and `reports`.

    `questions` and `kind` make what the curator asks: from the domain, and so many users.
    """
    if (domain := public.domain) is None:
        return []
    return [
        *predict_opening(public, options, phase="plan"),
        *predict_round(
            public,
            questions(domain, number_of_users(options, public)),
            kind(domain),
            options,
            phase="plan",
            report_phase="reports",
        ),
    ]
