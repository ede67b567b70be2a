"""What protocols of local differential privacy share around their surveys.

Before the survey a randomizer is chosen for each question. After it the curator makes tables that
agree of the answers, draws rows from them, and publishes marginals.
"""

from .believing import Believed, believe
from .joining import rows_of
from .protocol import LocalOptions, LocalProtocol, SyntheticRows, Ways, choose_randomizer
from .publishing import check_size, published

__all__ = [
    "Believed",
    "LocalOptions",
    "LocalProtocol",
    "SyntheticRows",
    "Ways",
    "believe",
    "check_size",
    "choose_randomizer",
    "published",
    "rows_of",
]
