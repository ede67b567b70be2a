"""Surveys: users answer randomized questions, and the curator learns what all answers say together.

The sub-protocol of every protocol of local differential privacy. Each side is one object:

    # party: a cohort of users                         # curator
    with me.phase("plan"):                             with desk.phase("plan"):
        survey = PartySurvey(me, options)                  survey = CuratorSurvey(desk, options)
        plan = survey.plan(kind, randomizer=choose)        plan = survey.plan(questions, kind)
    with me.phase("reports"):                          with desk.phase("reports"):
        survey.answer(plan)                                answers = survey.collect(plan)

with `uses = (SurveyMessages,)` in the protocol's class, as `SurveyProtocol` has it. The phases are
the protocol's own. A survey of several rounds repeats `plan`, `answer` and `collect`; each round
goes on with the users who have not been asked yet. Public randomness assigns users to questions
(`privacy.local.assignment`). A user answers one question in her life, with
all of epsilon. So all answers together are epsilon-differentially private for every user against
everyone, the curator included.

What a question is: `kind`. `MarginalQuestions` asks for the cell of a marginal.

Other plans and other reports take the same way in two halves. A cohort's `receive` checks a
request, and its `send` releases reports in any message. The curator's `receive` collects these.
"""

from .curator import CuratorPlan, CuratorSurvey
from .messages import KEY_BYTES, SurveyMessages
from .options import SurveyOptions, number_of_users, survey_warnings
from .party import CohortPlan, PartySurvey, UserReports
from .predict import predict_opening, predict_round, predict_survey, with_each_cohort
from .protocol import SurveyProtocol
from .questions import (
    Answer,
    MarginalQuestions,
    Question,
    QuestionKind,
    attribute_numbers,
    questions_by_weight,
    read_attributes,
)
from .reading import ReportBatch

__all__ = [
    "KEY_BYTES",
    "Answer",
    "CohortPlan",
    "CuratorPlan",
    "CuratorSurvey",
    "MarginalQuestions",
    "PartySurvey",
    "Question",
    "QuestionKind",
    "ReportBatch",
    "SurveyMessages",
    "SurveyOptions",
    "SurveyProtocol",
    "UserReports",
    "attribute_numbers",
    "number_of_users",
    "predict_opening",
    "predict_round",
    "predict_survey",
    "questions_by_weight",
    "read_attributes",
    "survey_warnings",
    "with_each_cohort",
]
