"""The curator's side of sums that go on without lost parties (`attempts`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...crypto.key_pieces import PIECE_BYTES, join_pieces
from ...curator import Curator
from ...curator.desk import LastingBatch, lost_text
from ...messages import CURATOR, MessageError, PeerLostError, role_name
from ...privacy.batch import Batch
from .agreement import DIFFERENCES
from .attempts import TermsOf, digest_of_attempt, pieces_needed
from .batch import SumBatch
from .graph import Circle
from .options import SecureSums
from .pages import open_window, page_sizes
from .star import Mask, Revealing

__all__ = ["Arrived", "LastingCurator"]

Counts = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]


class Arrived(NamedTuple):
    """What has come of an attempt, by party."""

    pieces: Mapping[int, Octets]
    pages: list[dict[int, Any]]

    def has_all(self, members: Sequence[int]) -> bool:
        return all(len(answers) == len(members) for answers in (self.pieces, *self.pages))


class LastingCurator:
    """The curator's side: it can read the sum of one attempt at each batch.

    Args:
        desk: the curator.
        circle: the mask graph of all parties.
        revealing: makes the way in which the sum of an attempt is read.
        terms: describes a batch among some members.
    """

    def __init__(
        self,
        desk: Curator,
        *,
        circle: Circle,
        revealing: Callable[[Batch], Revealing[Any]],
        terms: TermsOf,
    ) -> None:
        self._desk = desk
        self._circle = circle
        self._revealing = revealing
        self._terms = terms
        self.members: list[int] = [*desk.parties]
        """The members of the last attempt; at first all parties."""

    def collect(self, batch: SumBatch, *, number: int) -> list[Counts]:
        """Receive a batch from the parties that are left, in as many attempts as it takes.

        Raises:
            PeerLostError: too few parties are left, or too few pieces of a lost party's key.
        """
        desk, attempt = self._desk, 0
        members_by_attempt: list[tuple[int, ...]] = []
        while True:
            self.members = [party for party in self.members if party not in desk.lost]
            desk.require_enough(
                self.members, consequence="what had not been read of this batch cost nothing"
            )
            terms = self._terms(batch, self.members)
            revealing = self._revealing(terms.batch)
            members_by_attempt.append(tuple(self.members))
            self._send_roster(number, attempt, arrived=0)
            arrived = self._receive(terms.batch, revealing, number=number, attempt=attempt)
            if arrived.has_all(self.members) and self._can_open(terms.batch):
                break
            attempt += 1
        self._send_roster(number, attempt, arrived=1)
        keys = self._receive_keys(terms.batch, arrived.pieces, number=number, attempt=attempt)
        own_masks = [Mask(RandomStream(key), -1) for key in keys]
        desk.batches.append(LastingBatch(desk.current_phase, tuple(members_by_attempt), terms.rows))
        sums = []
        sizes = page_sizes(batch.cells, size=revealing.page_cells)
        for cells, page in zip(sizes, arrived.pages, strict=True):
            try:
                sums.append(revealing.reveal([*page.values()], cells=cells, own_masks=own_masks))
            except ValueError as error:
                raise MessageError(str(error), where=desk.where) from None
        return sums

    @property
    def _living(self) -> list[int]:
        return [party for party in self.members if party not in self._desk.lost]

    def _send_roster(self, number: int, attempt: int, *, arrived: int) -> None:
        roster = SecureSums.Roster(number, attempt, arrived, np.array(self.members, np.int64))
        self._desk.broadcast(roster, to=self.members)

    def _receive(
        self, batch: Batch, revealing: Revealing[Any], *, number: int, attempt: int
    ) -> Arrived:
        """Receive all that the members of an attempt have sent, also if it will not be read."""
        desk, members = self._desk, self.members
        pieces = desk.gather_living(SecureSums.SealedPieces, sources=members)
        for party, sealed in pieces.items():
            holders = self._circle.neighbours_among(party, members)
            needed = pieces_needed(len(holders), colluding=batch.colluding)
            expected = PIECE_BYTES * len(holders) if needed <= len(holders) else 0
            if (sealed.batch, sealed.attempt, sealed.pieces.size) != (number, attempt, expected):
                raise self._unexpected(party, f"pieces of attempt {attempt} at batch {number}")
        for party, agreement in desk.gather_living(SecureSums.Agreement, sources=members).items():
            digest = digest_of_attempt(
                batch,
                number=number,
                attempt=attempt,
                members=members,
                instructions=desk.instructions(party),
            )
            if (agreement.batch, agreement.digest) != (number, digest):
                raise MessageError(
                    f"expected that {role_name(party)} has received what {role_name(CURATOR)} sent "
                    f"to it before batch {number}, found that {DIFFERENCES}",
                    where=desk.where,
                )
        pages: list[dict[int, Any]] = []
        done = 0
        for page, cells in enumerate(page_sizes(batch.cells, size=revealing.page_cells)):
            open_window(desk, page, senders=members)
            answers = desk.gather_living(revealing.kind, sources=members)
            for party, answer in answers.items():
                if (answer.batch, answer.page) != (number, page):
                    raise self._unexpected(party, f"page {page} of batch {number}")
            pages.append(answers)
            done += cells
            desk.progress(done, of=batch.cells)
        return Arrived({party: sealed.pieces for party, sealed in pieces.items()}, pages)

    def _unexpected(self, party: int, expected: str) -> MessageError:
        return MessageError(
            f"expected {expected} from {role_name(party)}, found something else",
            where=self._desk.where,
        )

    def _holders(self, party: int, batch: Batch) -> tuple[list[int], int]:
        """List who has pieces of a party's key, and count how many make the key."""
        holders = self._circle.neighbours_among(party, self.members)
        return holders, pieces_needed(len(holders), colluding=batch.colluding)

    def _can_open(self, batch: Batch) -> bool:
        """Tell whether the keys of members that are lost can be made of pieces."""
        living = set(self._living)
        for party in set(self.members) - living:
            holders, needed = self._holders(party, batch)
            if len(living.intersection(holders)) < needed:
                return False
        return True

    def _receive_keys(
        self, batch: Batch, sealed: Mapping[int, Octets], *, number: int, attempt: int
    ) -> list[bytes]:
        """Receive the own keys, and make those of lost members of their pieces."""
        desk = self._desk
        keys: dict[int, bytes] = {}
        for party, message in desk.gather_living(SecureSums.OwnKey, sources=self.members).items():
            if (message.batch, message.attempt, len(message.key)) != (number, attempt, PIECE_BYTES):
                raise self._unexpected(party, f"its own key of attempt {attempt}")
            keys[party] = message.key
        missing = [party for party in self.members if party not in keys]
        for party in missing:
            # Nobody is asked in vain: then a run that keeps logs goes on with those who come back.
            living = [holder for holder in self._holders(party, batch)[0] if holder in self._living]
            self._require_pieces(party, batch, pieces=len(living))
        if missing:
            opened = self._ask_for_pieces(missing, batch, sealed, number=number)
            for party in missing:
                needed = self._require_pieces(party, batch, pieces=len(opened[party]))
                chosen = sorted(opened[party])[:needed]
                keys[party] = join_pieces({holder: opened[party][holder] for holder in chosen})
        nothing = SecureSums.MissingKeys(number, np.zeros(0, np.int64), np.zeros(0, np.uint8))
        desk.broadcast(nothing, to=self._living)
        return [keys[party] for party in self.members]

    def _require_pieces(self, party: int, batch: Batch, *, pieces: int) -> int:
        """Count the pieces of which a lost party's key is made, and refuse fewer."""
        _, needed = self._holders(party, batch)
        if pieces < needed:
            raise PeerLostError(
                f"expected at least {needed} pieces of the key of {role_name(party)}, found "
                f"{pieces}: {lost_text(self._desk.lost)} lost while the others gave their keys; "
                "asking again would cost the batch's epsilon twice",
                where=self._desk.where,
            )
        return needed

    def _ask_for_pieces(
        self, missing: Sequence[int], batch: Batch, sealed: Mapping[int, Octets], *, number: int
    ) -> dict[int, dict[int, bytes]]:
        """Ask all living holders to open their pieces of missing keys; by owner and holder."""
        owners_by_holder: dict[int, list[int]] = {}
        for owner in missing:
            for holder in self._holders(owner, batch)[0] if sealed[owner].size else []:
                if holder not in self._desk.lost:
                    owners_by_holder.setdefault(holder, []).append(owner)
        for holder, owners in owners_by_holder.items():
            pieces = [
                sealed[owner].reshape(-1, PIECE_BYTES)[self._holders(owner, batch)[0].index(holder)]
                for owner in owners
            ]
            request = SecureSums.MissingKeys(
                number, np.array(owners, np.int64), np.concatenate(pieces)
            )
            self._desk.send(request, to=holder)
        answers = self._desk.gather_living(SecureSums.OpenedPieces, sources=[*owners_by_holder])
        opened: dict[int, dict[int, bytes]] = {owner: {} for owner in missing}
        for holder, answer in answers.items():
            owners = owners_by_holder[holder]
            if (answer.batch, answer.pieces.size) != (number, PIECE_BYTES * len(owners)):
                raise self._unexpected(holder, f"{len(owners)} pieces of keys")
            rows = answer.pieces.reshape(-1, PIECE_BYTES)
            for owner, piece in zip(owners, rows, strict=True):
                opened[owner][holder] = piece.tobytes()
        return opened
