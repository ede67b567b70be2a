"""The star: every party sends its masked table straight to the curator, in one round.

    P_k -> T    hide(counts_k + share_k + sum of m_kj over j > k - sum of m_jk over j < k)
    T           reveals the sum of all that it received: the masks cancel

m_kj is a keystream (AES-256-CTR) whose key only P_k and P_j can compute. Every batch has another
key, which derives from everything that the two have received from the curator (`agreement`). Each
pair of parties that are neighbours in the mask graph (`graph`) has a mask. `hide` is encryption
under the curator's Paillier key (`hidden_plaintexts`), or nothing (`hidden_words`).

Who learns what. To an adversary without the keys of the parties left out, any smaller sum is
uniformly distributed. So the curator, even together with parties, learns of the others only their
sum. It does not help to multiply, repeat or replace what a party sends: the masks are multiplied as
well and do not cancel.

If a party fails, the others' masks stay in the sum, which is then random: the run fails and
publishes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...curator import Curator
from ...messages import CURATOR, MessageError, role_name
from ...parties import Party
from ...privacy.batch import Batch
from .addend import Addend
from .agreement import digest_of, require_agreement, send_agreement, take_agreements
from .graph import Circle
from .pages import await_window, open_window, page_sizes

__all__ = ["Hiding", "Mask", "MaskedPage", "Revealing", "StarCurator", "StarParty"]

Counts = npt.NDArray[np.int64]


class Mask(NamedTuple):
    """The keystream that a party shares with another one, and the sign with which it adds it."""

    stream: RandomStream
    sign: int


class MaskedPage(Protocol):
    """A message with a page of a party's hidden cells."""

    @property
    def batch(self) -> int: ...
    @property
    def page(self) -> int: ...


PageT = TypeVar("PageT", bound=MaskedPage)


class Hiding(Protocol):
    """How a party hides a page of a batch."""

    @property
    def page_cells(self) -> int:
        """Cells on a page."""

    def hide(self, cells: Counts, masks: Sequence[Mask], *, batch: int, page: int) -> object:
        """Add the masks, and make the message of a page."""


class Revealing(Protocol, Generic[PageT]):
    """How the curator reads the sum of all parties' pages."""

    @property
    def page_cells(self) -> int:
        """Cells on a page."""

    @property
    def kind(self) -> type[PageT]:
        """The message of a page."""

    def reveal(
        self, pages: Sequence[PageT], *, cells: int, own_masks: Sequence[Mask] = ()
    ) -> Counts:
        """Add the parties' pages up, and the own masks of parties, where they have some.

        Raises:
            ValueError: a page has another size than expected, or the masks do not cancel.
        """


class StarParty:
    """A party's side.

    Args:
        me: the party, which is introduced to its neighbours.
        circle: the mask graph.
        hiding: makes the way in which a batch is hidden.
    """

    def __init__(self, me: Party, *, circle: Circle, hiding: Callable[[Batch], Hiding]) -> None:
        self._me = me
        self._circle = circle
        self._hiding = hiding

    def contribute(self, addends: Sequence[Addend], *, number: int) -> None:
        me, circle = self._me, self._circle
        digest = digest_of(
            [addend.batch for addend in addends],
            members=circle.order,
            number=number,
            instructions=me.instructions(CURATOR),
        )
        # All are released before anything leaves: a budget that is exceeded is exceeded now.
        hidings = [self._hiding(addend.batch) for addend in addends]
        answers = [
            addend.release(me, page_cells=hiding.page_cells, members=circle.order)
            for addend, hiding in zip(addends, hidings, strict=True)
        ]
        send_agreement(me, circle, number=number, digest=digest)
        done, cells_in_all = 0, sum(addend.batch.cells for addend in addends)
        for index, (hiding, noisy) in enumerate(zip(hidings, answers, strict=True)):
            masks = self._masks(f"masks {digest.hex()} {index}")
            for page, cells in enumerate(noisy):
                message = hiding.hide(cells, masks, batch=number + index, page=page)
                await_window(me, page, receiver=CURATOR)
                me.send(message, to=CURATOR)
                done += len(cells)
                me.progress(done, of=cells_in_all)
        require_agreement(me, circle, number=number, digest=digest)

    def _masks(self, purpose: str) -> list[Mask]:
        """Derive this party's masks of one batch.

        Every pair and batch has its own key. A keystream used twice would show the difference of
        the two tables that it masked.
        """
        me = self._me
        return [
            Mask(RandomStream(me.channels[peer].next_key(purpose)), 1 if peer > me.rank else -1)
            for peer in self._circle.neighbours(me.rank)
        ]


class StarCurator:
    """The curator's side: it can read the sum of all pages, and nothing else.

    Args:
        desk: the curator.
        members: ranks of the parties whose tables are added up.
        revealing: makes the way in which the sum of a batch is read.
    """

    def __init__(
        self,
        desk: Curator,
        *,
        members: Sequence[int],
        revealing: Callable[[Batch], Revealing[Any]],
    ) -> None:
        self._desk = desk
        self._members = members
        self._revealing = revealing

    def collect(self, batches: Sequence[Batch], *, number: int) -> Iterator[Counts]:
        take_agreements(self._desk, batches, members=self._members, number=number)
        for index, batch in enumerate(batches):
            yield from self._collect(batch, number=number + index)

    def _collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk, revealing, members = self._desk, self._revealing(batch), self._members
        done = 0
        for page, cells in enumerate(page_sizes(batch.cells, size=revealing.page_cells)):
            open_window(desk, page, senders=members)
            answers = desk.gather(revealing.kind, sources=members)
            for party, answer in zip(members, answers, strict=True):
                if (answer.batch, answer.page) != (number, page):
                    raise MessageError(
                        f"expected page {page} of batch {number} from {role_name(party)}, "
                        f"found page {answer.page} of batch {answer.batch}",
                        where=desk.where,
                    )
            try:
                sums = revealing.reveal(answers, cells=cells)
            except ValueError as error:
                raise MessageError(str(error), where=desk.where) from None
            yield sums
            done += cells
            desk.progress(done, of=batch.cells)
