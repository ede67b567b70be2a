"""What protocols of local differential privacy share: users are asked, and their reports are counted."""

from .asking import Answer, Question, Surveyed, answer, ask, enlist, hear, muster, questions_for
from .options import LocalOptions, SurveyOptions, SyntheticRows, Ways, choose
from .protocol import LocalProtocol, predict_round, predict_users, said
from .publishing import check_size, published

__all__ = [
    "Answer",
    "LocalOptions",
    "LocalProtocol",
    "Question",
    "SurveyOptions",
    "Surveyed",
    "SyntheticRows",
    "Ways",
    "answer",
    "ask",
    "check_size",
    "choose",
    "enlist",
    "hear",
    "muster",
    "predict_round",
    "predict_users",
    "published",
    "questions_for",
    "said",
]
