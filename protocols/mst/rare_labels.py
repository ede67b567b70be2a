"""Rare labels of an attribute are merged into one group before pairs are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from ...curator import Estimate, Marginal
from ...curator.sampling import SampleCodes
from ...privacy import Domain
from ..adaptive_pairs.tables import Grouping, PlannedTable
from ..secure_sum import Family

__all__ = ["MergedLabels", "merge_rare"]

MIN_DEVIATIONS: Final = 3.0
"""A label is rare if its noisy count is below so many standard deviations of the noise."""


@dataclass(frozen=True, slots=True)
class MergedLabels:
    """A domain in which some labels of an attribute are one label."""

    original: Domain
    groupings: Mapping[str, Grouping]
    """The group of each label of the attributes with merged labels; the rare ones come last."""

    @property
    def domain(self) -> Domain:
        """The same attributes, with groups for labels."""
        return Domain(
            {
                name: tuple(map(str, range(max(self.groupings[name]) + 1)))
                if name in self.groupings
                else labels
                for name, labels in self.original.labels.items()
            }
        )

    def planned(self, family: Family) -> PlannedTable:
        """Plan the table of some attributes in groups."""
        grouped = any(name in self.groupings for name in family)
        groupings = tuple(self.groupings.get(name, ()) for name in family) if grouped else ()
        return PlannedTable(family, 1, groupings)

    def merge(self, estimate: Estimate, *, total: float) -> Estimate:
        """Merge the labels of a single attribute's table, after correcting it to the total.

        The number of rows is public, so a large group's noise is not larger than that of the rest.
        """
        table = estimate.table
        (name,) = table.attributes
        if name not in self.groupings:
            return estimate
        counts = table.values + (total - table.total) / table.cells
        sums = np.bincount(self.groupings[name], counts).astype(np.float64)
        return Estimate(Marginal((name,), sums), estimate.variance)

    def spread(
        self, codes: Sequence[SampleCodes], generator: np.random.Generator
    ) -> list[SampleCodes]:
        """Draw a label of its group for each code, each with the same probability."""
        columns = []
        for name, column in zip(self.original.attributes, codes, strict=True):
            if name in self.groupings:
                groups = np.array(self.groupings[name])
                order = np.argsort(groups, kind="stable").astype(np.uint16)
                sizes = np.bincount(groups)
                starts = np.cumsum(sizes) - sizes
                columns.append(order[starts[column] + generator.integers(0, sizes[column])])
            else:
                columns.append(column)
        return columns


def merge_rare(domain: Domain, singles: Sequence[Estimate]) -> MergedLabels:
    """Merge the labels of each attribute whose noisy counts are small."""
    groupings: dict[str, Grouping] = {}
    for estimate in singles:
        rare = estimate.table.values < MIN_DEVIATIONS * sqrt(estimate.variance)
        if np.count_nonzero(rare) > 1:
            groups = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
            groupings[estimate.attributes[0]] = tuple(groups.tolist())
    return MergedLabels(domain, groupings)
