"""What protocols of local differential privacy share around their surveys.

Before a survey, `LocalProtocol` chooses the randomizer of each question. After it, the curator
publishes marginals as counts of users.
"""

from .intervals import Interval, intervals_of_answers
from .protocol import LocalOptions, LocalProtocol, SyntheticRows, Ways, choose_randomizer
from .publishing import check_marginals, user_counts

__all__ = [
    "Interval",
    "LocalOptions",
    "LocalProtocol",
    "SyntheticRows",
    "Ways",
    "check_marginals",
    "choose_randomizer",
    "intervals_of_answers",
    "user_counts",
]
