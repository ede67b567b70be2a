"""What releases cost together, computed anew from report.json: a referee of the accountant."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ..privacy import PartPath
from ..privacy.composition import Charge, total_loss
from ..privacy.conversion import epsilon_of
from ..privacy.gaussian_loss import epsilon_of_gaussian

__all__ = ["epsilon_of_releases", "releases_by_user"]


def releases_by_user(releases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """List the releases about each user that can have the largest loss.

    A release is about a range of users, so the largest loss occurs at the first user of a range.
    Without users, every release is about every record.
    """
    first_users = {0, *(release["users"][0] for release in releases if release["users"])}
    return [
        [
            release
            for release in releases
            if release["users"] is None or release["users"][0] <= user < release["users"][1]
        ]
        for user in first_users
    ]


def epsilon_of_releases(
    releases: list[dict[str, Any]], view: str | None = None, *, delta: float
) -> float:
    """Add up what releases claim, or cost in a view; disjoint parts count by their rule.

    Pure epsilons add up, and so do rho and Gaussian losses, which are converted at the end. Either
    counts for all releases, or for those without a pure bound, beside the epsilons of the others.
    """
    losses = [release if view is None else release["seen"][view] for release in releases]
    parts = [msgspec.convert(release["part"], PartPath) for release in releases]

    def added(measure: str, *, pure: bool | None = None) -> float:
        return total_loss(
            Charge(float(loss[measure]), part=part)
            for loss, part in zip(losses, parts, strict=True)
            if pure is None or (float(loss["epsilon"]) < math.inf) is pure
        )

    left = max(0.0, delta - added("delta"))
    others = (
        epsilon_of(added("rho", pure=False), delta=left),
        epsilon_of_gaussian(added("gaussian", pure=False), delta=left),
    )
    mixed = added("epsilon", pure=True) + min(others)
    return min(
        added("epsilon"),
        epsilon_of(added("rho"), delta=left),
        epsilon_of_gaussian(added("gaussian"), delta=left),
        mixed,
    )
