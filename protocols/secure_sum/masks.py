"""Masks: a star without public-key operations except in the introductions.

    P_k -> T    counts_k + share_k + sum of m_kj over j > k - sum of m_jk over j < k
                modulo 256^width

m_kj is a keystream (AES-256-CTR). Its key can be computed by P_k and P_j only, and every batch has
another key. In the sum of all parties' answers every mask occurs once with each sign.

The keys depend on cells, sensitivity, epsilon and rows of a batch, not on the names of its tables.
If parties count different tables of equal size, masks still cancel, and the sum is wrong.

To an adversary without the keys of the parties left out, any smaller sum is uniformly distributed.
So the curator, even together with c parties, learns of the other K - c only their sum. A listener
to all messages that reach T learns what T learns, which is already private.

If a party fails, the others' masks stay in the sum, which is then noise: the run fails and
publishes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...curator import Curator
from ...messages import CURATOR, MessageError, UsageError, role_name
from ...parties import Party
from ...privacy.shares import Batch, SharedLaplace
from ..introductions import introduce
from .options import SecureSums
from .pages import await_window, open_window, page_sizes, recut

__all__ = [
    "MASKED_PAGE",
    "MaskingParty",
    "UnmaskingCurator",
    "check_cells",
    "masked_width",
    "purpose_of",
]

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

MASKED_PAGE: Final = 1 << 18
"""Cells on a page."""


def masked_width(batch: Batch) -> int:
    """Compute the bytes of a cell, which hold every final sum with its sign."""
    width = -(-(batch.bound(shares=True).bit_length() + 1) // 8)
    if width > 8:
        raise UsageError(f"expected sums below 2**63, found a bound of {batch.bound(shares=True)}")
    return width


def check_cells(width: int) -> int:
    """Count the zero cells at the end of a page, which take 8 bytes.

    Masks that do not cancel leave all of them zero with a probability of 2**-64.
    """
    return -(-8 // width)


def purpose_of(batch: Batch) -> str:
    """Name the purpose of the masks' keys, with all figures on which the parties must agree.

    If the curator gave the parties different figures, the keys differ and the masks do not cancel.
    So no party can be made to add too little noise.
    """
    return (
        f"masks {batch.cells} {batch.sensitivity} {batch.epsilon!r} {batch.rows} {batch.colluding}"
    )


class MaskingParty:
    """A party's side with masks."""

    def __init__(self, me: Party) -> None:
        self._me = me
        introduce(me, others=me.others)

    def contribute(
        self,
        tables: Iterable[npt.ArrayLike],
        batch: Batch,
        *,
        number: int,
        seen: Mapping[str, float],
    ) -> None:
        me, width = self._me, masked_width(batch)
        # Every pair and batch has its own key. A keystream used twice would show the difference of
        # the two tables that it masked.
        masks = {
            peer: RandomStream(me.channels[peer].next_key(purpose_of(batch))) for peer in me.peers
        }
        pages = recut(tables, cells=batch.cells, size=MASKED_PAGE)
        noisy = me.release(SharedLaplace(pages=pages, batch=batch, seen=seen), to=CURATOR)
        for page, cells in enumerate(noisy):
            # Arithmetic is modulo 2**64, a multiple of 256**width. The zeros at the end show
            # whether the masks cancel.
            padded = np.concatenate([cells, np.zeros(check_cells(width), np.int64)])
            masked = padded.astype(np.uint64)
            for peer, stream in masks.items():
                octets = np.frombuffer(stream.draw(width * len(masked)), np.uint8)
                mask = _widen(octets, width=width)
                masked = masked + mask if peer > me.rank else masked - mask
            await_window(me, page, receiver=CURATOR)
            me.send(SecureSums.Masked(number, page, _narrow(masked, width=width)), to=CURATOR)
            me.progress(page * MASKED_PAGE + len(cells), of=batch.cells)


class UnmaskingCurator:
    """The curator's side with masks, which cancel in its sum."""

    def __init__(self, desk: Curator) -> None:
        self._desk = desk
        introduce(desk, others=desk.others)

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk, width = self._desk, masked_width(batch)
        bound = batch.bound(shares=True)
        done = 0
        for page, cells in enumerate(page_sizes(batch.cells, size=MASKED_PAGE)):
            open_window(desk, page, senders=desk.parties)
            sent = cells + check_cells(width)
            total = np.zeros(sent, np.uint64)
            answers = desk.gather(SecureSums.Masked)
            for party, answer in zip(desk.parties, answers, strict=True):
                if (answer.batch, answer.page, answer.cells.size) != (number, page, sent * width):
                    raise MessageError(
                        f"expected page {page} of batch {number} with {sent * width} bytes from "
                        f"{role_name(party)}, found page {answer.page} of batch {answer.batch} "
                        f"with {answer.cells.size}",
                        where=desk.where,
                    )
                total += _widen(answer.cells, width=width)
            unused = np.uint64(64 - 8 * width)
            # An arithmetic shift to the right extends the sign.
            sums: Counts = (total << unused).view(np.int64) >> unused.astype(np.int64)
            if np.any(sums[cells:]):
                raise MessageError(
                    "expected masks that cancel in the sum of all, found others: wrong keys",
                    where=desk.where,
                )
            if np.any((sums > bound) | (sums < -bound)):
                raise MessageError(
                    f"expected sums of at most {bound} in size, found one above: wrong counts",
                    where=desk.where,
                )
            yield sums[:cells]
            done += cells
            desk.progress(done, of=batch.cells)


def _widen(octets: npt.NDArray[np.uint8], *, width: int) -> Words:
    wide = np.zeros((octets.size // width, 8), np.uint8)
    wide[:, :width] = octets.reshape(-1, width)
    words: Words = wide.view("<u8").reshape(-1).astype(np.uint64)
    return words


def _narrow(words: Words, *, width: int) -> npt.NDArray[np.uint8]:
    wide = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    octets: npt.NDArray[np.uint8] = wide[:, :width].reshape(-1)
    return octets
