"""What protocols of local differential privacy share around their surveys.

Before a survey, `LocalProtocol` chooses the randomizer of each question. After it, the curator
estimates tables of all pairs from the answers, draws rows from them, and publishes marginals.
"""

from .pairs import PairTables, estimate_pairs
from .protocol import LocalOptions, LocalProtocol, SyntheticRows, Ways, choose_randomizer
from .publishing import check_marginals, user_counts
from .rows import draw_rows

__all__ = [
    "LocalOptions",
    "LocalProtocol",
    "PairTables",
    "SyntheticRows",
    "Ways",
    "check_marginals",
    "choose_randomizer",
    "draw_rows",
    "estimate_pairs",
    "user_counts",
]
