"""AugFLAIM (private): FLAIM whose parties avoid tables in which they are unlike the others.

The variant "private" of the paper. Three steps of FLAIM (`protocol`) change:

    3  candidates   pairs alone: single attributes are measured in every round anyway ("filter")
    4  select       a party subtracts from a table's distance how far its own single attributes
                    of the table are from those of all parties, as measured so far
    5  measure      all parties also measure all single attributes again, in every round but the
                    last; they go into the model, too ("combine")

Privacy: d (T - 1) more tables share the budget. A score has a second distance in it, so its
sensitivity doubles.

The variant "non-private" of the paper subtracts the exact distance of the table itself from that of
all parties. It is no protocol: no epsilon holds for it, and nobody has the exact table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...curator.graphical_model import GraphicalModel
from ...parties import Party
from ..aim.workload import Counts
from ..secure_sum import Family
from .choosing import AUGMENTED_CHANGE, unlikeness
from .messages import Messages, read_shares
from .plan import RoundPlan
from .protocol import FLAIM

__all__ = ["AugFLAIM"]


class AugFLAIM(FLAIM):
    """Publish a table of all parties' records; choices allow for how unlike parties are."""

    name = "aug-flaim"
    summary = "FLAIM whose parties avoid the pairs in which they are unlike the others"
    paper = "Maddock, Cormode, Maple 2024 (AugFLAIM, private)"
    remeasures: ClassVar[bool] = True
    score_change: ClassVar[int] = AUGMENTED_CHANGE

    def candidates(
        self, plan: RoundPlan, model: GraphicalModel, *, max_cells: float
    ) -> list[Family]:
        """List the pairs that fit, or the single attributes where no pair does."""
        families = super().candidates(plan, model, max_cells=max_cells)
        return [family for family in families if len(family) > 1] or families

    def average(self, shares: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Average the shares of labels over all measurements so far."""
        return np.asarray(np.mean(shares, axis=0))

    def corrections(
        self,
        me: Party,
        plan: RoundPlan,
        tables: Mapping[Family, Counts],
        message: Messages.Model,
        candidates: Sequence[Family],
    ) -> npt.NDArray[np.float64]:
        """Compute how unlike the others the party is in each candidate's attributes."""
        shares = read_shares(message.shares, plan.workload, where=me.where)
        return unlikeness(tables, shares, candidates, rows=len(me.records))
