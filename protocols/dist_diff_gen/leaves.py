"""Leaves: groups of records that are equal after generalisation, counted by class.

The synthetic table is drawn from their counts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from ...curator.marginal import Numbers
from ...parties import Records
from .plan import SpecialisationPlan
from .taxonomy import Cuts

__all__ = ["count_leaves", "describe", "draw_rows", "spread"]

Counts = npt.NDArray[np.int64]

STEPS: Final = 1 << 20
"""Steps of the random offset by which numbers are rounded."""


class Leaf(TypedDict):
    """A leaf of the published model."""

    sets: list[int]
    """The place of its set of labels, for each attribute that was specialised."""
    counts: list[int]
    """Its noisy counts by class."""


class LeafModel(TypedDict):
    """The published model."""

    target: str
    classes: list[str]
    sets: dict[str, list[list[str]]]
    """The sets of labels of each attribute that was specialised."""
    leaves: list[Leaf]


def count_leaves(records: Records, plan: SpecialisationPlan, cuts: Cuts) -> Counts:
    """Count a party's records in every leaf, by class: row-major in the order of the predictors.

    The counts are exact, so only the party may see them.
    """
    leaf = np.zeros(len(records), np.int64)
    for name, borders in cuts.items():
        leaf *= len(borders) - 1
        leaf += np.searchsorted(borders[1:-1], records.codes(name), side="right")
    return np.bincount(
        leaf * plan.classes + records.codes(plan.target), minlength=plan.leaf_cells(cuts)
    )


def spread(values: Numbers, rows: int, *, generator: np.random.Generator) -> Counts:
    """Round numbers that sum to `rows` to whole numbers with the same sum, without bias.

    Each is rounded up or down, by systematic sampling.

    >>> spread(np.array([2.0, 0.0, 1.0]), 3, generator=np.random.default_rng(0)).tolist()
    [2, 0, 1]
    """
    # Projections leave errors in the last digits of sums that should be whole.
    ends = np.round(np.cumsum(values), 6)
    ends[-1] = rows
    # The steps are so coarse that a whole end plus an offset never rounds up.
    whole = np.floor(ends + generator.integers(STEPS) / STEPS).astype(np.int64)
    return np.asarray(whole - np.concatenate([[0], whole[:-1]]))


def draw_rows(
    plan: SpecialisationPlan, cuts: Cuts, counts: Counts, *, generator: np.random.Generator
) -> list[Counts]:
    """Write rows of each leaf in random order, as codes; labels of a range are equally likely."""
    # Attributes of a single range say nothing of the leaf, and an array has at most 64 axes.
    used = {name: len(borders) - 1 for name, borders in cuts.items() if len(borders) > 2}
    rows = generator.permutation(np.repeat(np.arange(len(counts)), counts))
    *places, classes = np.unravel_index(rows, (*used.values(), plan.classes))
    ranges = dict(zip(used, places, strict=True))
    drawn: dict[str, Counts] = {plan.target: classes}
    for name, borders in cuts.items():
        indices = ranges.get(name, np.zeros(len(rows), np.int64))
        low, high = np.array(borders)[indices], np.array(borders)[indices + 1]
        drawn[name] = generator.integers(low, high)
    # An attribute that is neither predictor nor target has one label.
    single = np.zeros(len(rows), np.int64)
    return [np.asarray(drawn.get(name, single), np.int64) for name in plan.domain.attributes]


def describe(plan: SpecialisationPlan, cuts: Cuts, counts: Counts) -> LeafModel:
    """Describe the leaves as a model: sets of labels, and each leaf's noisy counts by class.

    Only attributes that were specialised have sets.
    """
    used = {name: borders for name, borders in cuts.items() if len(borders) > 2}
    labels = plan.domain.labels
    shape = tuple(len(borders) - 1 for borders in used.values())
    return {
        "target": plan.target,
        "classes": list(labels[plan.target]),
        "sets": {
            name: [list(labels[name][low:high]) for low, high in pairwise(borders)]
            for name, borders in used.items()
        },
        "leaves": [
            {"sets": list(indices), "counts": of_leaf}
            for indices, of_leaf in zip(
                np.ndindex(*shape), counts.reshape(-1, plan.classes).tolist(), strict=True
            )
        ],
    }
