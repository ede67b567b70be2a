"""The rows of each party: who tells them to whom, and how many a sum has.

    P_k -> T    the number of its rows
    T   -> P_k  the numbers of all parties, among which it finds its own

Where only a bound on all parties' rows is public nobody tells any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ...curator import Curator
from ...messages import CURATOR, MessageError, MisuseError, role_name
from ...parties import Party
from .options import SecureSums

__all__ = ["LOST_ROWS", "gather_rows", "receive_rows", "rows_among", "send_rows"]

LOST_ROWS: Final = -1
"""What stands for the rows of a party that was lost before it sent their number."""


class HasRows(Protocol):
    """A side that knows each party's rows, or a bound on all rows."""

    rows: int
    rows_by_party: list[int]


def rows_among(members: Sequence[int], sums: HasRows) -> int:
    """Count the rows of these parties; a public bound on all rows bounds theirs, too."""
    if not sums.rows_by_party:
        return sums.rows
    return sum(max(sums.rows_by_party[party - 1], 0) for party in members)


def send_rows(me: Party) -> None:
    """Send this party's number of rows to the curator."""
    if me.accountant.neighbours != "replace-one":
        raise MisuseError(
            "expected a public bound on the rows, as numbers of rows are secret between "
            f"{me.accountant.neighbours} neighbours, found none: say rows=",
            where=me.where,
        )
    me.send(SecureSums.Rows(len(me.records)), to=CURATOR)


def gather_rows(desk: Curator) -> list[int]:
    """Receive all parties' numbers of rows; `LOST_ROWS` stands for a party that is lost."""
    if desk.min_parties is None:
        return [message.rows for message in desk.gather(SecureSums.Rows)]
    answers = desk.gather_living(SecureSums.Rows, sources=desk.parties)
    return [answers[party].rows if party in answers else LOST_ROWS for party in desk.parties]


def receive_rows(me: Party) -> list[int]:
    """Receive all parties' numbers of rows."""
    rows = me.receive(SecureSums.RowsByParty, source=CURATOR).rows
    least = 0 if me.min_parties is None else LOST_ROWS
    if rows.shape != (len(me.parties),) or rows.min() < least:
        raise MessageError(
            f"expected the rows of {len(me.parties)} parties from {role_name(CURATOR)}, "
            "found something else",
            where=me.where,
        )
    if rows[me.number - 1] != len(me.records):
        raise MessageError(
            f"expected that {role_name(CURATOR)} tells all parties the number of rows that "
            f"{role_name(me.rank)} has, found another number: the curator, or the network, "
            "changed it",
            where=me.where,
        )
    return list(rows.tolist())  # not an array, whose sum may overflow
