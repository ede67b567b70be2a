"""Taxonomies, and how they are descended: DiffGen once the class counts are there (Mohammed et al.
2011, algorithm 1).

An attribute's taxonomy is binary, and its nodes are ranges of the published list of labels. Of bins
a range is split where it tells classes apart best; of categories, for which a schema has no
taxonomy, at the middle of the list, the smaller half first: so the order in which a schema lists
them is a choice, and a public one. That labels are bins is read off the labels.

The cut of an attribute is the ranges that it is divided into. A group of records is a choice of one
range of every cut, and specialising a node divides *every* group in which it stands. Its score is
therefore that of all records under it, whatever their other attributes: the class counts of single
attributes decide everything, and never change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ...curator.marginal import Numbers
from ...messages import UsageError
from ...privacy import Domain
from ..secure_sum import SumBatch, Tables
from .scores import Score, score_splits

__all__ = ["Cuts", "Node", "Pick", "Plan", "are_bins", "specialise"]

Cuts: TypeAlias = dict[str, tuple[int, ...]]
"""Of each predictor the borders of its ranges, from 0 to the number of labels."""
Pick: TypeAlias = Callable[[Sequence[Numbers]], Sequence[int]]
"""Chooses one candidate by each list of scores; the lists are of different nodes."""

BIN: Final = re.compile(r"([\[(])([^\[\](),\s]+), ([^\[\](),\s]+)\]")


class Node(NamedTuple):
    """A range of an attribute's labels, from `low` up to but not including `high`."""

    attribute: str
    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high - self.low


def are_bins(labels: Sequence[str]) -> bool:
    """Say whether labels are of bins, each of which begins where the one before ended; one label
    for missing values may follow.

    >>> are_bins(["[0, 5]", "(5, 9]", "?"]), are_bins(["(5, 9]", "[0, 5]"]), are_bins(["red", "green"])
    (True, False, False)
    """
    found = [BIN.fullmatch(label) for label in labels]
    bins = [match.groups() for match in (found if found[-1] else found[:-1]) if match]
    if not bins or len(bins) < len(labels) - (found[-1] is None):
        return False
    return [opening for opening, _, _ in bins] == ["[", *"(" * (len(bins) - 1)] and all(
        before[2] == after[1] for before, after in pairwise(bins)
    )


