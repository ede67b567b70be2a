"""Secure sums that go on without lost parties: a batch in attempts, each read at most once.

    1. T   -> P_k   roster        the members of this attempt: the parties that are left
    2. P_k -> T     pieces        of a fresh own key, sealed for the parties that P_k has masks with
       P_k -> T     hide(counts_k + fresh share_k + masks between members + own mask_k)
    3. T   -> P_k   all arrived, or the roster of the next attempt (1)
    4. P_k -> T     own key_k
    5. T   -> P_k   whose own keys are missing; a party opens its pieces of the keys of lost parties
       T            takes the own masks out of the sum, in which the others have cancelled

*What an attempt that failed tells.* Nothing. A party gives its own key of one attempt of a batch
alone, and an attempt is random to everyone who lacks one honest member's own key. A party begins
another attempt only if it has kept its key of the one before, so a curator that lies about who is
lost, or that has got all tables, cannot read both. That does not rest on what others do or say. It
holds page by page as well: a table that is complete on some pages stays masked there.

*What the accountant records.* The release of an attempt is withdrawn when its key is kept for ever,
and the next attempt has fresh noise, calibrated for its members. So a batch costs what it costs in
an undisturbed run. It costs a lost party as much if it was a member of the attempt that was read,
and nothing otherwise. Only in the views of the curator with so many parties that they hold enough
pieces of a key, which are more than may collude, every attempt counts.

*Lost between 3 and 5.* Its own key is made again of pieces: more of them than `colluding`, and than
half of those that were given. A party opens a piece only of a party that is lost by what the
*transport* says, not by what the curator says, and only after it gave its own key. If too few
pieces are left the run ends. It cannot ask again, as the others have given their keys.

*The members.* A party refuses a roster without a party that lives by what the transport says, with
fewer parties than `--min-parties`, or with others than before. It refuses to be asked again of the
same members, too. So a run with L losses has L attempts more than batches at most, whatever the
curator says, and L is at most the number of parties less `--min-parties`. All messages from the
curator, the roster among them, enter the digest from which masks derive (`agreement`). So members
that were sent different rosters have masks that do not cancel.

The two sides are `lasting_party` and `lasting_curator`; here is what both compute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...privacy.batch import Batch
from ...privacy.loss import Loss
from .agreement import digest_of
from .batch import SumBatch

__all__ = ["Terms", "TermsOf", "digest_of_attempt", "pieces_needed"]


class Terms(NamedTuple):
    """A batch among some members, and what it costs them in each view."""

    batch: Batch
    seen: Mapping[str, Loss]
    rows: tuple[int, ...] = ()
    """Rows of each member; empty where they are secret."""


TermsOf = Callable[[SumBatch, Sequence[int]], Terms]


def pieces_needed(holders: int, *, colluding: int) -> int:
    """Count the pieces that make a key: more than colluding parties hold, and more than half."""
    return max(colluding + 1, holders // 2 + 1)


def digest_of_attempt(
    batch: Batch, *, number: int, attempt: int, members: Sequence[int], instructions: bytes
) -> bytes:
    """Digest an attempt: its batch and members, and all that the curator has sent until then."""
    digest = digest_of([batch], members=members, number=number, instructions=instructions)
    return hashlib.sha256(b"sottovoce attempt v1" + digest + str(attempt).encode()).digest()
