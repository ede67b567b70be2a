"""Asking every user for all attributes at once: both sides.

    cohort      Present     how many rows it has                                    as in any survey (`local.asking`)
    aggregator  Opening     how many users there are in all, and a public key
    aggregator  Filters     which attributes, and what becomes of them
    cohort      Reports     its users' filters, some at a time

A cohort works out on its own which filters its parameters allow, and answers no others. What a user
says is kept as it is: tables are made from all reports, user by user, so their sums would not do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR, USER_BITS, MessageError, Shape, message
from ...parties import Party
from ...parties.filtering import FilterReports
from ...privacy import Domain
from ...privacy.local import packed_size, unpack
from ...privacy.local.bloom import BloomFilters
from ...privacy.local.randomizer import Counts, Reports
from ...privacy.local.several import Matches
from ..local.asking import Enlisted, Mustered

__all__ = ["Filtered", "Told", "answer", "ask", "described"]


class Filtered:
    """The messages."""

    @message
    class Filters:
        """Which attributes users report, by number; hashes, bits for each label; how likely a bit
        is turned, of 2^digits.
        """

        attributes: tuple[int, ...]
        hashes: int
        bits_per_value: int
        turned: int
        digits: int

    @message
    class Reports:
        """Reports of some of a cohort's users, packed; the last ones or not."""

        users: int
        bits: Annotated[int, USER_BITS]
        packed: Annotated[npt.NDArray[np.uint8], Shape(None)]
        last: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What all users said: how many, how many filters have each bit, and the matches of each user,
    attribute by attribute.
    """

    users: int
    ones: list[Counts]
    matches: list[Matches]


def described(filters: BloomFilters, domain: Domain, attributes: Sequence[str]) -> Filtered.Filters:
    """Say what is asked."""
    places = tuple(domain.attributes.index(name) for name in attributes)
    turned = int(filters.flips * (1 << filters.digits))
    return Filtered.Filters(places, filters.hashes, filters.bits_per_value, turned, filters.digits)


def answer(me: Party, enlisted: Enlisted, filters: BloomFilters, attributes: Sequence[str]) -> None:
    """Hear what is asked, and let the cohort's users answer if it is what they expect."""
    said, expected = (
        me.receive(Filtered.Filters, source=CURATOR),
        described(filters, me.records.domain, attributes),
    )
    if said != expected:
        raise MessageError(
            f"malformed Filters from the curator: expected {_shown(expected)}, found {_shown(said)}",
            where=me.where,
        )

    def told(done: int, of: int) -> None:
        me.progress(done, of=of)

    words = me.words_of_users(f"release {len(me.accountant.releases)}")
    reports = FilterReports(
        enlisted.cohort, tuple(attributes), filters, enlisted.users, told, words
    )
    for window in me.release(reports, to=CURATOR, users=reports.users):
        me.send(
            Filtered.Reports(int(window.users[0]), window.bits, window.packed, window.last),
            to=CURATOR,
        )


def ask(
    desk: Curator, mustered: Mustered, filters: BloomFilters, attributes: Sequence[str]
) -> Told:
    """Ask all users, and hear them; reports that cannot be, or of another number of users, end the
    run.

    They are put in an order of their own: nothing that is computed depends on who came with whom.
    """
    desk.broadcast(described(filters, desk.domain, attributes))
    heard: list[Reports] = []
    speaking, users = [*desk.parties], 0
    while speaking:
        for rank in [*speaking]:
            said = desk.receive(Filtered.Reports, source=rank)
            try:
                heard.append(_window(said, filters))
            except ValueError as error:
                raise MessageError(
                    f"malformed reports from cohort {rank}: {error}", where=desk.where
                ) from None
            users += len(heard[-1])
            if users > mustered.users:
                raise MessageError(
                    f"expected at most {mustered.users} users, found more from cohort {rank}",
                    where=desk.where,
                )
            desk.progress(float(users), of=mustered.users)
            if said.last:
                speaking.remove(rank)
    if users != mustered.users:
        raise MessageError(
            f"expected {mustered.users} users to report, found {users}", where=desk.where
        )
    reports = np.concatenate(heard)
    reports = reports[reports.view(f"V{filters.size}").reshape(-1).argsort()]
    return Told(users, filters.ones(reports), filters.matches(reports))


def _window(said: Any, filters: BloomFilters) -> Reports:
    """Take some reports apart."""
    if (
        not 0 <= said.users <= 8 * len(said.packed)
        or said.bits != said.users * filters.bits
        or not (said.users or said.last)
    ):
        raise ValueError(
            f"expected {filters.bits} bits of each of some users, found {said.bits} of {said.users}"
        )
    if len(said.packed) != packed_size(said.users, bits=filters.bits):
        raise ValueError(
            f"expected {packed_size(said.users, bits=filters.bits)} bytes of reports, found {len(said.packed)}"
        )
    return unpack(said.packed, bits=filters.bits, reports=said.users)


def _shown(said: Filtered.Filters) -> str:
    return (
        f"attributes {', '.join(map(str, said.attributes))}, {said.hashes} hashes, {said.bits_per_value} bits a label, "
        f"f/2 = {said.turned} / 2^{said.digits}"
    )
