"""Leaves: groups of records that are the same after generalisation, counted by class, and a table
drawn from their counts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...curator.marginal import Numbers
from ...parties import Records
from .taxonomy import Cuts, Plan

__all__ = ["count_leaves", "describe", "draw_rows", "spread"]

Counts = npt.NDArray[np.int64]

FINE: Final = 1 << 20


def count_leaves(records: Records, plan: Plan, cuts: Cuts) -> Counts:
    """Count the records of every leaf, by class: row-major in the order of the predictors. Exact,
    so for this party alone.
    """
    leaf = np.zeros(len(records), np.int64)
    for name, borders in cuts.items():
        leaf *= len(borders) - 1
        leaf += np.searchsorted(borders[1:-1], records.codes(name), side="right")
    return np.bincount(
        leaf * plan.classes + records.codes(plan.target), minlength=plan.leaf_cells(cuts)
    )


def spread(values: Numbers, rows: int, *, generator: np.random.Generator) -> Counts:
    """Round numbers that sum to `rows` to whole ones that do, each up or down, without bias:
    systematic sampling.

    >>> spread(np.array([2.0, 0.0, 1.0]), 3, generator=np.random.default_rng(0)).tolist()
    [2, 0, 1]
    """
    ends = np.round(
        np.cumsum(values), 6
    )  # sums of whole numbers are whole, whatever projections did to their last digits
    ends[-1] = rows
    # Of steps so coarse that no end plus one of them rounds up.
    whole = np.floor(ends + generator.integers(FINE) / FINE).astype(np.int64)
    return np.asarray(whole - np.concatenate([[0], whole[:-1]]))


def draw_rows(
    plan: Plan, cuts: Cuts, counts: Counts, *, generator: np.random.Generator
) -> list[Counts]:
    """Write so many rows of each leaf, in random order, as codes: of a range every label alike."""
    shape = (*(len(borders) - 1 for borders in cuts.values()), plan.classes)
    rows = generator.permutation(np.repeat(np.arange(len(counts)), counts))
    *ranges, classes = np.unravel_index(rows, shape)
    drawn: dict[str, Any] = {plan.target: classes}
    for (name, borders), own in zip(cuts.items(), ranges, strict=True):
        low, high = np.array(borders)[own], np.array(borders)[own + 1]
        drawn[name] = generator.integers(low, high)
    # What is neither predictor nor target has one label.
    return [
        np.asarray(drawn.get(name, np.zeros(len(rows))), np.int64)
        for name in plan.domain.attributes
    ]


def describe(plan: Plan, cuts: Cuts, counts: Counts) -> dict[str, Any]:
    """Describe the leaves: the sets of labels of each attribute that was specialised, and each
    leaf's noisy counts by class.
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
            {"sets": list(at), "counts": own}
            for at, own in zip(
                np.ndindex(*shape), counts.reshape(-1, plan.classes).tolist(), strict=True
            )
        ],
    }
