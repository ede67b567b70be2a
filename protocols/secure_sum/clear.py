"""In the clear: no protection at all, for tests and as a baseline of cost.

    P_k -> T    counts_k + share_k

T SEES EVERY PARTY'S TABLE with a mere share of the noise. One share alone is far from epsilon:
`privacy.laplace_shares.excess` gives the factor, and the report shows the result as the curator's
real epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.batch import Batch
from .addend import Addend
from .hidden_words import WORDS_PAGE
from .options import SecureSums
from .pages import await_window, open_window, page_sizes

__all__ = ["CuratorInTheClear", "PartyInTheClear"]

Counts = npt.NDArray[np.int64]


class PartyInTheClear:
    """A party's side without protection."""

    def __init__(self, me: Party, *, members: Sequence[int]) -> None:
        self._me = me
        self._members = members

    def contribute(self, addends: Sequence[Addend], *, number: int) -> None:
        me = self._me
        answers = [
            addend.release(me, page_cells=WORDS_PAGE, members=self._members) for addend in addends
        ]
        for index, noisy in enumerate(answers):
            for page, cells in enumerate(noisy):
                await_window(me, page, receiver=CURATOR)
                # This line leaks the party's own table with a share of the noise.
                me.send(SecureSums.Unprotected(number + index, page, cells), to=CURATOR)


class CuratorInTheClear:
    """The curator's side without protection."""

    def __init__(self, desk: Curator, *, members: Sequence[int]) -> None:
        self._desk = desk
        self._members = members

    def collect(self, batches: Sequence[Batch], *, number: int) -> Iterator[Counts]:
        for index, batch in enumerate(batches):
            yield from self._collect(batch, number=number + index)

    def _collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk, members = self._desk, self._members
        for page, cells in enumerate(page_sizes(batch.cells, size=WORDS_PAGE)):
            open_window(desk, page, senders=members)
            total = np.zeros(cells, np.int64)
            answers = desk.gather(SecureSums.Unprotected, sources=members)
            for party, answer in zip(members, answers, strict=True):
                if (answer.batch, answer.page, answer.cells.shape) != (number, page, (cells,)):
                    raise MessageError(
                        f"expected page {page} of batch {number} with {cells} cells from "
                        f"{role_name(party)}, found page {answer.page} of batch {answer.batch} "
                        f"with {answer.cells.size}",
                        where=desk.where,
                    )
                total += answer.cells
            yield total
