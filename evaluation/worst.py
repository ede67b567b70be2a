"""The marginals with the largest distances, cell by cell.

They show the reason for a large distance. They hold exact shares of real people, so they are for
whoever holds the real table, and must not be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain

__all__ = ["MarginalComparison", "compare_marginal", "worst_of"]

MAX_SHOWN_CELLS: Final = 16
"""A marginal with more cells is shown by half as many: those that differ most."""

Cells = npt.NDArray[np.int64] | npt.NDArray[np.float64]


class MarginalComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One marginal: shares of the real table and of what was published, cell by cell."""

    attributes: tuple[str, ...]
    distance: float
    cells: tuple[str, ...]
    real: tuple[float, ...]
    published: tuple[float, ...]
    rest: tuple[int, float, float] | None
    """Number of cells that are not shown, and the sums of their real and published shares."""


def compare_marginal(
    domain: Domain, attributes: Sequence[str], real: Cells, published: Cells
) -> MarginalComparison:
    """Compare two tables of one marginal: counts or shares, with any positive sum."""
    p, q = (
        np.asarray(cells, np.float64) / max(float(np.sum(cells)), 1e-300)
        for cells in (real, published)
    )
    shape = domain.shape(attributes)
    shown = np.arange(p.size)
    if p.size > MAX_SHOWN_CELLS:
        order = np.argsort(-np.abs(p - q), kind="stable")
        shown = np.sort(order[: MAX_SHOWN_CELLS // 2])
    codes = zip(*(axis.tolist() for axis in np.unravel_index(shown, shape)), strict=True)
    names = [
        ", ".join(domain.labels[name][code] for name, code in zip(attributes, cell, strict=True))
        for cell in codes
    ]
    hidden = np.setdiff1d(np.arange(p.size), shown)
    return MarginalComparison(
        attributes=tuple(attributes),
        distance=float(np.abs(p - q).sum()) / 2,
        cells=tuple(names),
        real=tuple(p[shown].round(6).tolist()),
        published=tuple(q[shown].round(6).tolist()),
        rest=(hidden.size, round(float(p[hidden].sum()), 6), round(float(q[hidden].sum()), 6))
        if hidden.size
        else None,
    )


def worst_of(comparisons: Iterable[MarginalComparison], *, count: int) -> list[MarginalComparison]:
    """List the comparisons with the largest distances, the largest first."""
    return sorted(comparisons, key=lambda comparison: -comparison.distance)[:count]
