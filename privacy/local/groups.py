"""The book of groups: all reports of each group of users, so that none exceeds her budget.

Users have a public order, and a group is a range of places. A round asks groups, or parts of them,
about sets of attributes that contain those they were asked about before. Equation 13 bounds what
all reports of one user leak together (`belief.leakage`). Collector and users keep the same book,
each for themselves, so it does not matter who plans the rounds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log, log1p

from ..mechanism import UserCost
from .belief import PastReport, excess

__all__ = ["GroupBook", "UserGroup"]

MIN_DIFFERENCE = 1e-9
"""A smaller difference between two losses is a rounding error."""


@dataclass(frozen=True, slots=True)
class UserGroup:
    """Users in a range of places, the attributes they were asked about last, and their reports."""

    start: int
    end: int
    attributes: frozenset[int] = frozenset()
    reports: tuple[PastReport, ...] = ()

    @property
    def loss(self) -> float:
        """Epsilon of all reports together."""
        return log1p(excess(self.reports))

    @property
    def whole_record_loss(self) -> float:
        """Epsilon of all reports together, for the whole record."""
        return sum(log(report.ratio) for report in self.reports)


class GroupBook:
    """The book. Users that are not in it have not reported."""

    def __init__(self, groups: Iterable[UserGroup] = ()) -> None:
        self._groups = sorted(groups, key=lambda group: group.start)

    def copy(self) -> GroupBook:
        """Make a copy, for reports that may still be refused."""
        return GroupBook(self._groups)

    def of(self, start: int, end: int) -> UserGroup:
        """Find the reports of these users.

        Raises:
            ValueError: the users belong to different groups.
        """
        _, group = self._find(start, end)
        if group is None:
            return UserGroup(start, end)
        return UserGroup(start, end, group.attributes, group.reports)

    def record(
        self, start: int, end: int, *, attributes: frozenset[int], report: PastReport
    ) -> UserCost:
        """Record a report of these users, and return the cost that it adds.

        Raises:
            ValueError: the set lacks attributes that they were asked about before.
        """
        index, group = self._find(start, end)
        before = group or UserGroup(start, end)
        if not before.attributes <= attributes:
            raise ValueError(
                f"expected a set with the attributes {sorted(before.attributes)}, asked before, "
                f"found {sorted(attributes)}"
            )
        after = UserGroup(start, end, attributes, (*before.reports, report))
        if group is None:
            self._groups.insert(index, after)
        else:
            parts = (replace(group, end=start), after, replace(group, start=end))
            self._groups[index : index + 1] = [part for part in parts if part.start < part.end]
        added = max(after.loss - before.loss, 0.0)
        whole_record = log(report.ratio)
        is_larger = abs(whole_record - added) > MIN_DIFFERENCE
        return UserCost((start, end), added, whole_record if is_larger else None)

    def _find(self, start: int, end: int) -> tuple[int, UserGroup | None]:
        """Find the group of these users; without one, the index at which it belongs."""
        index = bisect_right(self._groups, start, key=lambda group: group.start)
        if index and self._groups[index - 1].end > start:
            group = self._groups[index - 1]
            if group.end >= end:
                return index - 1, group
        elif index == len(self._groups) or self._groups[index].start >= end:
            return index, None
        raise ValueError(
            f"expected users who were asked alike, found places {start} to {end} across groups"
        )
