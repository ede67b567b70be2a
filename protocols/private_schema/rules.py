"""From noisy counts to rules: what a column holds, its bins or its categories.

A learnt rule refuses nothing. Numbers outside the bins count in the nearest one, and other texts
in the category `(other)`. So no error tells later of a record that the schema does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ...parties import Bins, Categories, Learnt
from ...parties.bins import has_whole_numbers
from ...parties.rules import Missing
from ...privacy.domain import MAX_LABELS
from .grid import COARSE_EDGES, Histogram, quantile_edges

__all__ = ["ALL_NUMBERS", "OTHER", "FirstCounts", "categories_of", "number_bins"]

OTHER: Final = "(other)"
"""The category of all texts that are not listed."""
CLEAR: Final = 4.0
"""Standard deviations of the noise above which there are absent values."""
ALL_NUMBERS: Final = Bins(edges=(float(COARSE_EDGES[0]), float(COARSE_EDGES[-1])), clip=True)
"""The single bin of a column whose range is within the noise."""


@dataclass(frozen=True, slots=True)
class FirstCounts:
    """What the first counts of a column show."""

    numbers: Histogram
    texts: float
    absent: float
    rows: int

    @classmethod
    def of(cls, cells: npt.NDArray[np.int64], *, variance: float, rows: int) -> FirstCounts:
        """Read the cells of a column: numbers by size, texts, and absent values."""
        values = cells.astype(np.float64)
        numbers = Histogram(COARSE_EDGES, values[:-2], variance)
        return cls(numbers, float(values[-2]), float(values[-1]), rows)

    @property
    def are_texts(self) -> bool:
        """Whether more rows have texts than numbers. All counts together are the public rows."""
        return self.texts > self.rows - self.texts - self.absent

    @property
    def missing(self) -> Missing:
        """What becomes of absent values: a category where there are clearly some."""
        return "category" if self.absent > CLEAR * self.numbers.deviation else "refuse"


def number_bins(first: FirstCounts, finer: Sequence[Histogram], *, learnt: Learnt) -> Bins:
    """Make the bins of a column of numbers."""
    if not first.numbers.has_range or not finer:
        return Bins(edges=ALL_NUMBERS.edges, clip=True, missing=first.missing)
    edges = quantile_edges(
        [first.numbers, *finer],
        rows=first.rows,
        bins=learnt.bins,
        whole=learnt.kind == "integers",
    )
    is_whole = learnt.kind == "integers" and has_whole_numbers(edges.tolist())
    return Bins(
        edges=tuple(edges.tolist()),
        kind="integers" if is_whole else "numbers",
        clip=True,
        missing=first.missing,
    )


def categories_of(counts: Sequence[Mapping[str, int]], *, missing: Missing) -> Categories:
    """Make the categories of a column of texts: those that any party has released."""
    together: dict[str, int] = {}
    for party in counts:
        for text, count in party.items():
            together[text] = together.get(text, 0) + count
    together.pop(OTHER, None)
    most = sorted(together, key=lambda text: (-together[text], text))[: MAX_LABELS - 2]
    return Categories(categories=tuple(sorted(most)), other=OTHER, missing=missing)
