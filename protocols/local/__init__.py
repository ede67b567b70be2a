"""What protocols of local differential privacy share: users are asked, and their reports are
counted.
"""

from .asking import (
    Answer,
    Mustered,
    Question,
    Surveyed,
    answer,
    ask,
    enlist,
    hear,
    muster,
    questions_for,
)
from .believing import Believed, believe
from .joining import rows_of
from .options import LocalOptions, SurveyOptions, SyntheticRows, Ways, choose
from .protocol import LocalProtocol, OneSurvey, predict_round, predict_users, said
from .publishing import check_size, published

__all__ = [
    "Answer",
    "Believed",
    "LocalOptions",
    "LocalProtocol",
    "OneSurvey",
    "Mustered",
    "Question",
    "SurveyOptions",
    "Surveyed",
    "SyntheticRows",
    "Ways",
    "answer",
    "ask",
    "believe",
    "check_size",
    "choose",
    "enlist",
    "hear",
    "muster",
    "predict_round",
    "predict_users",
    "published",
    "questions_for",
    "rows_of",
    "said",
]
