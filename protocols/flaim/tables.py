"""The tables of a round: what a party adds to their sum, and what the curator reads from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...curator import Estimate, Marginal
from ..aim.workload import Counts
from ..secure_sum import CuratorSums, Family
from .plan import RoundPlan

__all__ = ["counts_of_party", "receive_tables"]


def counts_of_party(
    tables: Mapping[Family, Counts],
    singles: Sequence[Family],
    measured: Sequence[Family],
    *,
    choice: Family,
) -> Iterator[Counts]:
    """Give a party's tables of a round: single attributes, its own choice, and zeros."""
    for family in singles:
        yield tables[family]
    for family in measured:
        yield tables[family] if family == choice else np.zeros_like(tables[family])


def receive_tables(
    sums: CuratorSums,
    plan: RoundPlan,
    chosen: Mapping[int, Family],
    measured: Sequence[Family],
    *,
    number: int,
) -> tuple[list[Estimate], list[Estimate]]:
    """Receive the single attributes and the chosen tables of a round. Called by the curator.

    A chosen table has the records of the parties that chose it and are in the sum. It is scaled to
    all rows, and its variance with it; a table without a row behind it is left out.
    """
    domain, singles = plan.domain, plan.singles_in(number)
    batch = plan.batch(number, tuple(measured))
    families = (*singles, *measured)
    cells = sums.total(batch)
    variance = sums.variance(batch)  # of the parties whose tables have arrived
    ends = np.cumsum([domain.cells(family) for family in families])[:-1]
    values = np.split(cells.astype(np.float64), ends)
    again = [
        Estimate(Marginal.of(domain, family, table), variance)
        for family, table in zip(singles, values, strict=False)
    ]
    tables = []
    for family, table in zip(measured, values[len(singles) :], strict=True):
        rows = sum(
            max(sums.rows_by_party[party - 1], 0)
            for party in sums.members
            if chosen.get(party) == family
        )
        if rows:
            factor = sums.rows / rows
            scaled = Marginal.of(domain, family, factor * table)
            tables.append(Estimate(scaled, factor**2 * variance))
    return again, tables
