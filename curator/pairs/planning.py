"""Which tables to measure next, at which level and how precisely.

The distance of a pair's table is predicted as a function of what is measured of it
(`spreads`, `error_curves`). A round's budget goes where the sum of these distances falls most
(`prices`). All of this uses nothing but released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from .error_curves import error_curves, scales_by_distance
from .estimate import PairEstimate
from .evidence import Evidence
from .groups import Pair
from .prices import Plan, share_out
from .singles import SinglePosterior
from .spreads import changes_of_levels, hidden_ratios, spreads_of_levels
from .tree_paths import explained_shares

__all__ = ["plan_tables"]

EXPLAINED: Final = 0.8
"""Share of an explained dependence that need not be measured, before models know of paths."""


def plan_tables(
    singles: Mapping[str, SinglePosterior],
    evidence: Sequence[Evidence],
    estimate: PairEstimate | None,
    *,
    table_precision: float,
    power: int,
    discount_paths: bool = False,
    distances: Mapping[Pair, float] | None = None,
) -> Plan:
    """Share out a round's budget.

    Args:
        singles: the posteriors of attributes.
        evidence: what was measured of pairs.
        estimate: the estimate of pairs; `None` before any of them was measured.
        table_precision: the precision of a table that has the whole budget of the round.
        power: how precision grows with a share of the budget: 1 in rho, 2 in epsilon.
        discount_paths: whether to measure a pair less if a path of stronger pairs explains it.
            This is meant for the round after the first one of pairs: later estimates know of paths.
        distances: how far the tables of some pairs are from their estimates, as parties named them.
    """
    changes, ratios, explained = None, None, dict[Pair, float]()
    if estimate is not None:
        changes = changes_of_levels(estimate)
        ratios = hidden_ratios(estimate, changes)
        explained = explained_shares(estimate) if discount_paths else {}
    errors = []
    for place, part in enumerate(evidence):
        spreads = spreads_of_levels(
            part.batch,
            singles,
            levels=None if estimate is None else estimate.levels[place],
            copula_distances=None if estimate is None else estimate.copula_distances[place],
            ratios=ratios,
            changes=None if changes is None else changes[place],
        )
        open_shares = np.array(
            [1 - EXPLAINED * explained.get(pair, 0.0) for pair in part.batch.pairs]
        )
        scales = np.tile(open_shares, (part.batch.levels, 1))
        curves = error_curves(part, spreads, scales)
        named = np.array([(distances or {}).get(pair, np.nan) for pair in part.batch.pairs])
        if not np.isnan(named).all():
            curves = error_curves(part, spreads, scales * scales_by_distance(curves, named))
        errors.append(curves.squares(table_precision=table_precision, power=power))
    return share_out(singles, evidence, errors, table_precision=table_precision, power=power)
