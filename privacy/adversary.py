"""Adversary's views: the names of those who may learn of one party's records.

    public          everyone who reads what is published
    curator         the curator alone
    other_party     one other party, which also knows its own noise
    c_parties       c other parties that collude
    curator_and_c   the curator together with c other parties

Every view includes what is published.

Of up to 33 parties all sizes of coalitions are listed. Of more, sizes are thinned out, or a report
of a thousand parties would have two million figures. A coalition of a size that is not listed is
part of one of the next larger size, whose loss bounds its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from .loss import Loss, largest

__all__ = [
    "Members",
    "coalition",
    "coalition_sizes",
    "losses_in",
    "members",
    "views",
    "with_curator",
]

MAX_SIZES: Final = 32
"""Other parties of which coalitions of every size are listed."""
SMALL_SIZES: Final = 8
"""Sizes that are always listed, from 1 on."""


class Members(NamedTuple):
    """Who is in a view, beside the public."""

    parties: int
    """Number of other parties."""
    curator: bool


def members(view: str) -> Members:
    """Tell who is in a view.

    >>> members("public"), members("2_parties"), members("curator_and_1")
    (Members(parties=0, curator=False), Members(parties=2, curator=False), \
Members(parties=1, curator=True))
    """
    named = {
        "public": Members(parties=0, curator=False),
        "curator": Members(parties=0, curator=True),
    }
    if view in named:
        return named[view]
    if view == coalition(1):
        return Members(parties=1, curator=False)
    number = view.removeprefix("curator_and_").removesuffix("_parties")
    return Members(parties=int(number), curator=view.startswith("curator"))


def coalition(size: int) -> str:
    """Name the view of a coalition of other parties."""
    return "other_party" if size == 1 else f"{size}_parties"


def with_curator(size: int) -> str:
    """Name the view of the curator together with a coalition of other parties."""
    return f"curator_and_{size}" if size else "curator"


def coalition_sizes(parties: int, *, threshold: int | None = None) -> list[int]:
    """List the sizes of coalitions of other parties whose losses are reported.

    Args:
        parties: the number of parties.
        threshold: the collusion threshold up to which a claim holds, which is always listed.

    >>> coalition_sizes(4)
    [1, 2, 3]
    >>> coalition_sizes(100, threshold=50)
    [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 50, 64, 96, 99]
    """
    others = parties - 1
    if others <= MAX_SIZES:
        return [*range(1, parties)]
    sizes = {*range(1, SMALL_SIZES + 1), others}
    size = SMALL_SIZES
    while size < others:
        sizes |= {size, size + size // 2}
        size *= 2
    if threshold:
        sizes.add(threshold)
    return sorted(size for size in sizes if size <= others)


def views(parties: int, *, threshold: int | None = None) -> list[str]:
    """List the views on one party's records; `coalition_sizes` explains the threshold.

    A single party has no other party. Its report lists that view all the same.

    >>> views(3)
    ['public', 'curator', 'other_party', '2_parties', 'curator_and_1', 'curator_and_2']
    """
    sizes = coalition_sizes(parties, threshold=threshold)
    return [
        "public",
        with_curator(0),
        *map(coalition, sizes or [1]),
        *map(with_curator, sizes),
    ]


def losses_in(
    listed: Mapping[str, Loss], losses: Mapping[str, Loss], *, parties: int
) -> dict[str, Loss]:
    """Put losses by view in place of those of listed views.

    The loss of a view that is not listed raises that of the next larger coalition that is.

    Raises:
        ValueError: there is no such view of so many parties.

    >>> listed = {"curator": Loss(1, 0.5), "8_parties": Loss(1, 0.5)}
    >>> losses = {"7_parties": Loss(2, 2), "curator": Loss(0.5, 0.125)}
    >>> [loss.epsilon for loss in losses_in(listed, losses, parties=9).values()]
    [0.5, 2]
    """
    seen = {**listed, **{view: loss for view, loss in losses.items() if view in listed}}
    other = losses.keys() - listed.keys()
    if not other:
        return seen
    by_members = sorted((members(view), view) for view in listed if view != "public")
    for view in sorted(other):
        larger = [name for who, name in by_members if _includes(who, view, parties=parties)]
        if not larger:
            raise ValueError(f"expected views among {', '.join(listed)}, found {view}")
        seen[larger[0]] = largest([seen[larger[0]], losses[view]])
    return seen


def _includes(who: Members, view: str, *, parties: int) -> bool:
    """Tell whether a listed coalition is one of the next size, with or without the curator."""
    try:
        smaller = members(view)
    except ValueError:
        return False
    return smaller.curator == who.curator and 0 < smaller.parties <= who.parties < parties
