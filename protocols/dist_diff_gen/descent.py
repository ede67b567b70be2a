"""The descent through the taxonomies: DiffGen once the class counts are known.

Source: Mohammed et al. 2011, algorithm 1. Specialising a node replaces it by its two children in
*every* group in which it stands. So its score is that of all records under it, whatever their other
attributes. The class counts of single attributes decide everything, and never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ...curator.marginal import Numbers
from .plan import SpecialisationPlan
from .scores import score_splits
from .taxonomy import Cuts, Node

__all__ = ["Pick", "pick_best", "specialise"]

Pick: TypeAlias = Callable[[Sequence[Numbers]], Sequence[int]]
"""Picks one candidate by each list of scores; the lists are of different nodes."""


def pick_best(scores: Sequence[Numbers]) -> list[int]:
    """Pick the first of the best candidates of each list.

    Scores by *max* often are equal but for their last digits, so they are rounded.
    """
    return [int(candidates.round(9).argmax()) for candidates in scores]


def specialise(plan: SpecialisationPlan, tables: Mapping[str, Numbers], *, pick: Pick) -> Cuts:
    """Descend from the root of every taxonomy, a node at a time.

    `tables` has a line for each label of a predictor and a column for each class. Everything that
    follows depends on what is picked, and not on the scores by which it is picked.
    """
    cumulated = {
        name: np.concatenate([np.zeros((1, plan.classes)), np.cumsum(table, axis=0)])
        for name, table in tables.items()
    }
    cuts: Cuts = {name: (0, plan.domain.cells([name])) for name in plan.predictors}
    split_points: dict[Node, int] = {}

    def score(node: Node, points: Sequence[int]) -> Numbers:
        counts = cumulated[node.attribute]
        middle = counts[list(points)]
        return score_splits(middle - counts[node.low], counts[node.high] - middle, score=plan.score)

    def split_point(node: Node) -> int:
        return split_points.get(node, (node.low + node.high) // 2)

    def choose_points(nodes: Sequence[Node]) -> None:
        numeric = [node for node in nodes if node.attribute in plan.numeric and node.size > 2]
        points = [range(node.low + 1, node.high) for node in numeric]
        if numeric:
            picked = pick(
                [score(node, places) for node, places in zip(numeric, points, strict=True)]
            )
            split_points.update(
                (node, places[index])
                for node, places, index in zip(numeric, points, picked, strict=True)
            )

    for name in plan.numeric:  # line 4
        choose_points([Node(name, 0, cuts[name][-1])])
    for _ in range(plan.specialisations):
        candidates = [node for name in plan.predictors for node in _nodes(plan, cuts, name)]
        if not candidates:
            break
        scores = np.concatenate([score(node, [split_point(node)]) for node in candidates])
        (index,) = pick([scores])  # line 7
        name, low, high = candidates[index]
        middle = split_point(candidates[index])
        cuts[name] = tuple(sorted((*cuts[name], middle)))  # line 8
        choose_points([Node(name, low, middle), Node(name, middle, high)])  # line 9
    return cuts


def _nodes(plan: SpecialisationPlan, cuts: Cuts, name: str) -> list[Node]:
    """List the nodes of an attribute that may be specialised.

    They are ranges of several labels, if there is room for another range.
    """
    ranges = len(cuts[name]) - 1
    if plan.leaf_cells(cuts) // ranges * (ranges + 1) > plan.most_cells:
        return []
    nodes = [Node(name, low, high) for low, high in pairwise(cuts[name])]
    return [node for node in nodes if node.size > 1]
