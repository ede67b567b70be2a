"""Dependence of attributes: entropy, mutual information, and distance from independence.

The numbers of a distribution must not be negative, so noisy tables are projected first
(`projections`). 0 log 0 is 0. The base is a required argument: papers use 2 (bits) and e (nats),
and thresholds are different numbers in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, log
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = [
    "correlation_threshold",
    "dependence",
    "dependence_of_all",
    "entropy",
    "information_of_all",
    "mutual_information",
]

Cells: TypeAlias = npt.NDArray[np.int64] | Numbers


def entropy(table: Marginal, *, base: float) -> float:
    """Compute the entropy of a table, which is normalised first.

    >>> entropy(Marginal(("coin",), np.array([3.0, 3.0])), base=2)
    1.0
    """
    p = table.normalise().values
    return -float(np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0))) / log(base)


def mutual_information(
    joint: Marginal,
    left: Sequence[str],
    *,
    base: float,
    margins: tuple[Marginal, Marginal] | None = None,
) -> float:
    """Compute I(left; all other attributes) = sum of p log(p / (p_left p_right)).

    The default takes p_left and p_right from `joint`. `margins` may be better ones, such as the
    average over all views. The sum is then only an estimate of the information: it may be negative,
    and it is infinite if the margins exclude a cell that `joint` has.

    >>> joint = Marginal(("x", "y"), np.array([[10.0, 5.0], [5.0, 10.0]]))
    >>> round(mutual_information(joint, ["x"], base=2), 9)
    0.081704166
    """
    p = joint.normalise()
    if margins is None:
        right = [name for name in joint.attributes if name not in left]
        p_left, p_right = p.project(left), p.project(right)
    else:
        p_left, p_right = (table.normalise() for table in margins)
    product = (p * 0 + p_left * p_right).values
    support = p.values > 0
    if (product[support] == 0).any():
        return inf
    ratio = p.values[support] / product[support]
    return float(np.sum(p.values[support] * np.log(ratio))) / log(base)


def information_of_all(tables: Iterable[Cells], sizes: Sequence[int], *, base: float) -> Numbers:
    """Compute the mutual information of the last attribute and all others, for many tables.

    Tables of one shape are computed together, which is 50 times faster than one by one. Negative
    cells count as 0. A table without a cell above 0 has no information.

    Args:
        tables: Cells of each table.
        sizes: Number of labels of the last attribute of each table.
        base: Base of the logarithm.

    >>> tables = [np.array([8.0, 0.0, 0.0, 8.0]), np.array([10.0, 5.0, 5.0, 10.0])]
    >>> information_of_all(tables, [2, 2], base=2).round(9)
    array([1.        , 0.08170417])
    """
    information = np.zeros(len(sizes))
    for indices, p, product in _by_shape(tables, sizes):
        ratio = np.divide(p, product, out=np.ones_like(p), where=p > 0)
        information[indices] = (p * np.log(ratio)).sum(axis=(1, 2)) / log(base)
    return information


def dependence_of_all(tables: Iterable[Cells], sizes: Sequence[int]) -> Numbers:
    """Compute the dependence of each table's last attribute on the others.

    Args:
        tables: Cells of each table.
        sizes: Number of labels of the last attribute of each table.

    >>> tables = [np.array([8.0, 0.0, 0.0, 8.0]), np.array([10.0, 5.0, 5.0, 10.0])]
    >>> dependence_of_all(tables, [2, 2]).round(9).tolist()
    [0.5, 0.166666667]
    """
    distances = np.zeros(len(sizes))
    for indices, p, product in _by_shape(tables, sizes):
        distances[indices] = np.abs(p - product).sum(axis=(1, 2)) / 2
    return distances


def _by_shape(
    tables: Iterable[Cells], sizes: Sequence[int]
) -> Iterator[tuple[list[int], Numbers, Numbers]]:
    """Go through tables of one shape together: their numbers, shares, and products of margins."""
    groups: dict[tuple[int, int], list[tuple[int, Cells]]] = {}
    """Tables of one shape, each with its number."""
    for index, (table, size) in enumerate(zip(tables, sizes, strict=True)):
        groups.setdefault((table.size, size), []).append((index, table.reshape(-1)))
    for (cells, size), group in groups.items():
        stack = np.array([table for _, table in group], np.float64)
        p = np.maximum(stack.reshape(len(group), cells // size, size), 0)
        totals = p.sum(axis=(1, 2), keepdims=True)
        p = np.divide(p, totals, out=np.zeros_like(p), where=totals > 0)
        yield (
            [index for index, _ in group],
            p,
            p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True),
        )


def dependence(joint: Marginal, left: Sequence[str]) -> float:
    """Compute PrivBayes' R: the distance of a distribution from the product of its two sides."""
    p = joint.normalise()
    right = [name for name in joint.attributes if name not in left]
    return p.distance(p.project(left) * p.project(right))


def correlation_threshold(domain: Domain, left: str, right: str, *, phi: float) -> float:
    """Compute the least mutual information at which two attributes count as correlated.

    It is (min(c_i, c_j) - 1) phi^2 / 2. With Cramer's V = phi, 2 n I is about chi-squared =
    n V^2 (min - 1), in nats. JTree compares it with nats, PrivIncr with bits (spec E3).

    >>> domain = Domain({"x": ("0", "1"), "y": ("0", "1", "2")})
    >>> correlation_threshold(domain, "x", "y", phi=0.3)
    0.045
    """
    return (min(domain.shape((left, right))) - 1) * phi**2 / 2
