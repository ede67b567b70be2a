"""The budget of a run that learns its schema: one measure for the stage and for what comes after.

Epsilon and rho add up by themselves, and a run is converted once. So what is learnt and what comes
after have noise of one kind.
"""

from __future__ import annotations

from typing import Any

from ...privacy.budget import Budget, Unit
from .rounds import TEXTS_DELTA

__all__ = ["rest_of_budget", "whole_budget"]


def whole_budget(epsilon: float, *, delta: float, columns: int, unit: Unit | None) -> Budget:
    """Give the budget of a whole run, beside the delta that texts may spend.

    Args:
        epsilon: the epsilon that the run claims.
        delta: the delta of the run.
        columns: the number of columns that are learnt.
        unit: the measure; `None` takes the one in which so many histograms have less noise.
    """
    pure = Budget("epsilon", epsilon)
    if unit == "epsilon" or (unit is None and delta == 0):
        return pure
    concentrated = Budget.of(epsilon, delta=delta * (1 - TEXTS_DELTA))
    # d histograms change by 2 d in L1, and by 2 d in squared L2. Their variances are
    # 2 (2 d / epsilon)^2 and 2 d / 2 rho.
    is_smaller = columns / concentrated.amount < 8 * (columns / epsilon) ** 2
    return concentrated if unit == "rho" or is_smaller else pure


def rest_of_budget(whole: Budget, *, share: float, delta: float) -> dict[str, Any]:
    """Give the parameters of the protocol that comes after a stage with this share."""
    rest = delta * (1 - TEXTS_DELTA)
    return {"epsilon": whole.share(1 - share).epsilon(delta=rest), "delta": rest}
