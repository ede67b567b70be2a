"""PrivIncr: a synthetic table from users, by a dependency graph that is learned in rounds.

    trust       no one: every user randomizes her own value
    who learns  everybody: noisy tables of pairs and of cliques, the graph, the synthetic table
    messages    users: their number; then a plan and reports in each of T rounds, and once more for
                the cliques
    rounds      2 T + 3; adaptive rounds leave no users for the cliques, so there are 2 T + 1
    privacy     epsilon for each user, who reports once: rounds ask different users (theorem 5.3).
                A plan may follow from earlier reports, as each user's randomizer is
                epsilon-private whatever she is asked
    error       that of the noise, and of the model: attributes that share no clique are taken to
                be independent given those between them

Wang et al., "PrivIncr: multi-dimensional data publishing with local differential privacy" (EDBT
2023), sections 5.2 to 5.4. There are three variants, each a class with both sides:

    `printed`    mode=paper: Algorithms 1 to 3 as printed; accumulation=counts is the reading of
                 equation 5 instead of equation 6
    `corrected`  learning=tests: the same with what is wrong corrected
    `adaptive`   the default, which is ours: users are asked where they help most
"""

from __future__ import annotations

from ...messages import UsageError
from ..options import Mode
from .adaptive import AdaptivePrivIncr
from .corrected import CorrectedPrivIncr
from .parameters import PrivIncrParameters
from .printed import CountingPrivIncr, PrintedPrivIncr
from .variant import PrivIncrVariant

__all__ = ["PrivIncr"]


class PrivIncr(AdaptivePrivIncr):
    """The default variant; mode and learning may pick another one."""

    @classmethod
    def variant(cls, parameters: PrivIncrParameters, *, mode: Mode) -> type[PrivIncrVariant]:
        if mode == "paper" and parameters.learning == "adaptive":
            raise UsageError(
                "expected learning=tests in mode paper, found adaptive, which is no paper's"
            )
        if mode == "paper":
            counting = parameters.accumulation == "counts"
            return CountingPrivIncr if counting else PrintedPrivIncr
        return CorrectedPrivIncr if parameters.learning == "tests" else cls
