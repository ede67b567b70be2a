"""How parties choose the edges of the tree in turn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ...curator.spanning_forest import SpanningForest
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import Budget
from ...privacy.exponential import choose
from ..adaptive_pairs.tables import count_tables
from ..aim.workload import DISTANCE_CHANGE
from ..secure_sum import Family
from .messages import Shares
from .rare_labels import MergedLabels

__all__ = ["choose_edges", "quota_in_turn", "quotas", "rows_of_members"]


def quotas(edges: int, *, rows: Sequence[int]) -> list[int]:
    """Share out the edges among parties with so many rows.

    A party of n rows that chooses q edges spends rho / q on each, so the precision of its choices
    grows with n^2 / q. The least precision of all parties is made as large as possible.

    >>> quotas(14, rows=[1000, 1000, 1000]), quotas(14, rows=[2000, 1000, 0])
    ([5, 5, 4], [12, 2, 0])
    """
    numbers = [0] * len(rows)
    for _ in range(edges):
        precisions = [count**2 / (number + 1) for count, number in zip(rows, numbers, strict=True)]
        numbers[precisions.index(max(precisions))] += 1
    return numbers


def rows_of_members(rows: Sequence[int], members: Sequence[int]) -> list[int]:
    """List the rows of each party; parties that are not among the members count as empty."""
    return [count if party in members else 0 for party, count in enumerate(rows, start=1)]


def quota_in_turn(party: int, numbers: Sequence[int], *, left: int, rows: Sequence[int]) -> int:
    """Give a party's quota when its turn comes and so many edges are left.

    It is the one that was planned, unless a party was lost before it chose. The later ones of those
    that have a turn then share its edges. A larger quota costs no more: a party divides one budget
    among all its choices.

    >>> numbers = quotas(14, rows=[1000, 1000, 1000])
    >>> [quota_in_turn(party, numbers, left=left, rows=[1000] * 3)
    ...  for party, left in ((2, 9), (2, 14), (3, 7))]
    [5, 7, 7]

    Args:
        party: the party on turn.
        numbers: the planned quotas.
        left: the number of edges that are missing.
        rows: the rows of each party.
    """
    later = [
        count if number else 0
        for count, number in zip(rows[party - 1 :], numbers[party - 1 :], strict=True)
    ]
    return quotas(left, rows=later)[0]


def choose_edges(
    me: Party,
    merged: MergedLabels,
    shares: Shares,
    forest: SpanningForest,
    *,
    quota: int,
    budget: Budget,
) -> list[Family]:
    """Choose edges for the forest: pairs of attributes that are far from independent.

    Args:
        me: The party on turn.
        merged: The groups of labels.
        shares: The published shares of each attribute's groups.
        forest: The edges so far; the new ones are added.
        quota: The number of new edges.
        budget: The budget of all of them.
    """
    pairs = [pair for pair in combinations(shares, 2) if forest.joins(*pair)]
    distances = _distances(me.records, merged, shares, pairs)
    chosen: list[Family] = []
    for _ in range(quota):
        left = [index for index, pair in enumerate(pairs) if forest.joins(*pair)]
        choice = choose(
            distances[left], sensitivity=DISTANCE_CHANGE, budget=budget.share(1 / quota)
        )
        # The choice is released to the curator, and so to the public.
        chosen.append(pairs[left[me.release(choice, to=CURATOR)]])
        forest.add(*chosen[-1])
        me.progress(len(chosen), of=quota)
    return chosen


def _distances(
    records: Records, merged: MergedLabels, shares: Shares, pairs: Sequence[tuple[str, str]]
) -> npt.NDArray[np.float64]:
    """Compute the distance in L1 of each pair's table from independent attributes."""
    counted = count_tables(records, [merged.planned(pair) for pair in pairs])
    return np.array(
        [
            np.abs(counts - len(records) * np.outer(shares[first], shares[second]).ravel()).sum()
            for (first, second), counts in zip(pairs, counted, strict=True)
        ]
    )
