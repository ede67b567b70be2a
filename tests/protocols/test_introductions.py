"""Introductions: who is introduced to whom, what is bound, and what a disagreement ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import sottovoce
from sottovoce.crypto import IdentifiedRole, kem
from sottovoce.curator import Curator
from sottovoce.messages import (
    CURATOR,
    MessageError,
    MisuseError,
    decode,
    message,
    to_bytes,
)
from sottovoce.messages.frame import pack_header, unpack_header
from sottovoce.parties import Party
from sottovoce.protocols import Cost
from sottovoce.protocols.introductions import (
    HANDSHAKE,
    Introductions,
    introduce,
    predict_handshakes,
    predict_introductions,
)

Converse = Callable[..., Any]


@message
class Word:
    text: str


KINDS = (Word, *HANDSHAKE)


def everybody(role: IdentifiedRole) -> None:
    with role.phase("keys"):
        introduce(role, others=role.others)


def test_all_edges_are_sealed_in_both_directions(converse: Converse) -> None:
    def play(role: IdentifiedRole) -> list[Word]:
        everybody(role)
        with role.phase("talk"):
            role.broadcast(Word(f"hush {role.rank}"))
            return role.gather(Word)

    talk = converse(play, play, kinds=KINDS)
    assert all(role.sealed == {0, 1, 2, 3} - {rank} for rank, role in talk.roles.items())
    assert talk.results[0] == [Word("hush 1"), Word("hush 2"), Word("hush 3")]
    words = [heard for heard in talk.heard if heard.kind == "Word"]
    assert len(words) == 12
    assert all(b"hush" not in heard.payload for heard in words)


@pytest.mark.parametrize("parties", [1, 2, 5])
def test_the_predicted_cost_is_exact(converse: Converse, parties: int) -> None:
    talk = converse(everybody, everybody, parties=parties, kinds=KINDS)
    line = predict_introductions(edges=parties * (parties + 1) // 2, phase="keys")
    assert line.messages == len(talk.heard) == parties * (parties + 1)
    assert line.payload_bytes == sum(len(heard.payload) for heard in talk.heard)


def test_a_sparse_graph_and_a_second_call(converse: Converse) -> None:
    """Parties 1 - 2 - 3 - 4 on a line and the curator; afterwards 1 and 4 are introduced, too."""
    line = {1: [2], 2: [1, 3], 3: [2, 4], 4: [3]}

    def party(me: Party) -> list[int]:
        with me.phase("keys"):
            first = dict(introduce(me, others=[CURATOR, *line[me.rank]]))
            again = introduce(me, others=[*line[me.rank], CURATOR])
            assert all(again[rank] is channel for rank, channel in first.items())
            if me.rank in (1, 4):
                introduce(me, others=[CURATOR, 5 - me.rank])
        return sorted(me.channels)

    def curator(desk: Curator) -> None:
        everybody(desk)

    talk = converse(party, curator, parties=4, kinds=KINDS)
    assert [talk.results[rank] for rank in (1, 2, 3, 4)] == [
        [0, 2, 4],
        [0, 1, 3],
        [0, 2, 4],
        [0, 1, 3],
    ]
    assert len(talk.heard) == 2 * (4 + 3 + 1)
    assert all(talk.roles[rank].sealed == set(talk.results[rank]) for rank in (1, 2, 3, 4))


def test_nobody_is_introduced_to_itself(converse: Converse) -> None:
    def party(me: Party) -> None:
        with me.phase("keys"):
            introduce(me, others=[me.rank])

    with pytest.raises(MisuseError, match="expected ranks of other roles, found party 1 itself"):
        converse(party, lambda desk: None, parties=1, kinds=KINDS)


@pytest.mark.parametrize("rank", [CURATOR, 2])
def test_roles_with_different_jobs_are_named(converse: Converse, rank: int) -> None:
    with pytest.raises(MessageError, match="was given another one") as caught:
        converse(everybody, everybody, kinds=KINDS, digests={rank: b"\1" * 32})
    text = str(caught.value).partition(": ")[2]
    assert ("the curator" if rank == CURATOR else f"party {rank}") in text
    assert "0101010101010101" in text
    assert "0000000000000000" in text


def test_the_job_is_part_of_the_keys(converse: Converse) -> None:
    """If a network makes the digests in the clear alike, roles with different jobs share no key."""
    from sottovoce.crypto import Keypair, RandomStream
    from sottovoce.crypto.sealed import agree

    keys = {
        rank: [Keypair.new(RandomStream(bytes([rank, n]) * 16)) for n in (1, 2)] for rank in (1, 2)
    }

    def end(rank: int, digest: bytes) -> Any:
        peer = 3 - rank
        return agree(
            rank=rank,
            identity=keys[rank][0],
            ephemeral=keys[rank][1],
            peer=peer,
            peer_identity=keys[peer][0].public,
            peer_ephemeral=keys[peer][1].public,
            context="p",
            job_digest=digest,
        )

    assert end(1, b"a").next_key("x") == end(2, b"a").next_key("x")
    assert end(1, b"a").next_key("x") != end(2, b"b").next_key("x")


def test_nothing_crosses_without_a_seal_where_seals_are_required(converse: Converse) -> None:
    def party(me: Party) -> None:
        me.require_seals(but=HANDSHAKE)
        with me.phase("keys"):
            introduce(me, others=[CURATOR])
            me.send(Word("sealed"), to=CURATOR)
            me.send(Word("open"), to=3 - me.rank)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            introduce(desk, others=desk.parties)
            desk.gather(Word)

    with pytest.raises(
        MisuseError,
        match=r"expected a seal between this role and party \d before Word, as identities were "
        r"given, found none",
    ):
        converse(party, curator, parties=2, kinds=KINDS)


def test_seals_are_predicted_where_roles_are_introduced() -> None:
    words = Cost(phase="talk", kind="Word", messages=3, payload_bytes=30)
    keys = predict_introductions(edges=2, phase="keys")
    assert predict_handshakes([words], hybrid=False) == [words]
    # Messages before and after introductions are sealed, each with a tag of 16 bytes.
    between = [replace(words, phase=phase) for phase in ("before", "after")]
    both = predict_handshakes([between[0], keys, between[1]], hybrid=True)
    assert [line.phase for line in both] == ["before", "keys", "keys", "after"]
    assert [line.payload_bytes for line in both[::3]] == [
        words.payload_bytes + 16 * words.messages
    ] * 2
    assert predict_handshakes([keys, words], hybrid=False) == [
        keys,
        Cost(phase="talk", kind="Word", messages=3, payload_bytes=30 + 3 * 16),
    ]


needs_kem = pytest.mark.skipif(not kem.is_available(), reason="cryptography lacks ML-KEM")


@needs_kem
@pytest.mark.parametrize("parties", [1, 4])
def test_with_ml_kem_the_predicted_cost_is_exact(converse: Converse, parties: int) -> None:
    def play(role: IdentifiedRole) -> None:
        everybody(role)
        with role.phase("keys"):
            role.broadcast(Word("hush"))
            assert role.gather(Word) == [Word("hush")] * parties

    talk = converse(play, play, parties=parties, kinds=KINDS, hybrid=True)
    edges = parties * (parties + 1) // 2
    words = Cost(phase="keys", kind="Word", messages=2 * edges, payload_bytes=2 * edges * (8 + 4))
    lines = predict_handshakes(
        [predict_introductions(edges=edges, phase="keys"), words], hybrid=True
    )
    assert {line.kind for line in lines} == {"Introduction", "Encapsulation", "Word"}
    for line in lines:
        sizes = [len(heard.payload) for heard in talk.heard if heard.kind == line.kind]
        assert (line.messages, line.payload_bytes) == (len(sizes), sum(sizes)), line.kind


@needs_kem
@pytest.mark.parametrize("hybrid", [False, True])
def test_what_is_sent_meanwhile_is_sealed_and_follows_all_introductions(
    converse: Converse, hybrid: bool
) -> None:
    def party(me: Party) -> None:
        def send() -> None:
            me.send(Word("hush"), to=CURATOR)

        with me.phase("keys"):
            introduce(me, others=me.others, meanwhile=send)
            introduce(me, others=me.others, meanwhile=send)  # all have channels already

    def curator(desk: Curator) -> None:
        everybody(desk)
        with desk.phase("keys"):
            assert desk.gather(Word) == [Word("hush")] * 3
            assert desk.gather(Word) == [Word("hush")] * 3

    talk = converse(party, curator, kinds=KINDS, hybrid=hybrid)
    assert sum(heard.kind == "Word" for heard in talk.heard) == 6
    assert all(b"hush" not in heard.payload for heard in talk.heard)

    senders = []

    def eager(role: IdentifiedRole) -> None:
        with role.phase("keys"):
            introduce(role, others=role.others, meanwhile=lambda: senders.append(role.rank))

    with pytest.raises(MessageError, match="was given another one"):
        converse(eager, eager, kinds=KINDS, hybrid=hybrid, digests={2: b"\1" * 32})
    assert not senders


@needs_kem
@pytest.mark.parametrize("field", ["secret", "public", "ciphertext"])
def test_both_ends_need_the_same_share_of_ml_kem(field: str) -> None:
    from dataclasses import replace

    from sottovoce.crypto import Keypair, RandomStream
    from sottovoce.crypto.sealed import KemShare, agree

    keys = {rank: Keypair.new(RandomStream(bytes([rank]) * 32)) for rank in (1, 2)}

    def end(rank: int, share: KemShare) -> bytes:
        return agree(
            rank=rank,
            identity=keys[rank],
            ephemeral=keys[rank],
            peer=3 - rank,
            peer_identity=keys[3 - rank].public,
            peer_ephemeral=keys[3 - rank].public,
            context="p",
            kem=share,
        ).next_key("x")

    share = KemShare(b"p" * 1184, b"c" * 1088, b"s" * 32)
    assert end(1, share) == end(2, share)
    assert end(1, share) != end(2, replace(share, **{field: b"x"}))
    assert b"s" * 32 not in repr(share).encode()


@needs_kem
@pytest.mark.parametrize("kind", ["Introduction", "Encapsulation"])
def test_a_key_or_ciphertext_of_ml_kem_that_is_changed_opens_nothing(
    converse: Converse, kind: str
) -> None:
    def meddle(sender: int, to: int, frame: bytes) -> Iterator[bytes]:
        taken = unpack_header(memoryview(frame), limit=1 << 20).header
        if (taken.kind, sender, to) == (kind, *((1, 2) if kind == "Introduction" else (2, 1))):
            # The last bytes of the field are the seed of the key's matrix, or of the ciphertext.
            frame = frame[:-1] + bytes([frame[-1] ^ 1])
        yield frame

    def play(role: IdentifiedRole) -> None:
        everybody(role)
        with role.phase("talk"):
            role.broadcast(Word("hush"))
            role.gather(Word)

    with pytest.raises(MessageError, match=r"malformed Word from party [12]: it was not sealed"):
        converse(play, play, parties=2, kinds=KINDS, hybrid=True, network=meddle)


@needs_kem
@pytest.mark.parametrize(("kind", "length"), [("Introduction", 1184), ("Encapsulation", 1088)])
def test_a_field_of_ml_kem_of_another_length_is_refused(
    converse: Converse, kind: str, length: int
) -> None:
    def meddle(sender: int, to: int, frame: bytes) -> Iterator[bytes]:
        taken = unpack_header(memoryview(frame), limit=1 << 20)
        if taken.header.kind == kind and sender == (0 if kind == "Introduction" else 1):
            if kind == "Introduction":
                whole = decode(Introductions.Introduction, taken.payload)
                changed: object = Introductions.Introduction(
                    whole.identity, whole.ephemeral, whole.job, whole.kem[:-1]
                )
            else:
                changed = Introductions.Encapsulation(
                    decode(Introductions.Encapsulation, taken.payload).ciphertext[:-1]
                )
            payload = to_bytes(changed)
            frame = pack_header(taken.header._replace(payload=len(payload))) + payload
        yield frame

    with pytest.raises(
        MessageError, match=rf"no channel to .*expected a .* of {length} bytes, found {length - 1}"
    ):
        converse(everybody, everybody, parties=1, kinds=KINDS, hybrid=True, network=meddle)


def test_a_library_without_ml_kem_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.mlkem", None)
    kem.is_available.cache_clear()
    try:
        assert not kem.is_available()
        run = sottovoce.run("noisy-marginals", marginals="sex", rows=60, judge=False)
        assert run.report["privacy"]["key_agreement"] == "X25519"
    finally:
        kem.is_available.cache_clear()


@needs_kem
@pytest.mark.parametrize(
    ("seed", "agreement", "answers"), [(None, "X25519 and ML-KEM-768", 6), (1, "X25519", 0)]
)
def test_a_run_without_a_seed_has_ml_kem(seed: int | None, agreement: str, answers: int) -> None:
    run = sottovoce.run(
        "noisy-marginals", marginals="sex", rows=60, aggregator="masks", judge=False, seed=seed
    )
    assert run.report["privacy"]["key_agreement"] == agreement
    assert (run.ledger["kind"] == "Encapsulation").sum() == answers
    # Introductions, rows beside the answers, all parties' rows, the sum: ML-KEM takes no round.
    assert run.report["communication"]["rounds"] == 4
    for line in run.report["communication"]["predicted"]:
        assert line["payload_bytes"] == line["measured_payload_bytes"], line
