"""What privincr's plans add to `curator.pair_planning`: candidate sets, and the noise of one user.

Users are the amount that is shared out over sets of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Final, TypeAlias

from ...curator.pair_planning import NoiseLaw
from ...privacy import Domain
from ...privacy.local import Randomizer
from ..calm.design import Cover

__all__ = ["MIN_USERS", "candidate_sets", "noise_of_users"]

Set: TypeAlias = tuple[str, ...]

MIN_USERS: Final = 50
"""Fewest users of a set that is asked."""


def candidate_sets(domain: Domain, covers: Iterable[Cover]) -> dict[Set, None]:
    """List the sets that may be asked: single attributes, pairs, and covers of all pairs."""
    sets = [*((name,) for name in domain.attributes), *combinations(domain.attributes, 2)]
    return dict.fromkeys([*sets, *(names for cover in covers for names in cover.sets)])


def noise_of_users(randomizer: Callable[[int], Randomizer]) -> NoiseLaw:
    """Compute how a cell varies with one user: the base, and the slope by f (1 - f).

    The slope includes the choice of users.
    """

    def law(cells: int) -> tuple[float, float]:
        response = randomizer(cells)
        base = response.variance()
        return base, max(response.variance(frequency=1.0) - base + 1, 0.0)

    return law
