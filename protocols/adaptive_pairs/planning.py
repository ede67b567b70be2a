"""Which tables each round measures, and with which precision: from public or released figures.

The precision of a table is 1 over the variance of its frequencies. In rho a round's precision is
shared out: table i has w_i^2 / sum of w^2 of what it would have alone. In epsilon it has
(w_i / sum of w)^2 of that, so a budget of epsilon is better spent on few tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from ...curator.pair_planning import Planning
from ...curator.pair_tables import PairTables
from ...privacy import Domain
from ..secure_sum import Family
from .tables import MeasuredTable, PlannedTable, integer_weights, precisions

__all__ = ["plan_round", "planning_of"]

MIN_SHARE: Final = 5e-5
"""Tables that would get less of a round's precision are left out."""


def plan_round(
    domain: Domain,
    beliefs: PairTables | None,
    *,
    measured: Sequence[MeasuredTable],
    alone: float,
    power: int,
) -> list[PlannedTable]:
    """Plan the tables of a round.

    Args:
        domain: attributes of two labels or more.
        beliefs: the estimate so far; `None` in round 1, whose plan all roles compute.
        measured: the tables of the rounds so far.
        alone: the precision that a single table would have in this round.
        power: how precision grows with a table's share of the round: 1 in rho, 2 in epsilon.
    """
    if beliefs is None:
        amounts = _first_amounts(domain, power=power)
    else:
        planning = planning_of(domain, beliefs)
        amounts = planning.share_out(
            precisions(measured), alone, least=MIN_SHARE * alone, power=power
        )
    return [
        PlannedTable(attributes, weight) for attributes, weight in integer_weights(amounts).items()
    ]


def planning_of(domain: Domain, beliefs: PairTables) -> Planning:
    """Make the predictions of what precision would gain, after this estimate."""
    planning = Planning(domain, _candidates(domain), lambda _: (1.0, 0.0))
    planning.learn(beliefs)
    return planning


def _candidates(domain: Domain) -> list[Family]:
    names = domain.attributes
    return [*((name,) for name in names), *combinations(names, 2)]


def _first_amounts(domain: Domain, *, power: int) -> dict[Family, float]:
    """Weigh all single attributes and pairs by their cells.

    The sum of all cells' absolute errors is least where the weight w grows with the cube root of
    the number of cells in rho, and with the root in epsilon. A single attribute is part of many
    pairs, so it counts as often in rho as half of them.
    """
    exponent = 2 / 3 if power == 1 else 1.0
    repeats = (len(domain.attributes) / 2) ** (1.5 * exponent)
    return {
        attributes: float(domain.cells(attributes) ** exponent)
        * (repeats if len(attributes) == 1 else 1.0)
        for attributes in _candidates(domain)
    }
