"""Only the right peer opens a sealed message, and only as that very message."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from sottovoce.crypto import Channel, Keypair, RandomStream
from sottovoce.crypto.sealed import TAG_BYTES, KemShare, agree
from sottovoce.messages import MisuseError

HEADER = b"protocol, phase, kind, from 1 to 2"


def pair(name: bytes) -> Keypair:
    return Keypair.new(RandomStream(name * 32))


ONE, TWO, THREE = (pair(b"1"), pair(b"a")), (pair(b"2"), pair(b"b")), (pair(b"3"), pair(b"c"))


def channel(
    rank: int,
    keys: tuple[Keypair, Keypair],
    peer: int,
    peer_keys: tuple[Keypair, Keypair],
    context: str = "p",
) -> Channel:
    return agree(
        rank=rank,
        identity=keys[0],
        ephemeral=keys[1],
        peer=peer,
        peer_identity=peer_keys[0].public,
        peer_ephemeral=peer_keys[1].public,
        context=context,
    )


def ends(**more: Any) -> tuple[Channel, Channel]:
    return channel(1, ONE, 2, TWO, **more), channel(2, TWO, 1, ONE, **more)


def opened(end: Channel, sealed: bytes, *, number: int = 0, header: bytes = HEADER) -> bytes:
    return bytes(end.open(memoryview(sealed), header=header, number=number))


def test_both_directions_open() -> None:
    one, two = ends()
    for size in (0, 1, 1000, 1 << 20):
        payload = bytes(size)
        sealed = one.seal(payload, header=HEADER, number=size)
        assert len(sealed) == one.sealed_size(size) == size + TAG_BYTES
        assert opened(two, sealed, number=size) == payload
        assert opened(one, two.seal(payload, header=HEADER, number=size), number=size) == payload


def test_equal_payloads_look_different_each_time_and_in_each_direction() -> None:
    one, two = ends()
    sealed = [one.seal(b"hello", header=HEADER, number=n) for n in range(3)] + [
        two.seal(b"hello", header=HEADER, number=0)
    ]
    assert len(set(sealed)) == 4
    assert all(b"hello" not in s for s in sealed)


def test_replay_and_reordering_are_refused() -> None:
    one, two = ends()
    first, second = (one.seal(b"x", header=HEADER, number=n) for n in range(2))
    assert opened(two, first, number=0) == b"x"
    for sealed, number in ((first, 1), (second, 0)):
        with pytest.raises(ValueError, match="not sealed by this peer as this message"):
            opened(two, sealed, number=number)


def test_truncation_and_changes_are_refused() -> None:
    one, two = ends()
    sealed = one.seal(bytes(range(100)), header=HEADER, number=0)
    for changed in (
        sealed[:-1],
        sealed[:TAG_BYTES],
        b"",
        sealed + b"\0",
        bytes([sealed[0] ^ 1]) + sealed[1:],
        sealed[:-1] + bytes([sealed[-1] ^ 1]),
    ):
        with pytest.raises(ValueError, match="changed on the way"):
            opened(two, changed)


def test_another_header_is_refused() -> None:
    one, two = ends()
    sealed = one.seal(b"x", header=HEADER, number=0)
    with pytest.raises(ValueError, match="not sealed"):
        opened(two, sealed, header=HEADER.replace(b"phase", b"phrase"))


def test_reflected_messages_are_refused() -> None:
    one, _ = ends()
    with pytest.raises(ValueError, match="not sealed"):
        opened(one, one.seal(b"x", header=HEADER, number=0))


def test_other_peers_runs_and_protocols_are_refused() -> None:
    _, two = ends()
    strangers = {
        "an ephemeral key alone does not make a peer": channel(1, (THREE[0], ONE[1]), 2, TWO),
        "an identity alone does not make this run": channel(1, (ONE[0], THREE[1]), 2, TWO),
        "another protocol": channel(1, ONE, 2, TWO, context="q"),
        "another rank": channel(3, ONE, 2, TWO),
    }
    for who, stranger in strangers.items():
        with pytest.raises(ValueError, match="not sealed"):
            opened(two, stranger.seal(b"x", header=HEADER, number=0))
            pytest.fail(who)


def test_a_man_in_the_middle_without_the_identity_fails() -> None:
    """He sends his own ephemeral key with the true identity, but cannot compute the mixed terms."""
    victim = agree(
        rank=2,
        identity=TWO[0],
        ephemeral=TWO[1],
        peer=1,
        peer_identity=ONE[0].public,
        peer_ephemeral=THREE[1].public,
        context="p",
    )
    stranger = channel(1, (THREE[0], THREE[1]), 2, TWO)
    with pytest.raises(ValueError, match="not sealed"):
        opened(victim, stranger.seal(b"x", header=HEADER, number=0))


def test_bad_keys_are_refused() -> None:
    for keys, message in (
        ((bytes(32), TWO[1].public), "shared key"),  # a point of low order
        ((TWO[0].public, bytes(32)), "shared key"),
        ((b"short", TWO[1].public), "32 bytes"),
        ((ONE[0].public, TWO[1].public), "own: they were sent back"),
        ((TWO[0].public, ONE[1].public), "own: they were sent back"),
    ):
        with pytest.raises(ValueError, match=message):
            agree(
                rank=1,
                identity=ONE[0],
                ephemeral=ONE[1],
                peer=2,
                peer_identity=keys[0],
                peer_ephemeral=keys[1],
                context="p",
            )


def test_numbers_must_rise() -> None:
    one, _ = ends()
    one.seal(b"x", header=HEADER, number=3)
    for number in (3, 2):
        with pytest.raises(MisuseError, match=r"found \d again"):
            one.seal(b"y", header=HEADER, number=number)


def test_derived_secrets_are_shared_and_separate() -> None:
    one, two = ends()
    keys = [one.next_key("masks") for _ in range(3)]
    assert len({*keys, one.next_key("others")}) == 4
    assert keys == [two.next_key("masks") for _ in range(3)]


def test_what_is_sealed_beside_messages_opens_once_and_for_its_purpose() -> None:
    one, two = ends()
    pieces = [b"", b"piece of a key", bytes(1000)]
    sealed = [one.seal_beside(piece, purpose="keys") for piece in pieces]
    assert [two.open_beside(piece, purpose="keys") for piece in sealed] == pieces
    again = one.seal_beside(pieces[1], purpose="keys")
    assert again != sealed[1]
    for other in (sealed[1], again[:-1], bytes([again[0] ^ 1]) + again[1:]):
        one, two = ends()
        with pytest.raises(ValueError, match="sealed"):
            two.open_beside(other, purpose="keys")
    one, two = ends()
    with pytest.raises(ValueError, match="sealed"):
        two.open_beside(one.seal_beside(b"x", purpose="keys"), purpose="masks")


def test_long_payloads_are_sealed_in_pieces() -> None:
    """Here the pieces are small."""
    one, two = (Channel(b"s" * 96, b"t" * 32, first=first, piece=10) for first in (True, False))
    for number, size in enumerate((0, 9, 10, 11, 20, 35)):
        payload = bytes(range(size))
        sealed = one.seal(payload, header=HEADER, number=number)
        assert len(sealed) == one.sealed_size(size)
        assert opened(two, sealed, number=number) == payload
    sealed = one.seal(bytes(30), header=HEADER, number=9)
    step = 10 + TAG_BYTES
    for cut in (
        sealed[:step],
        sealed[: 2 * step],
        sealed[step:],
        sealed[step : 2 * step] + sealed[:step] + sealed[2 * step :],
    ):
        with pytest.raises(ValueError, match="not sealed"):
            opened(two, cut, number=9)


def test_private_keys_are_not_printed() -> None:
    assert "private" not in repr(ONE[0])


@pytest.mark.parametrize(("rank", "peer"), [(1, 2), (2, 1), (0, 11), (9, 10)])
def test_a_channel_follows_from_what_both_ends_agreed_on_by_its_formula(
    rank: int, peer: int
) -> None:
    """Version 2: Diffie-Hellman three times and ML-KEM, and a digest of all that is public.

    The referee computes each secret from the other end's private keys.
    """
    keys = {
        (owner, kind): Keypair.new(RandomStream(bytes([owner, number]) * 16))
        for owner in (rank, peer)
        for number, kind in enumerate(("identity", "ephemeral"))
    }
    kem = KemShare(b"public", b"ciphertext", b"secret of the kem")
    channel = agree(
        rank=rank,
        identity=keys[rank, "identity"],
        ephemeral=keys[rank, "ephemeral"],
        peer=peer,
        peer_identity=keys[peer, "identity"].public,
        peer_ephemeral=keys[peer, "ephemeral"].public,
        context="one-way",
        job_digest=b"job",
        kem=kem,
    )
    low, high = sorted((rank, peer))
    secret = b"".join(
        keys[high, of_high].meet(keys[low, of_low].public)
        for of_low, of_high in (
            ("ephemeral", "ephemeral"),
            ("identity", "ephemeral"),
            ("ephemeral", "identity"),
        )
    )
    parts = [b"one-way", b"job", str(low).encode(), str(high).encode()]
    parts += [
        keys[owner, kind].public for owner in (low, high) for kind in ("identity", "ephemeral")
    ]
    parts += [b"public", b"ciphertext"]
    told = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    transcript = hashlib.sha256(b"sottovoce sealed v2" + told).digest()
    other = Channel(secret + b"secret of the kem", transcript, first=peer == low)
    sealed = channel.seal(b"words", header=b"h", number=0)
    assert bytes(other.open(memoryview(sealed), header=b"h", number=0)) == b"words"
    assert other.next_key("masks") == channel.next_key("masks")
