"""A party's side of sums that go on without lost parties (`attempts`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...crypto.key_pieces import PIECE_BYTES, split_key
from ...messages import CURATOR, MessageError, role_name
from ...messages.exchange import NOTICE_SECONDS
from ...parties import Part, Party
from ...privacy import coalition_sizes, with_curator
from ...privacy.batch import Batch
from .addend import Addend
from .attempts import TermsOf, digest_of_attempt, pieces_needed
from .batch import SumBatch
from .graph import Circle
from .options import SecureSums
from .pages import await_window, recut
from .star import Hiding, Mask

__all__ = ["LastingParty"]

Counts = npt.NDArray[np.int64]


class LastingParty:
    """A party's side.

    Args:
        me: the party, which is introduced to its neighbours.
        circle: the mask graph of all parties.
        hiding: makes the way in which an attempt is hidden.
        terms: describes a batch among some members.
        colluding: the collusion threshold.
    """

    def __init__(
        self,
        me: Party,
        *,
        circle: Circle,
        hiding: Callable[[Batch], Hiding],
        terms: TermsOf,
        colluding: int,
    ) -> None:
        self._me = me
        self._colluding = colluding
        self._circle = circle
        self._hiding = hiding
        self._terms = terms
        self.members: list[int] = [*me.parties]
        """The members of the last attempt; at first all parties."""

    def contribute(
        self,
        tables: Iterable[npt.ArrayLike],
        batch: SumBatch,
        *,
        number: int,
        part: Part | None = None,
    ) -> None:
        """Take part in the attempts at a batch, until the sum of one can be read.

        The tables were counted from a part of the records, or from all.
        """
        me, attempt = self._me, 0
        cells: Counts = np.concatenate(
            [np.zeros(0, np.int64), *recut(tables, cells=batch.cells, size=max(batch.cells, 1))]
        )
        self._join(me.receive(SecureSums.Roster, source=CURATOR), number=number, attempt=0)
        while True:
            terms = self._terms(batch, self.members)
            digest = digest_of_attempt(
                terms.batch,
                number=number,
                attempt=attempt,
                members=self.members,
                instructions=me.instructions(CURATOR),
            )
            addend = Addend(tables=[cells], batch=terms.batch, seen=terms.seen, part=part)
            own_key = self._send_table(addend, digest, number=number, attempt=attempt)
            roster = me.receive(SecureSums.Roster, source=CURATOR)
            if roster.arrived:
                break
            # The key of this attempt is forgotten here, so nobody with fewer pieces can read it.
            me.withdraw(readers=self._readers())
            attempt += 1
            self._join(roster, number=number, attempt=attempt)
        if (roster.batch, roster.attempt, roster.members.tolist()) != (
            number,
            attempt,
            self.members,
        ):
            raise MessageError(
                f"expected that the curator has all tables of attempt {attempt} at batch {number}, "
                "found another attempt, or other members",
                where=me.where,
            )
        me.send(SecureSums.OwnKey(number, attempt, own_key), to=CURATOR)
        self._open_pieces(digest, number=number)

    def _send_table(self, addend: Addend, digest: bytes, *, number: int, attempt: int) -> bytes:
        """Send the table of an attempt, and return the own key, without which it is random."""
        me, batch = self._me, addend.batch
        neighbours = self._circle.neighbours_among(me.rank, self.members)
        needed = pieces_needed(len(neighbours), colluding=batch.colluding)
        own_key, pieces = split_key(
            neighbours,
            threshold=min(needed, len(neighbours)),
            randomness=me.randomness("own key"),
        )
        if needed > len(neighbours):
            pieces = {}
        sealed = [_pad(pieces[peer], self._pad(me.rank, peer, digest)) for peer in sorted(pieces)]
        me.send(
            SecureSums.SealedPieces(
                number, attempt, np.frombuffer(b"".join(sealed), np.uint8).copy()
            ),
            to=CURATOR,
        )
        masks = [
            Mask(self._pair_mask(peer, digest), 1 if peer > me.rank else -1) for peer in neighbours
        ]
        masks.append(Mask(RandomStream(own_key), 1))
        hiding = self._hiding(batch)
        noisy = addend.release(me, page_cells=hiding.page_cells, members=self.members)
        me.attempts.append(len(me.accountant.releases) - 1)
        me.send(SecureSums.Agreement(number, digest), to=CURATOR)
        done = 0
        for page, noisy_cells in enumerate(noisy):
            message = hiding.hide(noisy_cells, masks, batch=number, page=page)
            await_window(me, page, receiver=CURATOR)
            me.send(message, to=CURATOR)
            done += len(noisy_cells)
            me.progress(done, of=batch.cells)
        return own_key

    def _readers(self) -> list[str]:
        """List the views that have enough pieces of a member's own key: they can read any attempt.

        These are the curator with more parties than may collude.
        """
        needed = min(
            pieces_needed(
                len(self._circle.neighbours_among(party, self.members)),
                colluding=self._colluding,
            )
            for party in self.members
        )
        sizes = coalition_sizes(len(self._me.parties), threshold=self._me.accountant.threshold)
        return [with_curator(size) for size in sizes if size >= needed]

    def _pair_mask(self, peer: int, digest: bytes) -> RandomStream:
        """Give the keystream in common with a peer.

        A peer may be lost before it was introduced to this party, and after the curator has heard
        from it. Then a random stream takes the place of what they would have in common, and the
        attempt cannot be read: if the peer's table is in it the run ends, and otherwise the curator
        asks again without the peer.
        """
        channel = self._me.channels.get(peer)
        if channel is None:
            return RandomStream(self._me.randomness(f"mask without {peer}").draw(PIECE_BYTES))
        return RandomStream(channel.next_key(f"masks {digest.hex()}"))

    def _pad(self, owner: int, peer: int, digest: bytes) -> bytes:
        """Give the pad of the owner's piece in common with a peer; neither end gets it twice.

        A peer that was lost before it was introduced can open no piece, and its pad is random.
        """
        if peer not in self._me.channels:
            return self._me.randomness(f"pad without {peer}").draw(PIECE_BYTES)
        return self._me.channels[peer].next_key(f"piece of {owner} {digest.hex()}")

    def _join(self, roster: SecureSums.Roster, *, number: int, attempt: int) -> None:
        """Take over the members of an attempt.

        Raises:
            MessageError: parties are left out that live, or too few are left, or the roster is none
                of this attempt.
        """
        me, members = self._me, roster.members.tolist()
        if (
            (roster.batch, roster.attempt, roster.arrived) != (number, attempt, 0)
            or members != sorted(set(members))
            or not set(members) <= set(self.members)
            or me.rank not in members
        ):
            raise MessageError(
                f"expected the members of attempt {attempt} at batch {number}, this party among "
                "them, from the curator, found another roster",
                where=me.where,
            )
        if attempt and members == self.members:
            raise MessageError(
                f"expected an attempt {attempt} at batch {number} without a party that was lost "
                "since the one before, found the same members: the curator asks again without need",
                where=me.where,
            )
        for party in sorted(set(self.members) - set(members)):
            if not me.knows_lost(party, within=NOTICE_SECONDS):
                raise MessageError(
                    f"expected that {role_name(party)} is lost, as the curator leaves it out, "
                    "found no sign of it: nothing is sent without it",
                    where=me.where,
                )
        if len(members) < (me.min_parties or len(me.parties)):
            raise MessageError(
                f"expected at least {me.min_parties} parties, found a roster of fewer",
                where=me.where,
            )
        self.members = members

    def _open_pieces(self, digest: bytes, *, number: int) -> None:
        """Open pieces of the own keys of parties that are lost, until the batch has ended.

        Raises:
            MessageError: the curator asks for the key of a party that lives, or asks twice.
        """
        me, opened = self._me, set[int]()
        while True:
            request = me.receive(SecureSums.MissingKeys, source=CURATOR)
            parties = request.parties.tolist()
            if not parties:
                return
            neighbours = self._circle.neighbours_among(me.rank, self.members)
            if (
                request.batch != number
                or request.pieces.size != PIECE_BYTES * len(parties)
                or len(set(parties)) < len(parties)
                or not set(parties) <= set(neighbours) - opened
            ):
                raise MessageError(
                    f"expected pieces for {role_name(me.rank)} of batch {number}, each once, from "
                    "the curator, found others",
                    where=me.where,
                )
            for party in parties:
                if not me.knows_lost(party, within=NOTICE_SECONDS):
                    raise MessageError(
                        f"expected that {role_name(party)} is lost, as the curator asks for a "
                        "piece of its key, found no sign of it: no piece is opened",
                        where=me.where,
                    )
            opened |= set(parties)
            pieces = b"".join(
                _pad(piece.tobytes(), self._pad(party, party, digest))
                for party, piece in zip(
                    parties, request.pieces.reshape(-1, PIECE_BYTES), strict=True
                )
            )
            me.send(
                SecureSums.OpenedPieces(number, np.frombuffer(pieces, np.uint8).copy()), to=CURATOR
            )


def _pad(piece: bytes, pad: bytes) -> bytes:
    """Seal a piece, or open it: the pad is used once."""
    return bytes(left ^ right for left, right in zip(piece, pad, strict=True))
