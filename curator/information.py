"""How much attributes tell of one another: entropy, mutual information, and distance from
independence.

For distributions whose numbers are not negative; what is noisy is projected first (`projections`).
0 log 0 is 0. The base is always said: specifications and papers use 2 (bits) and e (nats), and
thresholds are different numbers in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, log
from typing import Any

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["correlated", "dependence", "entropy", "information_of_all", "mutual_information"]


def entropy(table: Marginal, *, base: float) -> float:
    """Compute the entropy of a table, normalised first.

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
    own: tuple[Marginal, Marginal] | None = None,
) -> float:
    """Compute I(left; all other attributes) = sum of p log(p / (p_left p_right)).

    The plug-in takes p_left and p_right from `joint`; `own` gives better ones, such as all views'
    average, and the sum is then no information, only its estimate: it may be negative, and it is
    infinite where they exclude what `joint` has.

    >>> round(mutual_information(Marginal(("x", "y"), np.array([[10.0, 5.0], [5.0, 10.0]])), ["x"], base=2), 9)
    0.081704166
    """
    p = joint.normalise()
    right = [name for name in joint.attributes if name not in left]
    one, other = (
        (p.project(left), p.project(right)) if own is None else (table.normalise() for table in own)
    )
    product = (p * 0 + one * other).values
    some = p.values > 0
    if (product[some] == 0).any():
        return inf
    return float(np.sum(p.values[some] * np.log(p.values[some] / product[some]))) / log(base)


def information_of_all(
    tables: Iterable[npt.NDArray[Any]], sizes: Iterable[int], *, base: float
) -> Numbers:
    """Compute, for many tables, the mutual information of the last attribute, of so many labels,
    and all others together.

    Tables of one shape are computed at once, which is 50 times faster than one by one. Negative
    cells count as 0; a table with nothing above 0 tells nothing.

    >>> information_of_all([np.array([8.0, 0.0, 0.0, 8.0]), np.array([10.0, 5.0, 5.0, 10.0])], [2, 2], base=2).round(9)
    array([1.        , 0.08170417])
    """
    alike: dict[tuple[int, int], list[tuple[int, npt.NDArray[Any]]]] = {}
    for at, (table, size) in enumerate(zip(tables, sizes, strict=True)):
        alike.setdefault((table.size, size), []).append((at, table.reshape(-1)))
    found = np.zeros(sum(map(len, alike.values())))
    for (cells, size), own in alike.items():
        p = np.maximum(
            np.array([table for _, table in own], np.float64).reshape(
                len(own), cells // size, size
            ),
            0,
        )
        totals = p.sum(axis=(1, 2), keepdims=True)
        p = np.divide(p, totals, out=np.zeros_like(p), where=totals > 0)
        product = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True)
        ratio = np.divide(p, product, out=np.ones_like(p), where=p > 0)
        found[[at for at, _ in own]] = (p * np.log(ratio)).sum(axis=(1, 2)) / log(base)
    return found


def dependence(joint: Marginal, left: Sequence[str]) -> float:
    """Compute R, the total variation distance between a distribution and the product of its two
    sides (PrivBayes).
    """
    p = joint.normalise()
    return p.distance(
        p.project(left) * p.project([name for name in joint.attributes if name not in left])
    )


def correlated(domain: Domain, left: str, right: str, *, phi: float) -> float:
    """Compute the least mutual information at which two attributes count as correlated: (min(c_i,
    c_j) - 1) phi^2 / 2.

    With Cramer's V = phi, 2 n I is about chi-squared = n V^2 (min - 1), in nats. PrivIncr compares
    it with bits all the same (spec E3), JTree with nats.

    >>> correlated(Domain({"x": ("0", "1"), "y": ("0", "1", "2")}), "x", "y", phi=0.3)
    0.045
    """
    return (min(domain.shape((left, right))) - 1) * phi**2 / 2
