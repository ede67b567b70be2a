"""NoIncremental: PrivIncr with all edges asked at once. The baseline without increments.

Wang et al. 2023 (PrivIncr), section 6.1. `mode=paper` is the paper's baseline. With the corrected
test it is a fair one.

    trust       no one: every user randomizes her own value
    who learns  everybody: noisy tables of pairs and of cliques, the graph, the synthetic table
    messages    users: their number; a plan and reports for all pairs, and once more for the cliques
    rounds      5
    privacy     epsilon for each user, who reports once
"""

from __future__ import annotations

from typing import ClassVar

from ..options import Mode
from .corrected import CorrectedPrivIncr
from .parameters import NoIncrementalParameters, PrivIncrParameters, Test
from .printed import CountingPrivIncr, PrintedPrivIncr
from .variant import PrivIncrVariant

__all__ = ["CountingNoIncremental", "NoIncremental", "PrintedNoIncremental"]


class PrintedNoIncremental(PrintedPrivIncr):
    """The paper's baseline: one round, and the threshold of equation 15."""

    name = "no-incremental"
    summary = "PrivIncr in one round: the baseline without increments"
    paper = "Wang et al. 2023, section 6.1"
    Parameters = NoIncrementalParameters
    default_test: ClassVar[Test] = "plain"


class CountingNoIncremental(CountingPrivIncr):
    """The paper's baseline with the reading of property 5.1, which matters for attributes alone."""

    name = PrintedNoIncremental.name
    summary = PrintedNoIncremental.summary
    paper = PrintedNoIncremental.paper
    Parameters = NoIncrementalParameters
    default_test: ClassVar[Test] = "plain"


class NoIncremental(CorrectedPrivIncr):
    """The baseline with the corrected test; mode paper picks the printed one."""

    name = "no-incremental"
    summary = PrintedNoIncremental.summary
    paper = PrintedNoIncremental.paper
    Parameters = NoIncrementalParameters

    @classmethod
    def variant(cls, parameters: PrivIncrParameters, *, mode: Mode) -> type[PrivIncrVariant]:
        if mode == "paper":
            counting = parameters.accumulation == "counts"
            return CountingNoIncremental if counting else PrintedNoIncremental
        return cls
