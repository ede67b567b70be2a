"""Growing a decision tree level by level from noisy tables of a label and sets of attributes
(CLLDP, section 6.1).

What is known of a node and a candidate attribute comes from every table that has all attributes of
the node's path and the candidate: cells that the path excludes are left out, the rest are added up,
and tables are averaged by inverse variance (`look`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .decision_tree import Path
from .marginal import Marginal, Numbers

__all__ = ["Known", "Looked", "best_value", "gini", "look", "winner"]


class Known(Protocol):
    """A noisy table of the label, first, and attributes."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Without the label."""
        ...

    @property
    def joint(self) -> Marginal: ...

    def variance_of(self, size: int) -> float:
        """The variance of so many cells together."""
        ...


class Looked(NamedTuple):
    """What is known of a node: Pr[path, l, a] of a candidate a; the variance of each number, and of
    each label's sum.
    """

    table: Numbers
    variance: float
    of_sum: float


def look(
    tables: Sequence[Known], path: Path, candidate: str | None, *, plain_mean: bool = False
) -> Looked | None:
    """Average what all tables say that have the path's attributes and the candidate; `None`: there
    is none.

    Without a candidate the table has one column. `plain_mean`: as printed, whatever their noise.
    """
    need = list(
        dict.fromkeys(
            [*(own.test.attribute for own in path), *([] if candidate is None else [candidate])]
        )
    )
    parts: list[tuple[Numbers, float, float]] = []
    for own in tables:
        if not {*need} <= {*own.attributes}:
            continue
        joint = own.joint.project((own.joint.attributes[0], *need)).values
        fine, keep = own.joint.cells // joint.size, joint
        columns = 1
        for at, name in enumerate(need, start=1):
            mask = _allowed(path, name, joint.shape[at])
            if name == candidate:
                columns = int(mask.sum())
                keep = np.where(
                    mask.reshape([-1 if axis == at else 1 for axis in range(keep.ndim)]), keep, 0.0
                )
            else:
                keep = np.compress(mask, keep, axis=at)
        others = tuple(at for at, name in enumerate(need, start=1) if name != candidate)
        cells = fine * int(np.prod([keep.shape[at] for at in others]))
        table = keep.sum(axis=others).reshape(len(joint), -1)
        parts.append((table, own.variance_of(cells), own.variance_of(cells * columns)))
    if not parts:
        return None
    weights = (
        np.ones(len(parts)) if plain_mean else np.array([1 / max(own[1], 1e-300) for own in parts])
    )
    weights = weights / weights.sum()
    return Looked(
        np.asarray(sum(w * own[0] for w, own in zip(weights, parts, strict=True))),
        float(sum(w * w * own[1] for w, own in zip(weights, parts, strict=True))),
        float(sum(w * w * own[2] for w, own in zip(weights, parts, strict=True))),
    )


def gini(labels: Numbers) -> float:
    """Compute 1 - sum of Pr[l]^2 of numbers that are not negative; of none it is 0."""
    total = labels.sum()
    return float(1 - np.square(labels / total).sum()) if total > 0 else 0.0


def best_value(looked: Looked, values: Sequence[int]) -> tuple[float, int] | None:
    """Find the value whose test lessens Gini's index most: by how much, and which (equation 12)."""
    table = looked.table
    best: tuple[float, int] | None = None
    for value in values:
        yes = np.maximum(table[:, value], 0.0)
        no = np.maximum(table.sum(axis=1) - table[:, value], 0.0)
        if not (yes.sum() > 0 and no.sum() > 0):
            continue
        after = (yes.sum() * gini(yes) + no.sum() * gini(no)) / (yes.sum() + no.sum())
        gain = gini(yes + no) - after
        if best is None or gain > best[0]:
            best = gain, value
    return best


def winner(labels: Numbers, *, deviation: float) -> int | None:
    """Name the most frequent label, unless the next one is within two standard deviations of their
    difference.
    """
    order = np.argsort(-labels, kind="stable")
    if (
        len(labels) > 1
        and labels[order[0]] - labels[order[1]] <= 2 * sqrt(2) * deviation
        and deviation > 0
    ):
        return None
    return int(order[0])


def _allowed(path: Path, name: str, size: int) -> npt.NDArray[np.bool_]:
    """Say which values of an attribute the path leaves."""
    mask = np.ones(size, np.bool_)
    for own in path:
        if own.test.attribute == name:
            mask &= np.isin(np.arange(size), own.test.values) == own.yes
    return mask
