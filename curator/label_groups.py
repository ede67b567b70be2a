"""Groups of labels: an attribute of many labels is counted in groups, and spread again in rows.

A table of two attributes with a hundred labels each has so many cells that noise hides them. With
neighbouring labels merged it has few. Groups follow from released counts of the single attribute:
each has about the same share of the rows. Within a group, rows get labels in the proportions of
those counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..privacy.domain import Domain
from .marginal import Codes, Numbers
from .sampling import SampleCodes

__all__ = ["LabelGroups", "merge_labels"]


def merge_labels(counts: Sequence[int], *, groups: int) -> tuple[int, ...]:
    """Merge neighbouring labels into so many groups of about equal counts, by halving the largest.

    The computation is in whole numbers, so all roles find the same groups.

    >>> merge_labels([5, 1, 1, 1, 4], groups=3)
    (0, 0, 1, 1, 2)
    >>> merge_labels([5, 1], groups=3)
    (0, 1)
    """
    ends = [0, *accumulate(count + 1 for count in counts)]
    segments = [(0, len(counts))]
    while len(segments) < min(groups, len(counts)):
        mass, place = max(
            (ends[stop] - ends[start], -index)
            for index, (start, stop) in enumerate(segments)
            if stop - start > 1
        )
        start, stop = segments[-place]
        middle = min(
            range(start + 1, stop),
            key=lambda cut: abs(2 * (ends[cut] - ends[start]) - mass),
        )
        segments[-place : 1 - place] = [(start, middle), (middle, stop)]
    return tuple(group for group, (start, stop) in enumerate(segments) for _ in range(start, stop))


@dataclass(frozen=True)
class LabelGroups:
    """The groups of each attribute's labels, and the released counts from which they follow."""

    domain: Domain
    """The domain of the labels."""
    counts: Mapping[str, Sequence[int]]
    groups: Mapping[str, tuple[int, ...]]
    """The group of each label, for the attributes that have fewer groups than labels."""

    @classmethod
    def of(cls, domain: Domain, counts: Mapping[str, Sequence[int]], *, most: int) -> LabelGroups:
        """Make at most so many groups of each attribute's labels."""
        groups = {
            name: merge_labels(counts[name], groups=most)
            for name in domain.attributes
            if domain.cells((name,)) > most
        }
        return cls(domain, counts, groups)

    @property
    def grouped(self) -> Domain:
        """The domain of the groups."""
        labels = dict(self.domain.labels)
        for name, groups in self.groups.items():
            labels[name] = tuple(map(str, range(groups[-1] + 1)))
        return Domain(labels)

    def shares(self, name: str) -> Numbers:
        """Compute the share of each group of an attribute."""
        counts = np.asarray(self.counts[name], float)
        groups = self.groups.get(name)
        values = counts if groups is None else np.bincount(groups, counts)
        return np.asarray((values + 1e-9) / (values + 1e-9).sum())

    def spread(
        self, codes: Sequence[SampleCodes], *, generator: np.random.Generator
    ) -> list[Codes]:
        """Replace groups by labels, in the proportions of the counts.

        Rows of a group get its labels in random order, each as often as expected, to within one.
        """
        columns: list[Codes] = []
        for name, column in zip(self.domain.attributes, codes, strict=True):
            groups = self.groups.get(name)
            if groups is None:
                columns.append(column)
                continue
            counts = np.asarray(self.counts[name], float) + 1e-9
            labels = np.empty(len(column), np.uint16)
            for group in range(groups[-1] + 1):
                rows = np.flatnonzero(column == group)
                members = np.flatnonzero(np.asarray(groups) == group)
                ends = np.cumsum(counts[members])
                places = (np.arange(len(rows)) + generator.random()) / max(len(rows), 1) * ends[-1]
                chosen = np.searchsorted(ends, places, side="right")
                labels[generator.permutation(rows)] = members[chosen.clip(max=len(members) - 1)]
            columns.append(labels)
        return columns
