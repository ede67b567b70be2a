"""The marginals that came out worst, cell by cell: what a person looks at when a distance is large.

These are exact shares of real people: for whoever holds the real table, like all that the judge
finds, and not to be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain

__all__ = ["MarginalShown", "show_marginal", "worst_of"]

MOST_CELLS: Final = 16
"""Of more, those that differ most are shown, half as many."""

Shares = npt.NDArray[np.float64]


class MarginalShown(msgspec.Struct, frozen=True, kw_only=True):
    """One marginal: shares of the real table and of what was published, cell by cell."""

    attributes: tuple[str, ...]
    distance: float
    cells: tuple[str, ...]
    real: tuple[float, ...]
    published: tuple[float, ...]
    rest: tuple[int, float, float] | None
    """Of the cells that are not shown: how many, and their shares together."""


def show_marginal(
    domain: Domain, attributes: Sequence[str], real: npt.NDArray[Any], published: npt.NDArray[Any]
) -> MarginalShown:
    """Put two marginals side by side; both as counts or as shares, of any positive sum."""
    p, q = (
        np.asarray(cells, np.float64) / max(float(np.sum(cells)), 1e-300)
        for cells in (real, published)
    )
    shape = domain.shape(attributes)
    kept = np.arange(p.size)
    if p.size > MOST_CELLS:
        kept = np.sort(np.argsort(-np.abs(p - q), kind="stable")[: MOST_CELLS // 2])
    names = [
        ", ".join(domain.labels[own][at] for own, at in zip(attributes, where, strict=True))
        for where in _at(kept, shape)
    ]
    left = np.setdiff1d(np.arange(p.size), kept)
    return MarginalShown(
        attributes=tuple(attributes),
        distance=float(np.abs(p - q).sum()) / 2,
        cells=tuple(names),
        real=tuple(p[kept].round(6).tolist()),
        published=tuple(q[kept].round(6).tolist()),
        rest=(left.size, round(float(p[left].sum()), 6), round(float(q[left].sum()), 6))
        if left.size
        else None,
    )


def worst_of(shown: Iterable[MarginalShown], *, most: int) -> list[MarginalShown]:
    """Keep those farthest apart, the worst first."""
    return sorted(shown, key=lambda own: -own.distance)[:most]


def _at(cells: npt.NDArray[np.int64], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(zip(*(own.tolist() for own in np.unravel_index(cells, shape)), strict=True))
