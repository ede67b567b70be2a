"""Decision trees grown level by level from noisy tables of a label and sets of attributes.

This is CLLDP's algorithm (section 6.1). A node and a candidate attribute are estimated from every
table that has the candidate and all attributes of the node's path. Cells that the path excludes are
left out, the others are summed, and tables are averaged by inverse variance (`estimate_node`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .decision_tree import Path
from .marginal import Marginal, Numbers

__all__ = ["JointTable", "NodeEstimate", "best_value", "estimate_node", "gini", "winner"]


class JointTable(Protocol):
    """A noisy table of the label, which is first, and attributes."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """All but the label."""
        ...

    @property
    def joint(self) -> Marginal: ...

    def variance_of(self, size: int) -> float:
        """Compute the variance of the sum of `size` cells."""
        ...


class NodeEstimate(NamedTuple):
    """Estimates of Pr[path, l, a] for a node and a candidate a, a row for each label."""

    table: Numbers
    variance: float
    """Variance of each number."""
    row_variance: float
    """Variance of the sum of each row."""


def estimate_node(
    tables: Sequence[JointTable], path: Path, candidate: str | None, *, plain_mean: bool = False
) -> NodeEstimate | None:
    """Average all tables that have the attributes of the path and the candidate.

    Without a candidate the result has one column. `plain_mean` ignores the variances, as printed.
    If there is no such table, the result is None.
    """
    tested = [answer.test.attribute for answer in path]
    names = list(dict.fromkeys([*tested, *([] if candidate is None else [candidate])]))
    estimates = [
        _estimate(table, path, candidate, names)
        for table in tables
        if {*names} <= {*table.attributes}
    ]
    if not estimates:
        return None
    weights = (
        np.ones(len(estimates))
        if plain_mean
        else np.array([1 / max(estimate.variance, 1e-300) for estimate in estimates])
    )
    weights = weights / weights.sum()
    weighted = list(zip(weights, estimates, strict=True))
    return NodeEstimate(
        np.asarray(sum(weight * estimate.table for weight, estimate in weighted)),
        float(sum(weight * weight * estimate.variance for weight, estimate in weighted)),
        float(sum(weight * weight * estimate.row_variance for weight, estimate in weighted)),
    )


def _estimate(
    table: JointTable, path: Path, candidate: str | None, names: Sequence[str]
) -> NodeEstimate:
    """Estimate a node from one table."""
    joint = table.joint.project((table.joint.attributes[0], *names)).values
    summed_cells = table.joint.cells // joint.size
    selected, columns = joint, 1
    for axis, name in enumerate(names, start=1):
        mask = _allowed(path, name, joint.shape[axis])
        if name == candidate:
            columns = int(mask.sum())
            along = [-1 if other == axis else 1 for other in range(selected.ndim)]
            selected = np.where(mask.reshape(along), selected, 0.0)
        else:
            selected = np.compress(mask, selected, axis=axis)
    others = tuple(axis for axis, name in enumerate(names, start=1) if name != candidate)
    cells = summed_cells * int(np.prod([selected.shape[axis] for axis in others]))
    return NodeEstimate(
        selected.sum(axis=others).reshape(len(joint), -1),
        table.variance_of(cells),
        table.variance_of(cells * columns),
    )


def gini(labels: Numbers) -> float:
    """Compute Gini's index 1 - sum of Pr[l]^2 from numbers of which none is negative.

    If all are 0, it is 0.
    """
    total = labels.sum()
    return float(1 - np.square(labels / total).sum()) if total > 0 else 0.0


def best_value(estimate: NodeEstimate, values: Sequence[int]) -> tuple[float, int] | None:
    """Find the value whose test reduces Gini's index most (equation 12).

    Returns:
        The reduction and the value; None if no value splits the node.
    """
    table = estimate.table
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
    """Find the most frequent label.

    If it leads the next one by at most two standard deviations of their difference, there is none.
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
    """Mark the values of an attribute that the path allows."""
    mask = np.ones(size, np.bool_)
    for answer in path:
        if answer.test.attribute == name:
            mask &= np.isin(np.arange(size), answer.test.values) == answer.yes
    return mask
