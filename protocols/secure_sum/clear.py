"""In the clear: no protection at all, for tests and as the baseline of what the other two cost.

    P_k -> T    counts_k + share_k

T SEES EVERY PARTY'S TABLE with a mere share of the noise; a share alone is far from epsilon
(`privacy.shares.excess` says how far, and the report shows that figure as the curator's real
epsilon).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.shares import Batch, SharedLaplace
from .masks import MASKED_PAGE
from .options import SecureSums
from .pages import await_window, open_window, page_sizes, recut

__all__ = ["CuratorInTheClear", "PartyInTheClear"]

Counts = npt.NDArray[np.int64]


class PartyInTheClear:
    """A party that hides nothing."""

    def __init__(self, me: Party) -> None:
        self._me = me

    def contribute(
        self,
        tables: Iterable[npt.ArrayLike],
        batch: Batch,
        *,
        number: int,
        seen: Mapping[str, float],
    ) -> None:
        me = self._me
        pages = recut(tables, cells=batch.cells, size=MASKED_PAGE)
        noisy = me.release(SharedLaplace(pages=pages, batch=batch, seen=seen), to=CURATOR)
        for page, cells in enumerate(noisy):
            await_window(me, page, receiver=CURATOR)
            me.send(SecureSums.Unprotected(number, page, cells), to=CURATOR)  # the leak


class CuratorInTheClear:
    """A curator that sees it all."""

    def __init__(self, desk: Curator) -> None:
        self._desk = desk

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk = self._desk
        for page, cells in enumerate(page_sizes(batch.cells, size=MASKED_PAGE)):
            open_window(desk, page, senders=desk.parties)
            total = np.zeros(cells, np.int64)
            for party, said in zip(desk.parties, desk.gather(SecureSums.Unprotected), strict=True):
                if (said.batch, said.page, said.cells.shape) != (number, page, (cells,)):
                    raise MessageError(
                        f"expected page {page} of batch {number} with {cells} cells from {role_name(party)}, "
                        f"found page {said.page} of batch {said.batch} with {said.cells.size}",
                        where=desk.where,
                    )
                total += said.cells
            yield total
