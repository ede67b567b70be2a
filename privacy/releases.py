"""Releases: the record of what was released, and what all of them cost together.

Losses of one party's releases add up in each view, by the rules of `privacy.composition`. Records
of different parties are disjoint, so a run costs what its most expensive party costs. The sum of
rho is converted to an epsilon once, for the delta of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from .adversary import views
from .composition import WHOLE, Bearer, Charge, PartPath, total, total_loss
from .conversion import epsilon_at
from .loss import Loss, largest
from .mechanism import UserRange

__all__ = ["REPORTED_VIEWS", "PrivacyLoss", "Release", "epsilon_in", "losses_by_view"]

REPORTED_VIEWS: Final = ("public", "curator", "other_party")
"""Views that every report lists, whatever the number of parties is."""


class Release(msgspec.Struct, frozen=True):
    """One release by one party."""

    party: int
    phase: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    """Claimed epsilon; infinity where the noise is Gaussian."""
    rho: float
    """Claimed rho of zero-concentrated differential privacy."""
    delta: float
    """Chance that neither holds."""
    laplace_epsilon: float
    """Epsilon that Laplace noise of the same variance costs."""
    to: int
    """Rank of the receiver."""
    seen: dict[str, Loss]
    """Actual loss in each view.

    It differs from the claimed loss where a printed mechanism's claim does not hold in some view.
    It is infinity where no bound holds.
    """
    users: UserRange | None
    """Users whose reports these are; `None` where all records of the party are behind the value."""
    whole_record: float | None
    """Epsilon of the whole record, where the claim is of a part of it."""
    part: PartPath = WHOLE
    """The part of the party's records behind the value; empty where all of them are."""
    gaussian: float = math.inf
    """Claimed Gaussian loss, in the unit of rho; infinity where none is proved."""

    @property
    def loss(self) -> Loss:
        """The claimed loss."""
        return Loss(self.epsilon, self.rho, self.delta, self.laplace_epsilon, self.gaussian)

    @property
    def bearer(self) -> Bearer:
        """Who bears the loss."""
        return Bearer(self.users, self.part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLoss:
    """What all releases of a run cost, by party and by view."""

    by_party: Mapping[int, Mapping[str, Loss]]
    whole_record: float | None
    """Epsilon of whole records; `None` where no mechanism protects a part alone."""

    @property
    def worst(self) -> dict[str, Loss]:
        """Loss of the party that loses most, by view."""
        losses = [*self.by_party.values()]
        return {view: largest(loss[view] for loss in losses) for view in losses[0]}

    def delta_needed(self, *, claimed: float, delta: float) -> float:
        """Give the delta for which rho is converted: none where pure epsilon keeps the claim."""
        pure = self.worst["public"].epsilon <= claimed * (1 + 1e-9)
        return 0.0 if pure else delta

    def delta_of(self, delta: float) -> float:
        """Give the delta of all figures: that of the run where one rests on it, else their own."""
        losses = [loss for by_view in self.by_party.values() for loss in by_view.values()]
        least = max((loss.delta for loss in losses), default=0.0)
        # The last digits are cut, which makes no figure rest on delta.
        rests = any(epsilon_in(loss, delta=delta) < loss.epsilon * (1 - 1e-9) for loss in losses)
        return max(delta, least) if rests else least

    def epsilons(self, *, delta: float) -> dict[int, dict[str, float]]:
        """Give the epsilon of each party's records by view, except with probability delta."""
        return {
            party: {view: epsilon_in(loss, delta=delta) for view, loss in losses.items()}
            for party, losses in self.by_party.items()
        }


def epsilon_in(loss: Loss, *, delta: float) -> float:
    """Give the epsilon of a loss without the last digits, to which thirds of one may add up.

    A loss whose own delta is larger is given at its own.
    """
    return float(f"{epsilon_at(loss, delta=max(delta, loss.delta)):.12g}")


def losses_by_view(
    releases: Iterable[Release], *, parties: int, threshold: int | None = None
) -> PrivacyLoss:
    """Add up the losses of all releases, by party and by view.

    `threshold` is the collusion threshold of the claim, as each accountant was given it.
    """
    view_names = views(parties, threshold=threshold)
    by_party: dict[int, list[Release]] = {party: [] for party in range(1, parties + 1)}
    for release in releases:
        by_party[release.party].append(release)
    every = [release for party in by_party.values() for release in party]
    whole_record = None
    if any(release.whole_record is not None for release in every):
        whole_record = max(_whole_record(party) for party in by_party.values())
    return PrivacyLoss(
        by_party={
            party: {
                view: total((release.seen[view], release.bearer) for release in party_releases)
                for view in view_names
            }
            for party, party_releases in by_party.items()
        },
        whole_record=whole_record,
    )


def _whole_record(releases: Iterable[Release]) -> float:
    """Add up the epsilons of whole records."""
    charges = (
        Charge(
            release.epsilon if release.whole_record is None else release.whole_record,
            *release.bearer,
        )
        for release in releases
    )
    return float(f"{total_loss(charges):.12g}")
