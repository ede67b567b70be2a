"""Introductions: who is introduced to whom, what is bound, and what a disagreement ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sottovoce.crypto import IdentifiedRole
from sottovoce.curator import Curator
from sottovoce.messages import CURATOR, MessageError, MisuseError, message
from sottovoce.parties import Party
from sottovoce.protocols import Cost
from sottovoce.protocols.introductions import (
    Introductions,
    introduce,
    predict_introductions,
    predict_seals,
)

Converse = Callable[..., Any]


@message
class Word:
    text: str


KINDS = (Word, Introductions.Introduction)


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
        me.require_seals(but=Introductions.Introduction)
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
    assert predict_seals([words]) == [words]
    assert predict_seals([keys, words]) == [
        keys,
        Cost(phase="talk", kind="Word", messages=3, payload_bytes=30 + 3 * 16),
    ]
