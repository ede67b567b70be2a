"""The budget of a run that learns its schema: one measure for the stage and for what comes after.

Epsilon and rho add up by themselves, and a run is converted once. So what is learnt and what comes
after have noise of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...parties import Learnt, SchemaPlan
from ...privacy import Domain
from ...privacy.budget import Budget, Unit
from ..secure_sum.summing import LAWS
from .rounds import TEXTS_DELTA

__all__ = ["delta_of_rest", "expected_domain", "rest_of_budget", "whole_budget"]


def delta_of_rest(delta: float) -> float:
    """Give the delta that texts do not spend."""
    return delta * (1 - TEXTS_DELTA)


def whole_budget(
    candidates: Sequence[Budget], *, unit: Unit | None, variance: Callable[[Budget], float]
) -> Budget:
    """Choose the budget of a whole run.

    Args:
        candidates: amounts of epsilon or of rho that the claim allows.
        unit: the measure of the protocol that comes after; `None` takes the one in which the counts
            of a column have less noise.
        variance: the variance of these counts if a budget is taken (`Rounds.variance`).
    """
    fitting = [budget for budget in candidates if unit in (None, budget.unit)]
    return min(fitting or candidates, key=variance)


def rest_of_budget(whole: Budget, *, share: float, delta: float) -> dict[str, Any]:
    """Give the parameters of the protocol that comes after a stage with this share."""
    rest = delta_of_rest(delta)
    epsilon = whole.share(1 - share).epsilon(delta=rest)
    return {"epsilon": epsilon, "delta": rest, "noise": LAWS[whole.unit]}


def expected_domain(plan: SchemaPlan) -> Domain:
    """Make a domain of the size that a plan may lead to, for plans of what comes after."""
    return Domain(
        {
            name: tuple(map(str, range(rule.bins))) if isinstance(rule, Learnt) else rule.labels
            for name, rule in plan.attributes.items()
        }
    )
