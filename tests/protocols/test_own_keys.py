"""Sums that go on without lost parties: who can make a key, the noise, and what parties refuse.

The referees are all coalitions of small mask graphs, and the law of the noise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.crypto.key_pieces import PIECE_BYTES, join_pieces, split_key
from sottovoce.crypto.sealed import Channel
from sottovoce.messages import PeerLostError, SottovoceError
from sottovoce.parties import TableNote
from sottovoce.privacy import coalition, with_curator
from sottovoce.privacy.laplace_shares import excess
from sottovoce.protocols.secure_sum import SecureSums, collusion, graph, lasting_party
from sottovoce.protocols.secure_sum.addend import Addend
from sottovoce.protocols.secure_sum.attempts import digest_of_attempt
from sottovoce.protocols.secure_sum.batch import SumBatch
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.protocols.secure_sum.lasting_curator import Arrived, LastingCurator
from sottovoce.protocols.secure_sum.lasting_party import LastingParty
from sottovoce.protocols.secure_sum.members import cut_among
from sottovoce.runs.job import Job
from sottovoce.runs.settings import settings
from sottovoce.runs.setup import load_all_records
from sottovoce.runs.threads import run_on_threads

CHANCE = 1e-7


def job(fault: Sequence[str] = (), *, parties: int = 5, rows: int = 300, **parameters: Any) -> Job:
    return settings(
        {
            "protocol": "noisy-marginals",
            "parties": parties,
            "rows": rows,
            "seed": 1,
            "fault": [*fault],
            "on_loss": "continue",
            "min_parties": 2,
            "set": {"aggregator": "masks", "noise": "laplace", "marginals": "sex", **parameters},
        }
    ).job


# ---- pieces of keys


class Split(NamedTuple):
    """A party's own key of an attempt: its pieces by holder, and what was sent of them."""

    owner: int
    attempt: int
    key: bytes
    pieces: dict[int, bytes]


def splits_of(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Split], dict[tuple[int, int], bytes]]:
    """Note every key that is split, and the pieces that the curator gets, by attempt and owner."""
    here, splits, sent = threading.local(), list[Split](), dict[tuple[int, int], bytes]()
    send, receive = LastingParty._send_table, LastingCurator._receive

    def noting_split(holders: Sequence[int], **more: Any) -> tuple[bytes, dict[int, bytes]]:
        key, pieces = split_key(holders, **more)
        splits.append(Split(here.owner, here.attempt, key, pieces))
        return key, pieces

    def noting_send(self: Any, *args: Any, number: int, attempt: int) -> bytes:
        here.owner, here.attempt = self._me.rank, attempt
        return send(self, *args, number=number, attempt=attempt)

    def noting_receive(self: Any, *args: Any, number: int, attempt: int) -> Arrived:
        arrived = receive(self, *args, number=number, attempt=attempt)
        sent.update({(attempt, party): row.tobytes() for party, row in arrived.pieces.items()})
        return arrived

    monkeypatch.setattr(lasting_party, "split_key", noting_split)
    monkeypatch.setattr(LastingParty, "_send_table", noting_send)
    monkeypatch.setattr(LastingCurator, "_receive", noting_receive)
    return splits, sent


