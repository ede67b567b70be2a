"""Adversary's views: the names of those who may learn of one party's records.

    public          everyone who reads what is published
    curator         the curator alone
    other_party     one other party, which also knows its own noise
    c_parties       c other parties that collude
    curator_and_c   the curator together with c other parties

Every view includes what is published.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Members", "coalition", "members", "views", "with_curator"]


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


def views(parties: int) -> list[str]:
    """List the views on one party's records.

    A single party has no other party. Its report lists that view all the same.

    >>> views(3)
    ['public', 'curator', 'other_party', '2_parties', 'curator_and_1', 'curator_and_2']
    """
    sizes = range(1, max(parties, 2))
    return [
        "public",
        with_curator(0),
        *map(coalition, sizes),
        *map(with_curator, range(1, parties)),
    ]
