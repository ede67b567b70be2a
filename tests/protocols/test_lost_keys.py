"""Own keys of lost parties, of which too few pieces are left."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.key_pieces import PIECE_BYTES, split_key
from sottovoce.messages import PeerLostError
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.protocols.secure_sum.lasting_curator import LastingCurator
from sottovoce.protocols.secure_sum.options import SecureSums

NUMBER, ATTEMPT = 4, 0


class Desk:
    """A curator to whom the parties that live answer, once all tables have arrived."""

    parties = (1, 2, 3, 4, 5)
    where = None

    def __init__(self, lost: list[int]) -> None:
        self.lost = dict.fromkeys(lost, "count")
        self.keys: dict[int, bytes] = {}
        self.requests: dict[int, Any] = {}
        self.wrong: dict[int, Any] = {}
        """What a party opens instead of its pieces."""

    def send(self, request: Any, *, to: int) -> None:
        self.requests[to] = request

    def broadcast(self, request: Any, *, to: list[int]) -> None: ...

    def gather_living(self, kind: type, *, sources: list[int]) -> dict[int, Any]:
        living = [party for party in sources if party not in self.lost]
        if kind is SecureSums.OwnKey:
            return {party: SecureSums.OwnKey(NUMBER, ATTEMPT, self.keys[party]) for party in living}
        return {
            party: SecureSums.OpenedPieces(
                NUMBER, self.wrong.get(party, self.requests[party].pieces)
            )
            for party in living
        }


def keys_with(desk: Any) -> tuple[list[bytes], list[bytes]]:
    """Let five parties, each of which has masks with all others, give their keys.

    Returns:
        The keys that the curator has in the end, and those that the parties have drawn.
    """
    circle = Circle.of(parties=5, colluding=1, seed=b"")
    drawn, sealed = {}, {}
    for party in Desk.parties:
        holders = circle.neighbours_among(party, Desk.parties)
        assert len(holders) == 4
        drawn[party], pieces = split_key(
            holders, threshold=3, randomness=RandomStream(bytes([party]) * 32)
        )
        sealed[party] = np.frombuffer(b"".join(pieces[holder] for holder in holders), np.uint8)
    desk.keys = drawn
    unused: Any = None
    curator = LastingCurator(desk, circle=circle, revealing=unused, terms=unused)
    batch: Any = SimpleNamespace(colluding=1)
    keys = curator._receive_keys(batch, sealed, number=NUMBER, attempt=ATTEMPT)
    return keys, [*drawn.values()]


def test_enough_pieces_make_the_keys_of_lost_parties() -> None:
    keys, drawn = keys_with(Desk([2]))
    assert keys == drawn


def test_no_more_pieces_are_read_than_are_needed() -> None:
    """Three of four pieces make a key, so a wrong fourth one does no harm, and a wrong third does.

    The holders of party 2's key are 1, 3, 4 and 5, and are read in this order.
    """
    for liar, harms in ((5, False), (4, True)):
        desk = Desk([2])
        desk.wrong[liar] = np.zeros(PIECE_BYTES, np.uint8)
        keys, drawn = keys_with(desk)
        assert (keys != drawn) == harms
        assert [key for key in keys if key not in drawn] == ([keys[1]] if harms else [])


def test_too_few_pieces_of_a_lost_partys_key_end_the_run() -> None:
    """More than half of the four holders are needed; two of them are left.

    Nobody is asked, so that nobody goes on without those who may come back.
    """
    desk = Desk([2, 3, 4])
    with pytest.raises(PeerLostError, match="at least 3 pieces of the key of party 2, found 2"):
        keys_with(desk)
    assert desk.requests == {}
