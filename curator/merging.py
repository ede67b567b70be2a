"""OptimalMerging: cliques are merged into fewer clusters, so that each table gets more budget.

With m clusters each table has noise of scale 2 m / epsilon in every cell. A cluster CL of |CL|
cliques serves each of them, so the variance of all cliques' tables is (JTree, definition 2)

    8 m^2 / epsilon^2 * sum over clusters of |CL| * (cells of the cluster)

if all have the same budget. If budgets depend on size, cluster j gets a share proportional to
sqrt(S_j). S_j is the sum over its cliques C of sqrt(cells of CL * cells of C), the absolute error
of their tables at one scale. The total error is then the least possible: the square of the sum of
sqrt(S_j).

The problem is NP-hard. For few cliques all partitions are searched, by subsets. For more cliques
the cheapest union gives a partition for every number of clusters, and from the best of these single
moves go downhill. The paper's integer program (equation 6) has the same value for every partition,
because its exponent should be max(0, sum - 1) (spec J4). So CCCP does not find the best merging
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from math import prod, sqrt
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from ..privacy.domain import Domain

__all__ = ["merge", "printed_objective", "variance_of"]

Budgets: TypeAlias = Literal["equal", "by size"]
Clique: TypeAlias = tuple[str, ...]
Partition: TypeAlias = tuple[int, ...]
"""Blocks of cliques. A block is a number: its bits say which cliques belong to it."""
Cost: TypeAlias = Callable[[int], float]
"""Cost of a block of cliques that become one cluster."""

MAX_EXACT: Final = 12
"""Largest number of cliques for which all partitions are searched: 3^12 / 2 pairs of sets."""
STARTS: Final = 6
"""Number of partitions from which single moves go downhill."""


def variance_of(clusters: Sequence[Sequence[Clique]], domain: Domain, *, epsilon: float) -> float:
    """Compute the variance of a partition of cliques by definition 2.

    >>> sizes = dict(zip("123456", (2, 2, 3, 4, 3, 2)))
    >>> domain = Domain({name: tuple("abcd"[:size]) for name, size in sizes.items()})
    >>> a, b, c, d = (("1", "2"), ("2", "3", "4"), ("3", "4", "5"), ("4", "6"))
    >>> variance_of([[a], [b], [c], [d]], domain, epsilon=1)
    9216.0
    >>> variance_of([[a, d], [b, c]], domain, epsilon=1)
    6656.0
    """
    cells = sum(
        len(cluster) * domain.cells(sorted({name for clique in cluster for name in clique}))
        for cluster in clusters
    )
    return 8 * len(clusters) ** 2 / epsilon**2 * cells


def merge(cliques: Sequence[Clique], domain: Domain, *, budgets: Budgets = "equal") -> list[Clique]:
    """Find clusters with the least or nearly the least variance.

    A cluster that another one contains is dropped.
    """
    if not cliques:
        return []
    sizes = domain.shape(domain.attributes)
    places = {name: place for place, name in enumerate(domain.attributes)}
    members = [frozenset(places[name] for name in clique) for clique in cliques]

    def union(block: int) -> frozenset[int]:
        return frozenset[int]().union(*(members[index] for index in _bits(block)))

    @cache
    def cost(block: int) -> float:
        cells = prod(sizes[place] for place in union(block))
        if budgets == "equal":
            return float(block.bit_count() * cells)
        cells_of_cliques = (
            prod(sizes[place] for place in members[index]) for index in _bits(block)
        )
        return sqrt(sum(sqrt(cells * own_cells) for own_cells in cells_of_cliques))

    power = 2 if budgets == "equal" else 0
    search = _search_all if len(cliques) <= MAX_EXACT else _search_downhill
    unions = {union(block) for block in search(len(cliques), cost, power)}
    clusters = sorted(
        sorted(places) for places in unions if not any(places < other for other in unions)
    )
    return [tuple(domain.attributes[place] for place in cluster) for cluster in clusters]


def printed_objective(clusters: Sequence[Sequence[Clique]], domain: Domain) -> float:
    """Compute the sum within the logarithm of equation 6 as printed, to show that it is constant.

    The stray product over j is left out.
    """
    total = 0.0
    for cluster in clusters:
        numerator = prod(domain.cells(clique) for clique in cluster) * len(cluster)
        counts = {name: sum(name in clique for clique in cluster) for name in domain.attributes}
        denominator = prod(
            float(domain.cells((name,))) ** (counts[name] - 1) for name in domain.attributes
        )
        total += numerator / denominator
    return total


def _bits(block: int) -> Iterator[int]:
    while block:
        low = block & -block
        yield low.bit_length() - 1
        block ^= low


def _search_all(count: int, cost: Cost, power: int) -> Partition:
    """Search all partitions, by dynamic programming over sets of cliques.

    For each set the block that holds its first clique is chosen; the rest is a smaller set.
    """
    whole = 1 << count
    costs = np.array([0.0, *(cost(block) for block in range(1, whole))])
    least = np.full((count + 1, whole), np.inf)
    """The least cost of each set, by number of blocks."""
    choice = np.zeros((count + 1, whole), np.int64)
    least[0, 0] = 0.0
    for cliques in range(1, whole):
        blocks = np.array([cliques & -cliques])
        for index in _bits(cliques & (cliques - 1)):
            blocks = np.concatenate([blocks, blocks | 1 << index])
        sums = costs[blocks] + least[:-1, cliques ^ blocks]
        best = sums.argmin(axis=1)
        least[1:, cliques] = sums[np.arange(count), best]
        choice[1:, cliques] = blocks[best]
    number = 1 + int(np.argmin(np.arange(1, count + 1) ** power * least[1:, -1]))
    partition, remaining = [], whole - 1
    for blocks_left in range(number, 0, -1):
        partition.append(int(choice[blocks_left, remaining]))
        remaining ^= partition[-1]
    return tuple(partition)


def _search_downhill(count: int, cost: Cost, power: int) -> Partition:
    """Merge the two blocks whose union is cheapest until one is left; improve the best levels."""
    blocks = [1 << index for index in range(count)]
    """All blocks so far, the new ones last."""
    alive = list(range(count))
    prices = np.full((2 * count, 2 * count), np.inf)
    """The price of the union of two blocks; infinite where one of them is gone."""

    def fill(second: int) -> None:
        for first in alive:
            if first < second:
                both = cost(blocks[first] | blocks[second])
                prices[first, second] = both - cost(blocks[first]) - cost(blocks[second])

    for index in alive:
        fill(index)
    levels: list[Partition] = [tuple(blocks)]
    while len(alive) > 1:
        first, second = divmod(int(prices.argmin()), 2 * count)
        for gone in (first, second):
            alive.remove(gone)
            prices[gone] = prices[:, gone] = np.inf
        blocks.append(blocks[first] | blocks[second])
        fill(len(blocks) - 1)
        alive.append(len(blocks) - 1)
        levels.append(tuple(blocks[index] for index in alive))

    def value(partition: Partition) -> float:
        return _value(partition, cost, power)

    levels.sort(key=value)
    return min((_descend(level, cost, power) for level in levels[:STARTS]), key=value)


def _value(partition: Partition, cost: Cost, power: int) -> float:
    return float(len(partition) ** power * sum(map(cost, partition)))


class _Moves(NamedTuple):
    """Single moves: the blocks that each replaces, and those that it makes."""

    old: list[Partition]
    new: list[Partition]
    old_costs: list[float]
    new_costs: list[float]

    def add(self, further: _Moves) -> None:
        """Append other moves."""
        self.old.extend(further.old)
        self.new.extend(further.new)
        self.old_costs.extend(further.old_costs)
        self.new_costs.extend(further.new_costs)

    @classmethod
    def within(cls, blocks: Partition, cost: Cost) -> _Moves:
        """List the moves within one block, or between two."""
        moves = list(_moves_within(*blocks) if len(blocks) == 1 else _moves_between(*blocks))
        return cls(
            [old for old, _ in moves],
            [new for _, new in moves],
            [sum(map(cost, old)) for old, _ in moves],
            [sum(map(cost, new)) for _, new in moves],
        )


def _descend(partition: Partition, cost: Cost, power: int) -> Partition:
    """Take the best single move, as long as one is an improvement."""
    moves_of: dict[Partition, _Moves] = {}
    while True:
        total = sum(map(cost, partition))
        all_moves = _Moves([], [], [], [])
        for blocks in chain(((block,) for block in partition), combinations(partition, 2)):
            if blocks not in moves_of:
                moves_of[blocks] = _Moves.within(blocks, cost)
            all_moves.add(moves_of[blocks])
        if not all_moves.old:
            return partition
        sizes = np.array(
            [len(partition) + len(new) - len(old) for old, new in zip(*all_moves[:2], strict=True)]
        )
        values = sizes**power * (total + np.array(all_moves.new_costs) - all_moves.old_costs)
        best = int(values.argmin())
        if not values[best] < _value(partition, cost, power) * (1 - 1e-12):
            return partition
        old, new = all_moves.old[best], all_moves.new[best]
        partition = (*(block for block in partition if block not in old), *new)


def _moves_within(block: int) -> Iterator[tuple[Partition, Partition]]:
    """List the moves that split off a clique, as the blocks that they replace and the new ones."""
    if block & (block - 1):
        for index in _bits(block):
            yield (block,), (block ^ 1 << index, 1 << index)


def _moves_between(first: int, second: int) -> Iterator[tuple[Partition, Partition]]:
    """List the moves that merge two blocks, move a clique, or swap two cliques."""
    yield (first, second), (first | second,)
    for source, target in ((first, second), (second, first)):
        if source & (source - 1):
            for index in _bits(source):
                yield (source, target), (source ^ 1 << index, target | 1 << index)
    if (first & (first - 1)) and (second & (second - 1)):
        for i in _bits(first):
            for j in _bits(second):
                yield (first, second), (first ^ 1 << i | 1 << j, second ^ 1 << j | 1 << i)
