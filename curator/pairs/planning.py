"""Which tables to measure next, at which level and how precisely.

The distance of a pair's table is predicted as a function of what is measured of it
(`spreads`, `error_curves`). A round's budget goes where the sum of these distances falls most
(`prices`). All of this uses nothing but released numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from .error_curves import ErrorCurves, error_curves, scales_by_distance
from .estimate import PairEstimate
from .evidence import Evidence
from .groups import Pair
from .prices import Plan, share_out
from .singles import SinglePosterior
from .spreads import changes_of_levels, hidden_ratios, spreads_of_levels
from .tree_paths import explained_shares

__all__ = ["plan_tables"]

MAX_NAMED_SHARE: Final = 0.3
"""Most of a round's budget for pairs that parties named.

Their distances are known, and those of other pairs are predicted too small where groups hide much.
So a plan by these numbers alone would measure little else.
"""
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
    curves = []
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
        curves.append(error_curves(part, spreads, scales))
        named = np.array([(distances or {}).get(pair, np.nan) for pair in part.batch.pairs])
        if (flags := ~np.isnan(named)).any():
            before = curves[-1].chosen(flags)
            factors = scales_by_distance(before, named[flags])
            few = [spread.chosen(flags) for spread in spreads]
            curves[-1].put(flags, error_curves(before.evidence, few, scales[:, flags] * factors))
    plan = _shared_out(singles, curves, table_precision=table_precision, power=power)
    of_named = sum(share for (pair, _), share in plan.pairs.items() if pair in (distances or {}))
    is_all = sum(len(part.batch.pairs) for part in evidence) == len(distances or {})
    if not distances or is_all or of_named <= MAX_NAMED_SHARE:
        return plan
    return _with_bounded_share(
        singles, curves, [*distances], table_precision=table_precision, power=power
    )


def _with_bounded_share(
    singles: Mapping[str, SinglePosterior],
    curves: Sequence[ErrorCurves],
    named: Collection[Pair],
    *,
    table_precision: float,
    power: int,
) -> Plan:
    """Plan named pairs and all others apart, each with their part of the budget."""
    plans = []
    for is_named, share in ((True, MAX_NAMED_SHARE), (False, 1 - MAX_NAMED_SHARE)):
        parts = []
        for part in curves:
            flags = np.array([(pair in named) == is_named for pair in part.evidence.batch.pairs])
            if flags.any():
                parts.append(part.chosen(flags))
        count = sum(len(part.evidence.batch.pairs) for part in parts)
        precision = table_precision * share**power
        plan = _shared_out(singles, parts, table_precision=precision, power=power)
        plans.append((plan, share, count))
    amounts: dict[str, float] = {}
    for plan, share, _ in plans:
        for name, amount in plan.singles.items():
            amounts[name] = amounts.get(name, 0.0) + share * amount
    return Plan(
        amounts,
        {table: share * amount for plan, share, _ in plans for table, amount in plan.pairs.items()},
        sum(plan.distance * count for plan, _, count in plans) / sum(part[2] for part in plans),
    )


def _shared_out(
    singles: Mapping[str, SinglePosterior],
    curves: Sequence[ErrorCurves],
    *,
    table_precision: float,
    power: int,
) -> Plan:
    return share_out(
        singles,
        [part.evidence for part in curves],
        [part.squares(table_precision=table_precision, power=power) for part in curves],
        table_precision=table_precision,
        power=power,
    )
