"""OptimalMerging: cliques put together into fewer clusters, so that each cluster's table gets more
of the budget.

With m clusters each table has noise of scale 2 m / epsilon in every cell. A cluster CL of |CL|
cliques serves each of them, so the variance of all cliques' tables is (JTree, definition 2)

    8 m^2 / epsilon^2 * sum over clusters of |CL| * product over its attributes of their labels

where all have the same budget. Where budgets go by size, cluster j gets a share as sqrt(S_j), with
S_j the sum over its cliques C of sqrt(cells of CL * cells of C), the absolute error of their tables
at one scale; all errors together are then least, as the square of the sum of sqrt(S_j).

NP-hard. Few cliques: exactly, over all partitions by subsets. More: every number of clusters from
all to one by the cheapest union, and from the best of them downhill by single moves. The paper's
integer program (equation 6) has the same value for every partition, as its exponent should be
max(0, sum - 1) (spec J4): what CCCP finds there is not what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from math import prod, sqrt
from typing import Final, Literal, TypeAlias

import numpy as np

from ..privacy.domain import Domain

__all__ = ["merge", "printed_objective", "variance_of"]

Budgets: TypeAlias = Literal["equal", "by size"]
Clique: TypeAlias = tuple[str, ...]
Partition: TypeAlias = tuple[int, ...]
"""Sets of cliques, each as bits of a number."""
Cost: TypeAlias = Callable[[int], float]
"""Of a set of cliques that are one cluster."""

EXACT: Final = 12
"""Cliques that are partitioned exactly: 3^12 / 2 pairs of sets."""
LEVELS: Final = 6
"""Numbers of clusters from which we go downhill, of more cliques than that."""


def variance_of(clusters: Sequence[Sequence[Clique]], domain: Domain, *, epsilon: float) -> float:
    """Compute definition 2 of a partition of cliques.

    >>> domain = Domain({name: tuple("abcd"[:size]) for name, size in zip("123456", (2, 2, 3, 4, 3, 2))})
    >>> one, two, three, four = (("1", "2"), ("2", "3", "4"), ("3", "4", "5"), ("4", "6"))
    >>> [variance_of(own, domain, epsilon=1) for own in ([[one], [two], [three], [four]], [[one, four], [two, three]])]
    [9216.0, 6656.0]
    """
    cells = sum(
        len(own) * domain.cells(sorted({name for clique in own for name in clique}))
        for own in clusters
    )
    return 8 * len(clusters) ** 2 / epsilon**2 * cells


def merge(cliques: Sequence[Clique], domain: Domain, *, budgets: Budgets = "equal") -> list[Clique]:
    """Find clusters of the least variance, or nearly; what is contained in another cluster is
    dropped.
    """
    if not cliques:
        return []
    sizes = domain.shape(domain.attributes)
    places = {name: at for at, name in enumerate(domain.attributes)}
    members = [frozenset(places[name] for name in own) for own in cliques]

    @cache
    def cost(block: int) -> float:
        union = frozenset[int]().union(*(members[at] for at in _bits(block)))
        cells = prod(sizes[at] for at in union)
        if budgets == "equal":
            return float(block.bit_count() * cells)
        return sqrt(
            sum(sqrt(cells * prod(sizes[own] for own in members[at])) for at in _bits(block))
        )

    power = 2 if budgets == "equal" else 0
    best = (_exactly if len(cliques) <= EXACT else _downhill)(len(cliques), cost, power)
    unions = {frozenset[int]().union(*(members[at] for at in _bits(block))) for block in best}
    kept = sorted(sorted(own) for own in unions if not any(own < other for other in unions))
    return [tuple(domain.attributes[at] for at in own) for own in kept]


def printed_objective(clusters: Sequence[Sequence[Clique]], domain: Domain) -> float:
    """Compute the sum within the logarithm of equation 6, as printed, without the stray product
    over j: for the record.
    """
    total = 0.0
    for own in clusters:
        over = prod(domain.cells(clique) for clique in own) * len(own)
        times = {name: sum(name in clique for clique in own) for name in domain.attributes}
        under = prod(
            float(domain.cells((name,))) ** (times[name] - 1) for name in domain.attributes
        )
        total += over / under
    return total


def _bits(block: int) -> Iterator[int]:
    while block:
        low = block & -block
        yield low.bit_length() - 1
        block ^= low


def _exactly(count: int, cost: Cost, power: int) -> Partition:
    """Go through all sets of cliques; the block that has the first of a set is chosen, the rest is
    known.
    """
    whole = 1 << count
    costs = np.array([0.0, *(cost(block) for block in range(1, whole))])
    least = np.full((count + 1, whole), np.inf)
    """The least sum of costs of a set in so many blocks."""
    chosen = np.zeros((count + 1, whole), np.int64)
    least[0, 0] = 0.0
    for own in range(1, whole):
        blocks = np.array([own & -own])
        for at in _bits(own & (own - 1)):
            blocks = np.concatenate([blocks, blocks | 1 << at])
        sums = costs[blocks] + least[:-1, own ^ blocks]
        first = sums.argmin(axis=1)
        least[1:, own] = sums[np.arange(count), first]
        chosen[1:, own] = blocks[first]
    number = 1 + int(np.argmin(np.arange(1, count + 1) ** power * least[1:, -1]))
    found, left = [], whole - 1
    for blocks_left in range(number, 0, -1):
        found.append(int(chosen[blocks_left, left]))
        left ^= found[-1]
    return tuple(found)


def _downhill(count: int, cost: Cost, power: int) -> Partition:
    """Unite the two blocks that this makes cheapest, from single cliques to one block; then go
    downhill from the best.
    """
    level: Partition = tuple(1 << at for at in range(count))
    levels = [level]
    while len(level) > 1:
        one, other = min(
            combinations(level, 2),
            key=lambda own: cost(own[0] | own[1]) - cost(own[0]) - cost(own[1]),
        )
        level = (*(block for block in level if block not in (one, other)), one | other)
        levels.append(level)
    levels.sort(key=lambda own: _value(own, cost, power))
    return min(
        (_descend(own, cost, power) for own in levels[:LEVELS]),
        key=lambda own: _value(own, cost, power),
    )


def _value(partition: Partition, cost: Cost, power: int) -> float:
    return float(len(partition) ** power * sum(map(cost, partition)))


def _descend(partition: Partition, cost: Cost, power: int) -> Partition:
    """Take the best of all single steps, while there is one that is better."""
    while True:
        total = sum(map(cost, partition))
        best, change = _value(partition, cost, power) * (1 - 1e-12), None
        for gone, new in _neighbours(partition):
            blocks = len(partition) - len(gone) + len(new)
            value = blocks**power * (total + sum(map(cost, new)) - sum(map(cost, gone)))
            if value < best:
                best, change = value, (gone, new)
        if change is None:
            return partition
        gone, new = change
        partition = (*(block for block in partition if block not in gone), *new)


def _neighbours(partition: Partition) -> Iterator[tuple[Partition, Partition]]:
    """List single steps: blocks that go, and those that come. Unite two, move a clique, split one
    off, swap two.
    """
    for own in partition:
        if own & (own - 1):
            for at in _bits(own):
                yield (own,), (own ^ 1 << at, 1 << at)
    for one, other in combinations(partition, 2):
        yield (one, other), (one | other,)
        for here, there in ((one, other), (other, one)):
            if here & (here - 1):
                for at in _bits(here):
                    yield (here, there), (here ^ 1 << at, there | 1 << at)
        if (one & (one - 1)) and (other & (other - 1)):
            for at in _bits(one):
                for to in _bits(other):
                    yield (one, other), (one ^ 1 << at | 1 << to, other ^ 1 << to | 1 << at)
