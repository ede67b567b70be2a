"""Agreement: masks cancel only if all parties were told the same.

The digest of a batch covers everything that the curator has told a party until then, and all
figures of the batch:

    digest = SHA-256(all messages from T, number, cells, sensitivity, epsilon, rows, colluding)

The keys of the batch's masks derive from it. If the curator or the network told two parties
different things, their masks do not cancel, and what the curator reads is random. This needs no
wait: a sum takes one round after the request.

    P_k  -> T         digest        T compares it with what it has told P_k
    P_k  -> P_next    digest        P_next on the circle of the mask graph compares it with its own

These messages only name the two roles that disagree. The keys protect also where a role between two
parties lies.

A message that may differ from party to party is declared `@personal`; the digest leaves it out.
"""

from __future__ import annotations

import hashlib
from typing import Final

from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.shares import Batch
from .graph import Circle
from .options import SecureSums

__all__ = ["digest_of", "require_agreement", "send_agreement", "take_agreements"]

TOLD: Final = "messages from the curator, the batch's size or its budget differ"


def digest_of(batch: Batch, *, number: int, told: bytes) -> bytes:
    """Digest a batch and everything that the curator has told until then."""
    figures = (
        f"{number} {batch.cells} {batch.sensitivity} {batch.epsilon!r} {batch.rows} "
        f"{batch.parties} {batch.colluding}"
    )
    return hashlib.sha256(b"sottovoce agreement v1" + told + figures.encode()).digest()


def send_agreement(me: Party, circle: Circle, *, number: int, digest: bytes) -> None:
    """Send a party's digest to the curator and to the next party on the circle."""
    receivers = [CURATOR, circle.after(me.rank)] if me.peers else [CURATOR]
    me.broadcast(SecureSums.Agreement(number, digest), to=receivers)


def require_agreement(me: Party, circle: Circle, *, number: int, digest: bytes) -> None:
    """Compare a party's digest with that of the party before it on the circle.

    Raises:
        MessageError: the two have been told different things.
    """
    if not me.peers:
        return
    other = circle.before(me.rank)
    agreement = me.receive(SecureSums.Agreement, source=other)
    if (agreement.batch, agreement.digest) != (number, digest):
        raise MessageError(
            f"expected that {role_name(other)} was told the same as {role_name(me.rank)} before "
            f"batch {number}, found that {TOLD}: the curator, or the network, told them different "
            "things, and no sum can be read",
            where=me.where,
        )


def take_agreements(desk: Curator, batch: Batch, *, number: int) -> None:
    """Receive all parties' digests, and compare each with what the curator has told that party.

    Raises:
        MessageError: a party has been told something else.
    """
    agreements = desk.gather(SecureSums.Agreement)
    for party, agreement in zip(desk.parties, agreements, strict=True):
        expected = digest_of(batch, number=number, told=desk.told(party))
        if (agreement.batch, agreement.digest) != (number, expected):
            raise MessageError(
                f"expected that {role_name(party)} was told what {role_name(CURATOR)} has told it "
                f"before batch {number}, found that {TOLD}: do all roles run the same sottovoce "
                "with the same parameters, and is the network's sender the curator?",
                where=desk.where,
            )
    if len({desk.told(party) for party in desk.parties}) > 1:
        raise MessageError(
            f"expected that all parties are told the same before batch {number}, found that "
            f"{role_name(CURATOR)} told them different things: declare messages that may differ "
            "from party to party @personal",
            where=desk.where,
        )
