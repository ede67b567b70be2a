"""Releases: the record of what was released, and what all of them cost together.

Losses of one party's releases add up in each view, by the rules of `privacy.composition`. Records
of different parties are disjoint, so a run costs what its most expensive party costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NotRequired, TypedDict

import msgspec

from .adversary import views
from .composition import WHOLE, Charge, PartPath, total_loss
from .mechanism import UserRange

__all__ = ["PrivacyLoss", "Release", "epsilon_by_view"]

REPORTED_VIEWS = ("public", "curator", "other_party")


class Release(msgspec.Struct, frozen=True):
    """One release by one party."""

    party: int
    phase: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    to: int
    """Rank of the receiver."""
    seen: dict[str, float]
    """Actual loss in each view.

    It differs from `epsilon` where a printed mechanism's claim does not hold in some view. It
    is infinity where no epsilon holds.
    """
    users: UserRange | None
    """Users whose reports these are; `None` where all records of the party are behind the value."""
    delta: float
    """Probability with which `epsilon` may not hold."""
    whole_record: float | None
    """Loss of the whole record, where `epsilon` is of a part of it."""
    part: PartPath = WHOLE
    """The part of the party's records behind the value; empty where all of them are."""

    def charge(self, epsilon: float) -> Charge:
        """Say who bears this loss."""
        return Charge(epsilon, self.users, self.part)


class PrivacyLoss(TypedDict):
    """The part of `report.json` that says what all releases of a run cost."""

    epsilon: dict[str, float]
    """Loss in the three views that are always reported."""
    coalitions: dict[str, float]
    """Loss in all other views."""
    by_party: dict[str, dict[str, float]]
    """Loss of each party's records, by view."""
    delta: float
    """Probability with which these losses may not hold; it adds up as they do."""
    whole_record: NotRequired[float]
    """Loss of whole records; absent where no mechanism protects a part alone."""


def epsilon_by_view(
    releases: Iterable[Release], *, parties: int, threshold: int | None = None
) -> PrivacyLoss:
    """Add up the losses of all releases, by party and by view.

    `threshold` is the collusion threshold of the claim, as each accountant was given it.
    """
    view_names = views(parties, threshold=threshold)
    by_party: dict[int, list[Release]] = {party: [] for party in range(1, parties + 1)}
    for release in releases:
        by_party[release.party].append(release)
    losses = {
        str(party): {
            view: _rounded(total_loss(r.charge(r.seen[view]) for r in party_releases))
            for view in view_names
        }
        for party, party_releases in by_party.items()
    }
    worst = {view: max(loss[view] for loss in losses.values()) for view in view_names}
    loss = PrivacyLoss(
        epsilon={view: worst[view] for view in REPORTED_VIEWS},
        coalitions={view: epsilon for view, epsilon in worst.items() if view not in REPORTED_VIEWS},
        by_party=losses,
        delta=max(
            total_loss(r.charge(r.delta) for r in party_releases)
            for party_releases in by_party.values()
        ),
    )
    if any(r.whole_record is not None for party in by_party.values() for r in party):
        loss["whole_record"] = _rounded(
            max(
                total_loss(
                    r.charge(r.epsilon if r.whole_record is None else r.whole_record)
                    for r in party_releases
                )
                for party_releases in by_party.values()
            )
        )
    return loss


def _rounded(epsilon: float) -> float:
    """Round away the last digits, to which thirds of an epsilon may add up."""
    return float(f"{epsilon:.12g}")
