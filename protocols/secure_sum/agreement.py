"""Agreement: masks cancel only if all parties have received the same instructions.

The digest of a batch covers everything that the curator has sent to a party until then, and all
figures of the batch:

    digest = SHA-256(all messages from T, who is in the sum, number, and of each batch: cells,
                     sensitivity, epsilon, rho, rows, colluding)

The keys of the batch's masks derive from it. If the curator or the network sent two parties
different things, their masks do not cancel, and what the curator reads is random. This needs no
wait: a sum takes one round after the request.

    P_k  -> T         digest        T compares it with what it has sent to P_k
    P_k  -> P_next    digest        P_next on the circle of the mask graph compares it with its own

These messages only name the two roles that disagree. The keys protect also where a role between two
parties lies.

A message that may differ from party to party is declared `@personal`; the digest leaves it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.batch import Batch
from .graph import Circle
from .options import SecureSums

__all__ = ["digest_of", "require_agreement", "send_agreement", "take_agreements"]

DIFFERENCES: Final = "messages from the curator, the batch's size or its budget differ"


def digest_of(
    batches: Sequence[Batch], *, members: Sequence[int], number: int, instructions: bytes
) -> bytes:
    """Digest batches that are summed at once, and everything that the curator has sent until then.

    Args:
        batches: the batches, in their order.
        members: ranks of the parties whose tables are added up.
        number: the number of the first batch.
        instructions: the digest of what the curator has sent to this party.
    """
    figures = [f"{number} {sorted(members)}"]
    figures += [
        f"{batch.cells} {batch.sensitivity} {batch.epsilon!r} {batch.rho!r} "
        f"{batch.of_gaussian} {batch.squares} {batch.rows} {batch.parties} {batch.colluding}"
        for batch in batches
    ]
    text = "\n".join(figures).encode()
    return hashlib.sha256(b"sottovoce agreement v3" + instructions + text).digest()


def send_agreement(me: Party, circle: Circle, *, number: int, digest: bytes) -> None:
    """Send a party's digest to the curator and to the next party on the circle."""
    receivers = [CURATOR, circle.after(me.rank)] if circle.parties > 1 else [CURATOR]
    me.broadcast(SecureSums.Agreement(number, digest), to=receivers)


def require_agreement(me: Party, circle: Circle, *, number: int, digest: bytes) -> None:
    """Compare a party's digest with that of the party before it on the circle.

    Raises:
        MessageError: the two have received different things.
    """
    if circle.parties == 1:
        return
    other = circle.before(me.rank)
    agreement = me.receive(SecureSums.Agreement, source=other)
    if (agreement.batch, agreement.digest) != (number, digest):
        raise MessageError(
            f"expected that {role_name(other)} has received the same as {role_name(me.rank)} "
            f"before batch {number}, found that {DIFFERENCES}: the curator, or the network, sent "
            "them different things, and no sum can be read",
            where=me.where,
        )


def take_agreements(
    desk: Curator, batches: Sequence[Batch], *, members: Sequence[int], number: int
) -> None:
    """Receive the members' digests, and compare each with what the curator has sent there.

    Raises:
        MessageError: a party has received something else.
    """
    agreements = desk.gather(SecureSums.Agreement, sources=members)
    for party, agreement in zip(members, agreements, strict=True):
        expected = digest_of(
            batches, members=members, number=number, instructions=desk.instructions(party)
        )
        if (agreement.batch, agreement.digest) != (number, expected):
            raise MessageError(
                f"expected that {role_name(party)} has received what {role_name(CURATOR)} sent to "
                f"it before batch {number}, found that {DIFFERENCES}: do all roles run the same "
                "sottovoce with the same parameters, and is the network's sender the curator?",
                where=desk.where,
            )
    if len({desk.instructions(party) for party in members}) > 1:
        raise MessageError(
            f"expected that all parties receive the same before batch {number}, found that "
            f"{role_name(CURATOR)} sent them different things: declare messages that may differ "
            "from party to party @personal",
            where=desk.where,
        )
