"""Masks: a star, no public-key operation but the introductions, and no trust in who talks to the curator.

    P_k -> T    counts_k + share_k + sum of m_kj over j > k - sum of m_jk over j < k    modulo 256^width

m_kj is a keystream (AES-256-CTR) under a key that only P_k and P_j can compute, another for each batch. In the sum of all
parties' answers every mask occurs once with each sign. Any smaller sum looks uniformly distributed to whoever does not know
the keys of the parties left out: so the curator, even together with c parties, learns of the other K - c only their sum. Who
listens in on all that arrives at T learns what T learns, which is private already.

A party that fails leaves the others' masks in the sum, which is then noise: the run fails and nothing is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.shares import Batch, SharedLaplace
from ..introductions import introduce
from .options import SecureSums
from .pages import await_window, open_window, page_sizes, recut

__all__ = ["MASKED_PAGE", "MaskingParty", "UnmaskingCurator", "masked_width"]

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

MASKED_PAGE: Final = 1 << 18
"""Cells on a page."""


def masked_width(batch: Batch) -> int:
    """Bytes that hold every final sum with its sign."""
    return -(-(batch.bound(shares=True).bit_length() + 1) // 8)


class MaskingParty:
    """A party that masks."""

    def __init__(self, me: Party) -> None:
        self._me = me
        introduce(me)

    def contribute(self, tables: Iterable[npt.ArrayLike], batch: Batch, *, number: int, seen: Mapping[str, float]) -> None:
        me, width = self._me, masked_width(batch)
        # A key for each pair and batch, whoever asked for the batch: a keystream that served twice would show the difference of
        # what it masked.
        masks = {peer: RandomStream(me.channels[peer].next_key("masks")) for peer in me.peers}
        pages = recut(tables, cells=batch.cells, size=MASKED_PAGE)
        noisy = me.release(SharedLaplace(pages=pages, batch=batch, seen=seen), to=CURATOR)
        for page, cells in enumerate(noisy):
            masked = cells.astype(np.uint64)  # modulo 2**64: a multiple of 256**width
            for peer, stream in masks.items():
                mask = _widen(np.frombuffer(stream.draw(width * len(cells)), np.uint8), width=width)
                masked = masked + mask if peer > me.rank else masked - mask
            await_window(me, page, receiver=CURATOR)
            me.send(SecureSums.Masked(number, page, _narrow(masked, width=width)), to=CURATOR)
            me.progress(page * MASKED_PAGE + len(cells), of=batch.cells)


class UnmaskingCurator:
    """The curator, who adds up what cancels."""

    def __init__(self, desk: Curator) -> None:
        self._desk = desk

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk, width = self._desk, masked_width(batch)
        bound = batch.bound(shares=True)
        done = 0
        for page, cells in enumerate(page_sizes(batch.cells, size=MASKED_PAGE)):
            open_window(desk, page, senders=desk.parties)
            total = np.zeros(cells, np.uint64)
            for party, said in zip(desk.parties, desk.gather(SecureSums.Masked), strict=True):
                if (said.batch, said.page, said.cells.size) != (number, page, cells * width):
                    raise MessageError(
                        f"expected page {page} of batch {number} with {cells * width} bytes from {role_name(party)}, "
                        f"found page {said.page} of batch {said.batch} with {said.cells.size}",
                        where=desk.where,
                    )
                total += _widen(said.cells, width=width)
            unused = np.uint64(64 - 8 * width)
            sums: Counts = (total << unused).view(np.int64) >> unused.astype(np.int64)  # takes the sign along
            if len(sums) and int(np.abs(sums).max()) > bound:
                raise MessageError(
                    f"expected sums of at most {bound} in size, found one above: masks that do not cancel, or wrong counts",
                    where=desk.where,
                )
            yield sums
            done += cells
            desk.progress(done, of=batch.cells)


def _widen(octets: npt.NDArray[np.uint8], *, width: int) -> Words:
    wide = np.zeros((octets.size // width, 8), np.uint8)
    wide[:, :width] = octets.reshape(-1, width)
    words: Words = wide.view("<u8").reshape(-1).astype(np.uint64)
    return words


def _narrow(words: Words, *, width: int) -> npt.NDArray[np.uint8]:
    octets: npt.NDArray[np.uint8] = words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].reshape(-1)
    return octets
