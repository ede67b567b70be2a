"""What groups of users have told, report by report: so that nobody tells more than epsilon, whoever plans the rounds.

Users stand in a public order, and a group is a run of places. A round asks groups, or parts of them, about sets of attributes
that contain what they were asked before; equation 13 says what all reports of one user tell together (`belief.leakage`).
Collector and user keep the same book, each for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from ..accountant import Share
from .belief import Spent, leakage

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
        return log(leakage(self.spent))

    @property
    def told_of_all(self) -> float:
        """The same of the whole record."""
        return sum(log(own.ratio) for own in self.spent)


@dataclass(frozen=True, slots=True)
class Groups:
    """The book. Whoever is not in it has told nothing."""

    lines: tuple[Group, ...] = ()

    def of(self, start: int, end: int) -> Group:
        """Find what these users have told; those who have told different things are a `ValueError`."""
        for own in reversed(self.lines):
            if own.start <= start and end <= own.end:
                return Group(start, end, own.attributes, own.spent)
            if max(own.start, start) < min(own.end, end):
                raise ValueError(f"expected users who were asked alike, found places {start} to {end} across groups")
        return Group(start, end)

    def report(self, start: int, end: int, *, attributes: frozenset[int], spent: Spent) -> tuple[Groups, Share]:
        """Write down a report of these users, and say what it adds; a set that lacks what they were asked is a `ValueError`."""
        before = self.of(start, end)
        if not before.attributes <= attributes:
            raise ValueError(
                f"expected a set with the attributes {sorted(before.attributes)}, asked before, found {sorted(attributes)}"
            )
        after = Group(start, end, attributes, (*before.spent, spent))
        more, of_all = max(after.told - before.told, 0.0), log(spent.ratio)
        share = Share((start, end), more, of_all if abs(of_all - more) > 1e-9 else None)
        return Groups((*self.lines, after)), share
