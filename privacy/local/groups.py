"""What groups of users have told, report by report: so that nobody tells more than epsilon, whoever
plans the rounds.

Users stand in a public order, and a group is a run of places. A round asks groups, or parts of
them, about sets of attributes that contain what they were asked before; equation 13 says what all
reports of one user tell together (`belief.leakage`). Collector and user keep the same book, each
for itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log, log1p

from ..mechanism import UserCost
from .belief import Spent, excess

__all__ = ["Group", "Groups"]


@dataclass(frozen=True, slots=True)
class Group:
    """Users from one place to another, what they were asked last, and what their reports were."""

    start: int
    end: int
    attributes: frozenset[int] = frozenset()
    spent: tuple[Spent, ...] = ()

    @property
    def told(self) -> float:
        """The epsilon of all reports together."""
        return log1p(excess(self.spent))

    @property
    def told_of_all(self) -> float:
        """The same of the whole record."""
        return sum(log(own.ratio) for own in self.spent)


class Groups:
    """The book. Whoever is not in it has told nothing."""

    def __init__(self, lines: Iterable[Group] = ()) -> None:
        self._lines = sorted(lines, key=lambda own: own.start)

    def copy(self) -> Groups:
        """Take a copy, to be written in while it is not sure that anybody reports."""
        return Groups(self._lines)

    def of(self, start: int, end: int) -> Group:
        """Find what these users have told; those who have told different things are a
        `ValueError`.
        """
        _, own = self._find(start, end)
        return Group(start, end, own.attributes, own.spent) if own else Group(start, end)

    def report(self, start: int, end: int, *, attributes: frozenset[int], spent: Spent) -> UserCost:
        """Write down a report of these users, and say what it adds; a set that lacks what they were
        asked is a `ValueError`.
        """
        at, own = self._find(start, end)
        before = own or Group(start, end)
        if not before.attributes <= attributes:
            raise ValueError(
                f"expected a set with the attributes {sorted(before.attributes)}, asked before, found {sorted(attributes)}"
            )
        after = Group(start, end, attributes, (*before.spent, spent))
        parts = (
            [after] if own is None else [replace(own, end=start), after, replace(own, start=end)]
        )
        self._lines[at : at + (own is not None)] = [part for part in parts if part.start < part.end]
        more, of_all = max(after.told - before.told, 0.0), log(spent.ratio)
        return UserCost((start, end), more, of_all if abs(of_all - more) > 1e-9 else None)

    def _find(self, start: int, end: int) -> tuple[int, Group | None]:
        """Find where these users' line is, or would be."""
        at = bisect_right(self._lines, start, key=lambda own: own.start)
        if at and self._lines[at - 1].end > start:
            own = self._lines[at - 1]
            if own.end >= end:
                return at - 1, own
        elif at == len(self._lines) or self._lines[at].start >= end:
            return at, None
        raise ValueError(
            f"expected users who were asked alike, found places {start} to {end} across groups"
        )