def test_fewer_pieces_than_needed_are_not_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than half of the holders are needed: of four holders three, and then of three two."""
    splits, _ = splits_of(monkeypatch)
    run_on_threads(job(["party 2 dies in count"]))
    assert {split.attempt for split in splits} == {0, 1}
    for split in splits:
        needed = 3 if split.attempt == 0 else 2
        for size in range(1, 5 - split.attempt):
            for holders in combinations(split.pieces, size):
                key = join_pieces({holder: split.pieces[holder] for holder in holders})
                assert (key == split.key) == (size >= needed), (split.owner, holders)


def test_the_curator_gets_every_piece_sealed_with_a_pad_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    splits, sent = splits_of(monkeypatch)
    run_on_threads(job(["party 2 dies in count"]))
    pads = []
    for split in splits:
        if (sealed := sent.get((split.attempt, split.owner))) is None:
            continue  # the party was lost before it sent its pieces
        for place, (_, piece) in enumerate(sorted(split.pieces.items())):
            row = sealed[place * PIECE_BYTES : (place + 1) * PIECE_BYTES]
            pads.append(bytes(left ^ right for left, right in zip(row, piece, strict=True)))
    assert len(pads) == 4 * 4 + 4 * 3
    assert bytes(PIECE_BYTES) not in pads
    assert len(set(pads)) == len(pads)


def test_as_many_parties_as_may_collude_never_hold_all_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two members are left of three: a piece for the only neighbour would be the key."""
    _, sent = splits_of(monkeypatch)
    run_on_threads(job(["party 2 dies in count"], parties=3))
    sizes = {place: len(sealed) // PIECE_BYTES for place, sealed in sent.items()}
    assert sizes == {(0, 1): 2, (0, 3): 2, (1, 1): 0, (1, 3): 0}


def test_a_piece_opens_under_the_roster_alone_under_which_it_was_sealed() -> None:
    """Whoever was told of other members derives another pad, and opens nothing."""

    def pads(digests: tuple[bytes, bytes]) -> list[bytes]:
        derived = []
        for rank, digest in enumerate(digests, start=1):
            channel = Channel(b"secret" * 6, b"transcript", first=rank == 1)
            me: Any = SimpleNamespace(rank=rank, parties=range(1, 4), channels={3 - rank: channel})
            options: Any = {"circle": None, "hiding": None, "terms": None, "colluding": 1}
            derived.append(LastingParty(me, **options)._pad(1, 3 - rank, digest))
        return derived

    assert len(set(pads((b"roster", b"roster")))) == 1
    assert len(set(pads((b"roster", b"another")))) == 2


def test_what_stands_for_a_party_that_was_never_introduced_is_random() -> None:
    """Nobody can guess it, and it is never the same twice."""
    me: Any = SimpleNamespace(
        rank=1, parties=range(1, 4), channels={}, randomness=lambda _: RandomStream(None)
    )
    options: Any = {"circle": None, "hiding": None, "terms": None, "colluding": 1}
    party = LastingParty(me, **options)
    pads = [party._pad(1, 2, b"digest") for _ in range(3)]
    masks = [party._pair_mask(2, b"digest").draw(PIECE_BYTES) for _ in range(3)]
    assert len({*pads, *masks}) == 6


def test_an_attempts_digest_depends_on_all_that_members_must_agree_on() -> None:
    plain: dict[str, Any] = {
        "number": 1,
        "attempt": 1,
        "members": [1, 2, 3],
        "instructions": b"what the curator sent",
    }
    others = {"number": 2, "attempt": 2, "members": [1, 2], "instructions": b"something else"}
    batch = SumBatch(cells=3, sensitivity=2, epsilon=1.0).among(parties=3, rows=9, colluding=1)
    digests = {digest_of_attempt(batch, **plain)}
    digests |= {
        digest_of_attempt(batch, **{**plain, name: other}) for name, other in others.items()
    }
    fewer = SumBatch(cells=3, sensitivity=2, epsilon=1.0).among(parties=2, rows=9, colluding=1)
    digests.add(digest_of_attempt(fewer, **plain))
    assert len(digests) == 6


# ---- noise and accounts after a loss


def test_the_noise_after_a_loss_is_that_of_the_parties_that_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A chi-squared test: without one share the noise of the others is two-sided geometric.

    Shares for the five parties of the beginning would leave too little noise in a sum of four.
    """
    kept: dict[int, np.ndarray] = {}
    members: dict[int, list[int]] = {}
    bounds: dict[int, int] = {}  # on any cell of the sum
    release = Addend.release

    def tapped(self: Addend, me: Any, **more: Any) -> Any:
        pages = list(release(self, me, **more))
        members[me.rank] = [*more["members"]]
        bounds[me.rank] = self.batch.rows
        kept[me.rank] = np.concatenate(pages) - np.concatenate([*self.tables])
        return iter(pages)

    monkeypatch.setattr(Addend, "release", tapped)
    names = ["age", "education", "occupation", "race", "sex"]
    lossy = job(["party 2 dies in count"], epsilon=1.0, marginals="*".join(names))
    record = run_on_threads(lossy)
    assert record.attempts == [2]
    assert [*members.values()] == [[1, 3, 4, 5]] * 4  # what an audit is told
    notes = {party: TableNote() for party in range(1, 6)}
    records = load_all_records(lossy, schema=record.schema, notes=notes)
    assert {*bounds.values()} == {sum(len(records[party]) for party in (1, 3, 4, 5))}
    exact = sum(np.ravel(records[party].marginal(names)).astype(int) for party in (1, 3, 4, 5))
    published = record.outcome.marginals
    assert published is not None
    residual = published.frame()["count"].to_numpy() - exact - kept[3]
    assert residual.size > 20_000
    alpha = np.exp(-1.0 / 2)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-13, 14))
    counts = np.bincount(np.clip(residual, -14, 14) + 14, minlength=29)
    chances = np.concatenate([[(1 - law.sum()) / 2], law, [(1 - law.sum()) / 2]])
    assert stats.chisquare(counts, chances * residual.size).pvalue > CHANCE


def is_parted(circle: Circle, left: set[int]) -> bool:
    """Tell whether some of these parties share no masks with the others, by a search."""
    reached, fresh = set[int](), {min(left)}
    while fresh:
        reached |= fresh
        fresh = {peer for party in fresh for peer in circle.neighbours_among(party, left)} - reached
    return reached != left


def test_views_after_a_loss_agree_with_a_search_of_all_coalitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of nine parties with four neighbours each two are lost, and another in the next attempt.

    A coalition with the curator that parts the members that are left reads one table with its share
    alone. One that holds enough pieces of a member's own key can read an attempt that failed.
    """
    monkeypatch.setattr(graph, "degree", lambda *, parties, **_: min(4, parties - 1))
    monkeypatch.setattr(collusion, "degree", lambda *, parties, **_: min(4, parties - 1))
    circles: list[Circle] = []
    plain = LastingParty.__init__

    def noting(self: Any, me: Any, *, circle: Circle, **more: Any) -> None:
        circles.append(circle)
        plain(self, me, circle=circle, **more)

    monkeypatch.setattr(LastingParty, "__init__", noting)
    options: dict[str, Any] = {"parties": 9, "rows": 900, "epsilon": 0.5}
    run_on_threads(job(**options))
    first, _, second, *_, third = circles[0].order
    faults = [f"party {party} dies in count" for party in (first, second)]
    sent = [
        act.kind for act in run_on_threads(job(faults, **options)).roles[third].acts if act.sent
    ]
    faults.append(f"party {third} dies after {len(sent) - sent[::-1].index('Agreement')} messages")
    record = run_on_threads(job(faults, **options))
    assert record.attempts == [3]
    everybody = set(range(1, 10))
    asked = [everybody, everybody - {first, second}, everybody - {first, second, third}]
    members, circle = asked[-1], circles[-1]
    *failed, read = (release for release in record.releases if release.party == min(members))
    for size in range(1, 9):
        coalitions = [set(chosen) for chosen in combinations(everybody, size)]
        for release, parties in zip(failed, asked[:-1], strict=True):
            can_open = any(
                len(chosen & set(holders)) >= max(2, len(holders) // 2 + 1)
                for party in parties
                for holders in [circle.neighbours_among(party, parties)]
                for chosen in coalitions
                if party not in chosen
            )
            assert (release.seen[with_curator(size)].epsilon > 0) == can_open, (size, parties)
        parts = any(
            not (left := members - chosen) or is_parted(circle, left) or len(left) == 1
            for chosen in coalitions
        )
        for view, shares in (
            (with_curator(size), 1 if parts else len(members) - size),
            (coalition(size), max(1, len(members) - size)),
        ):
            expected = 0.5 * excess(rate=0.25, shape=min(1, shares / (len(members) - 1)))
            assert read.seen[view].epsilon == pytest.approx(expected), view


def test_members_that_could_be_parted_send_nothing() -> None:
    """Of a circle with two neighbours each, two members part the others."""
    circle = Circle((1, 2, 3, 4, 5, 6, 7), 2)
    assert cut_among(circle, range(1, 8), colluding=1) == 2
    with pytest.raises(PeerLostError, match="that 2 are among the 7 that are left: no table"):
        cut_among(circle, range(1, 8), colluding=2)
    with pytest.raises(PeerLostError, match="that 1 are among the 6 that are left: no table"):
        cut_among(circle, range(1, 7), colluding=1)
    # All of three share masks with one another, so no two of them part the third from anybody.
    assert cut_among(Circle((1, 2, 3), 2), (1, 2, 3), colluding=2) == 2


# ---- lies


Roster = tuple[int, int, int, list[int]]
ROSTERS: dict[str, tuple[int, int, Callable[[int, list[int]], Roster]]] = {
    "of another batch": (0, 0, lambda number, members: (number + 1, 0, 0, members)),
    "of another attempt": (0, 0, lambda number, members: (number, 1, 0, members)),
    "that has arrived before": (0, 0, lambda number, members: (number, 0, 1, members)),
    "with a party twice": (0, 0, lambda number, members: (number, 0, 0, [1, *members])),
    "without its receiver": (0, 0, lambda number, members: (number, 0, 0, members[1:])),
    "with a party that is lost": (2, 0, lambda number, _: (number, 2, 0, [1, 2, 3, 5])),
    "of another batch, arrived": (1, 1, lambda number, members: (number + 1, 1, 1, members)),
    "of an earlier attempt, arrived": (1, 1, lambda number, members: (number, 0, 1, members)),
    "of other members, arrived": (1, 1, lambda number, members: (number, 1, 1, members[:-1])),
}
"""Rosters that are false: the attempt and the state in which they are sent to party 1."""


@pytest.mark.parametrize("name", ROSTERS)
def test_a_false_roster_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Party 2 is lost before the first table; for one lie party 4 is lost in the second attempt."""
    when, has_arrived, lie = ROSTERS[name]
    faults = ["party 2 dies in count"]
    if when == 2:
        sent = [act.kind for act in run_on_threads(job(faults)).roles[4].acts if act.sent]
        faults.append(f"party 4 dies after {len(sent) - sent[::-1].index('Agreement')} messages")
    send = LastingCurator._send_roster

    def lying_send(self: Any, number: int, attempt: int, *, arrived: int) -> None:
        if (attempt, arrived) != (when, has_arrived):
            send(self, number, attempt, arrived=arrived)
            return
        batch, counted, state, members = lie(number, self.members)
        self._desk.send(SecureSums.Roster(batch, counted, state, np.array(members)), to=1)
        rest = SecureSums.Roster(number, attempt, arrived, np.array(self.members, np.int64))
        self._desk.broadcast(rest, to=[party for party in self.members if party != 1])

    monkeypatch.setattr(LastingCurator, "_send_roster", lying_send)
    expected = "has all tables of attempt 1" if has_arrived else f"the members of attempt {when}"
    with pytest.raises(SottovoceError, match=expected):
        run_on_threads(job(faults))


REQUESTS: dict[str, list[tuple[int, list[int], float]]] = {
    "twice": [(0, [2], 1), (0, [2], 1)],
    "twice in one request": [(0, [2, 2], 2)],
    "of another batch": [(1, [2], 1)],
    "of itself": [(0, [1], 1)],
    "of no party": [(0, [9], 1)],
    "of another length": [(0, [2], 2)],
    "of half the length": [(0, [2, 3], 0.5)],
}
"""Requests for pieces that are refused: the batch, the owners, and the number of pieces."""


@pytest.mark.parametrize("name", REQUESTS)
def test_a_false_request_for_pieces_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Party 2 is lost after its table has left, so that an honest curator needs its key."""
    undisturbed = run_on_threads(job())
    sent = [act.kind for act in undisturbed.roles[2].acts if act.sent]
    plain = LastingCurator._receive_keys

    def ask(self: Any, batch: Any, sealed: Any, *, number: int, attempt: int) -> Any:
        self._desk.gather_living(SecureSums.OwnKey, sources=self.members)
        for later, owners, pieces in REQUESTS[name]:
            octets = np.zeros(int(PIECE_BYTES * pieces), np.uint8)
            request = SecureSums.MissingKeys(number + later, np.array(owners, np.int64), octets)
            self._desk.send(request, to=1)
        return plain(self, batch, sealed, number=number, attempt=attempt)

    monkeypatch.setattr(LastingCurator, "_receive_keys", ask)
    with pytest.raises(SottovoceError, match="expected pieces for party 1 of batch 0, each once"):
        run_on_threads(job([f"party 2 dies after {sent.index('Masked') + 1} messages"]))


def test_a_party_that_has_received_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network changes what party 3 hears of the curator: its digest is another one."""
    plain = digest_of_attempt

    def other(batch: Any, *, instructions: bytes, **more: Any) -> bytes:
        is_third = threading.current_thread() in thirds
        return plain(batch, instructions=b"else" if is_third else instructions, **more)

    thirds: list[threading.Thread] = []
    join = LastingParty._join

    def joining(self: Any, *args: Any, **more: Any) -> None:
        thirds.extend([threading.current_thread()] if self._me.rank == 3 else [])
        join(self, *args, **more)

    monkeypatch.setattr(LastingParty, "_join", joining)
    monkeypatch.setattr(lasting_party, "digest_of_attempt", other)
    with pytest.raises(SottovoceError, match="expected that party 3 has received what the curator"):
        run_on_threads(job())
