"""The accountant: every release of information is an event, checked, then recorded, then carried out.

A release is the only way to draw a mechanism's noise (`Accountant.release`), so nothing is released without spending.
Views: an event to the curator is counted for the curator, and, because what is published is computed from it, for the
public and for every other party too; an event to one party is counted for the parties alone. Epsilons of one party's
releases add up (sequential composition); records of different parties are disjoint, so the run's epsilon is the largest
of the parties' (parallel composition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from ..crypto import RandomStream
from ..messages import CURATOR, BudgetError

__all__ = ["Accountant", "Mechanism", "Neighbours", "Release", "epsilon_by_view"]

VIEWS = {True: ("public", "curator", "other_party"), False: ("other_party",)}
"""Who sees, at last, what is told to the curator, and what is told to a party."""

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

Neighbours = Literal["replace-one", "add-or-remove-one"]
"""Which two tables must look alike: one record replaced, or one record more or less."""


class Mechanism(Protocol[T_co]):
    """Something that can be released: it holds its value, its sensitivity and its epsilon."""

    @property
    def name(self) -> str: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def scale(self) -> float: ...
    @property
    def seen(self) -> Mapping[str, float]: ...
    def draw(self, randomness: RandomStream) -> T_co: ...


class Release(msgspec.Struct, frozen=True):
    """What happened: `mechanism` of `scale` on a query of `sensitivity` cost `party` `epsilon` towards `to`, in `phase`.

    `seen` is what it costs in truth, by view: `epsilon` for all who may see it, unless the mechanism says otherwise, as a
    printed one does whose claim does not hold against somebody; infinity where no epsilon holds.
    """

    party: int
    phase: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    to: int
    seen: dict[str, float]


class Accountant:
    """One party's budget. The neighbouring relation has no default."""

    def __init__(self, *, party: int, budget: float, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.releases: list[Release] = []
        self._party = party
        self._budget = budget

    @property
    def spent(self) -> float:
        return sum(release.epsilon for release in self.releases)

    def release(self, mechanism: Mechanism[T], *, to: int, phase: str, randomness: RandomStream) -> T:
        """Check, record, then draw.

        Raises:
            BudgetError: the budget would be exceeded; nothing was recorded and nothing drawn.
        """
        after = self.spent + mechanism.epsilon
        if not after <= self._budget * (1 + 1e-9):  # shares such as eps/3 may round up in the last digit; not NaN
            raise BudgetError(
                f"expected to spend at most epsilon {self._budget:g} on party {self._party}'s records, "
                f"found {after:g} after this {mechanism.name} release"
            )
        self.releases.append(
            Release(
                party=self._party,
                phase=phase,
                mechanism=mechanism.name,
                sensitivity=mechanism.sensitivity,
                scale=mechanism.scale,
                epsilon=mechanism.epsilon,
                to=to,
                seen=dict.fromkeys(VIEWS[to == CURATOR], mechanism.epsilon) | dict(mechanism.seen),
            )
        )
        return mechanism.draw(randomness)


def epsilon_by_view(releases: Iterable[Release], *, parties: Iterable[int]) -> dict[str, Any]:
    """Add up, per party and per view, what was released."""
    by_party = {str(party): dict.fromkeys(VIEWS[True], 0.0) for party in parties}
    for release in releases:
        for view, epsilon in release.seen.items():
            by_party[str(release.party)][view] += epsilon
    worst = {view: max((own[view] for own in by_party.values()), default=0.0) for view in VIEWS[True]}
    return {"epsilon": worst, "by_party": by_party}