@dataclass(frozen=True)
class Plan:
    """What everybody knows before a record is looked at."""

    domain: Domain
    target: str
    epsilon: float
    specialisations: int
    score: Score
    most_cells: int

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise UsageError(
                f"expected two or more labels of the target {self.target}, found 1: name another by target"
            )
        if not self.predictors:
            raise UsageError(
                f"expected an attribute of two or more labels beside the target {self.target}, found none"
            )
        if self.classes > self.most_cells:
            raise UsageError(
                f"expected most_cells of at least the {self.classes} labels of {self.target}, found {self.most_cells}"
            )

    @property
    def classes(self) -> int:
        return self.domain.cells([self.target])

    @cached_property
    def predictors(self) -> tuple[str, ...]:
        """What can be specialised."""
        return tuple(
            name
            for name in self.domain.attributes
            if name != self.target and self.domain.cells([name]) > 1
        )

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Those with split points to choose."""
        labels = self.domain.labels
        return tuple(
            name for name in self.predictors if len(labels[name]) > 2 and are_bins(labels[name])
        )

    @property
    def of_one_choice(self) -> float:
        """Epsilon of each use of the exponential mechanism, of which there are at most |numeric| +
        2 h: half of all.
        """
        return self.epsilon / (2 * (len(self.numeric) + 2 * self.specialisations))

    @property
    def tables(self) -> Tables:
        """Every predictor by class. A record stands in one cell of each, so a replaced one changes
        all by 2 (d - 1) in L1.
        """
        return Tables(
            self.domain, tuple((name, self.target) for name in self.predictors), self.epsilon / 2
        )

    def leaf_cells(self, cuts: Cuts) -> int:
        """Count the groups, times classes."""
        return prod(len(borders) - 1 for borders in cuts.values()) * self.classes

    def leaves(self, cuts: Cuts) -> SumBatch:
        """What everybody knows of the batch of leaves. A record stands in one, so a replaced one
        changes two by 1 each.
        """
        return SumBatch(cells=self.leaf_cells(cuts), sensitivity=2, epsilon=self.epsilon / 2)

    @property
    def always_made(self) -> int | None:
        """How many specialisations any run makes, or `None` where that depends on which ones are
        chosen.
        """
        made = min(
            self.specialisations, sum(self.domain.cells([name]) - 1 for name in self.predictors)
        )
        return (
            made if self.classes << made <= self.most_cells else None
        )  # none more than doubles the leaves

    def ended(self, cuts: Cuts) -> str:
        """Say how many specialisations were made, and why no more."""
        made = sum(len(borders) - 2 for borders in cuts.values())
        if made == self.specialisations:
            return str(made)
        single = all(
            len(borders) - 1 == self.domain.cells([name]) for name, borders in cuts.items()
        )
        why = (
            "every range is a single label"
            if single
            else f"most_cells={self.most_cells} leaves no room for more"
        )
        return f"{made} of {self.specialisations}: {why}"

    def read(self, borders: Sequence[Sequence[int]]) -> Cuts:
        """Read cuts that another role sent; a `ValueError` says what is wrong with them."""
        cuts = dict(zip(self.predictors, map(tuple, borders), strict=False))
        rising = all(sorted(set(own)) == list(own) and len(own) > 1 for own in cuts.values())
        ends = [(own[0], own[-1]) for own in cuts.values()] if rising else []
        sizes = self.domain.shape(self.predictors)
        if len(borders) != len(sizes) or ends != [(0, size) for size in sizes]:
            raise ValueError(
                f"expected rising borders for each of {len(sizes)} attributes, from 0 to its number of labels"
            )
        made, cells = sum(len(own) - 2 for own in borders), self.leaf_cells(cuts)
        if made > self.specialisations or cells > self.most_cells:
            most = f"{self.specialisations} specialisations and {self.most_cells} cells"
            raise ValueError(f"expected at most {most}, found {made} and {cells}")
        return cuts


def specialise(plan: Plan, tables: Mapping[str, Numbers], *, pick: Pick) -> Cuts:
    """Descend from the root of every taxonomy, a node at a time, by the class counts of single
    attributes.

    `tables` has a line for each label of a predictor and a column for each class. What is picked,
    and never what it was picked by, decides about everything that follows.
    """
    below = {
        name: np.concatenate([np.zeros((1, plan.classes)), np.cumsum(own, axis=0)])
        for name, own in tables.items()
    }
    cuts: Cuts = {name: (0, plan.domain.cells([name])) for name in plan.predictors}
    chosen: dict[Node, int] = {}

    def score(node: Node, points: Sequence[int]) -> Numbers:
        counts = below[node.attribute]
        at = counts[list(points)]
        return score_splits(at - counts[node.low], counts[node.high] - at, score=plan.score)

    def split(node: Node) -> int:
        return chosen.get(node, (node.low + node.high) // 2)

    def choose_points(nodes: Sequence[Node]) -> None:
        open_ = [node for node in nodes if node.attribute in plan.numeric and node.size > 2]
        points = [range(node.low + 1, node.high) for node in open_]
        if open_:
            found = pick([score(node, own) for node, own in zip(open_, points, strict=True)])
            chosen.update(
                (node, own[at]) for node, own, at in zip(open_, points, found, strict=True)
            )

    for name in plan.numeric:  # line 4
        choose_points([Node(name, 0, cuts[name][-1])])
    for _ in range(plan.specialisations):
        candidates = [node for name in plan.predictors for node in _nodes(plan, cuts, name)]
        if not candidates:
            break
        (at,) = pick(
            [np.concatenate([score(node, [split(node)]) for node in candidates])]
        )  # line 7
        name, low, high = candidates[at]
        middle = split(candidates[at])
        cuts[name] = tuple(sorted((*cuts[name], middle)))  # line 8
        choose_points([Node(name, low, middle), Node(name, middle, high)])  # line 9
    return cuts


def _nodes(plan: Plan, cuts: Cuts, name: str) -> list[Node]:
    """List what may be specialised of an attribute: ranges of several labels, if there is room for
    another range.
    """
    ranges = len(cuts[name]) - 1
    if plan.leaf_cells(cuts) // ranges * (ranges + 1) > plan.most_cells:
        return []
    nodes = [Node(name, low, high) for low, high in pairwise(cuts[name])]
    return [node for node in nodes if node.size > 1]
