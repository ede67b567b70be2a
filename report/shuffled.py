"""The view `shuffled`: what users' reports would cost if nothing linked them to their senders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import isinf

from ..privacy import BudgetHolder, Neighbours, Release
from ..privacy.shuffling import shuffled_epsilon
from ..protocols.outcome import UserTraffic
from .report import Shuffled

__all__ = ["shuffled_view"]

ASSUMPTION = (
    "if the reports on each question, {users:,} or more, reach the analyst unlinked and in random "
    "order"
)


def shuffled_view(
    releases: Sequence[Release],
    traffic: UserTraffic | None,
    *,
    epsilon: float,
    delta: float,
    budget_of: BudgetHolder,
    neighbours: Neighbours,
) -> Shuffled | None:
    """Compute the view of an analyst to whom a shuffler hands the reports.

    Only reports on the same question hide among each other, as anybody knows which user was asked
    which question. So the smallest group counts.

    Args:
        releases: all releases of the run.
        traffic: what users send, which has the size of the smallest group.
        epsilon: the largest pure loss of a user without shuffling.
        delta: the probability with which the bound may not hold.
        budget_of: who has the budget.
        neighbours: the neighbouring relation.

    Returns:
        `None` if the theorem does not apply: some values do not come from users who report once,
        a report has more than the randomized value, no pure epsilon bounds it, or no delta is
        allowed.
    """
    if (
        budget_of != "user"
        or isinf(epsilon)
        or neighbours != "replace-one"
        or not delta
        or traffic is None
        or not traffic.smallest_group
        or not _is_reported_once(releases)
    ):
        return None
    users = traffic.smallest_group
    return Shuffled(
        epsilon=shuffled_epsilon(epsilon, users=users, delta=delta),
        delta=delta,
        users=users,
        assumption=ASSUMPTION.format(users=users),
    )


def _is_reported_once(releases: Sequence[Release]) -> bool:
    """Tell whether every release is of users, each of whom has one with a pure epsilon."""
    if not releases or any(release.delta for release in releases):
        return False
    places = [(release.party, *release.users) for release in releases if release.users is not None]
    return len(places) == len(releases) and all(
        first[2] <= second[1]
        for _, group in groupby(sorted(places), key=lambda place: place[0])
        for first, second in pairwise(group)
    )
