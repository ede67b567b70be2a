"""The budget of a run that learns its schema: one measure for the stage and for the protocol after.

Epsilon and rho add up by themselves, and a run is converted once. So what is learnt and what comes
after must have noise of one kind.
"""

from __future__ import annotations

from typing import Any

from ...privacy.budget import Budget
from ..secure_sum import SumOptions
from .rounds import TEXTS_DELTA

__all__ = ["rest_of_budget", "whole_budget"]


def whole_budget(options: SumOptions) -> Budget:
    """Give the budget of a whole run, beside the delta that texts may spend."""
    epsilon = float(getattr(options, "epsilon"))  # noqa: B009 - only subclasses have the field
    return Budget("epsilon", epsilon)


def rest_of_budget(whole: Budget, *, share: float, delta: float) -> dict[str, Any]:
    """Give the parameters of the protocol that comes after a stage with this share."""
    rest = delta * (1 - TEXTS_DELTA)
    return {"epsilon": whole.share(1 - share).epsilon(delta=rest), "delta": rest}
