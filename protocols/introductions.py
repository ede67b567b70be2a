"""Introductions: roles exchange keys, and seal all messages to one another from then on.

    with me.phase("keys"):                          with desk.phase("keys"):
        introduce(me, others=me.others)                 introduce(desk, others=desk.others)

Two roles are introduced if each names the other. This takes one round of two messages of 128 bytes
for every such pair. With ML-KEM (`crypto.kem`), which runs without a seed have, the lower rank's
message has 1,184 bytes more. The other answers with a message of 1,096 bytes, in a second round.
The role that answers has its channel then, and can send through it in the same round (`meanwhile`).

Keys and digests are public, so a role that relays or reads them learns nothing. Afterwards only the
two roles can read what they send each other, whatever machine carries it. `crypto.sealed` explains
what that protects against, and why identities from before the run protect better than those made
for it.

Each introduction has the digest of the job that its sender was given. A role whose own digest is
another one ends the run, and names the two roles that disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, TypeVar

from ..crypto import Channel, IdentifiedRole, Keypair
from ..crypto.kem import CIPHERTEXT_BYTES, PUBLIC_BYTES
from ..crypto.sealed import TAG_BYTES, KemShare, agree
from ..messages import CURATOR, MessageError, MisuseError, Private, message, role_name
from .cost import Cost

__all__ = [
    "HANDSHAKE",
    "INTRODUCTION",
    "Introductions",
    "introduce",
    "predict_handshakes",
    "predict_introductions",
]

LENGTH_BYTES: Final = 8
"""The length before a field of bytes."""
INTRODUCTION_BYTES: Final = 3 * (LENGTH_BYTES + 32) + LENGTH_BYTES
"""Three fields of 32 bytes, and an empty one."""


M = TypeVar("M")


class Introductions:
    """The messages of introductions; a protocol that uses them names this class in `uses`."""

    introduces: ClassVar[bool] = True
    """Parties introduce themselves: `Protocol.parties_talk`."""

    @message
    class Introduction:
        identity: bytes
        ephemeral: bytes
        job: bytes
        """Digest of the job that the sender was given."""
        kem: bytes
        """Public key of ML-KEM, from the lower rank to the higher; else empty."""

    @message
    class Encapsulation:
        """The answer to a public key of ML-KEM."""

        ciphertext: bytes


HANDSHAKE: Final = (Introductions.Introduction, Introductions.Encapsulation)
"""The messages that are not sealed."""
INTRODUCTION: Final = Introductions.Introduction.__name__
ENCAPSULATION: Final = Introductions.Encapsulation.__name__


def introduce(
    role: IdentifiedRole,
    *,
    others: Sequence[int],
    meanwhile: Callable[[], None] | None = None,
) -> Mapping[int, Channel]:
    """Agree on a channel with each of these roles, and seal all messages to them.

    Each of them must call it, too, and name this role. A role to which there is a channel already
    is left out, so a second call adds to the channels of the first.

    Args:
        role: The party or the curator that calls it.
        others: Ranks of other roles; 0 is the curator.
        meanwhile: Sends to lower ranks, as soon as there are channels to them. By then all
            introductions were checked. Only the answers of higher ranks may be missing, and waiting
            for them first would take a round.

    Returns:
        All channels of this role, by rank.

    Raises:
        MessageError: another role has another identity than expected, or was given another job, or
            no channel can be made to it.
    """
    if role.rank in others:
        raise MisuseError(
            f"expected ranks of other roles, found {role_name(role.rank)} itself", where=role.where
        )
    new = [rank for rank in dict.fromkeys(others) if rank not in role.channels]
    if not new:
        if meanwhile is not None:
            meanwhile()
        return role.channels
    ephemeral = Keypair.new(role.randomness("ephemeral key"))
    introductions = _exchange(role, new, ephemeral=ephemeral)
    lower = {rank: keys for rank, keys in introductions.items() if rank < role.rank}
    higher = {rank: keys for rank, keys in introductions.items() if rank > role.rank}
    _open_channels(role, lower, ephemeral=ephemeral, shares=_answer(role, lower))
    if meanwhile is not None:
        meanwhile()
    _open_channels(role, higher, ephemeral=ephemeral, shares=_take_answers(role, higher))
    return role.channels


def _exchange(
    role: IdentifiedRole, others: Sequence[int], *, ephemeral: Keypair
) -> dict[int, Introductions.Introduction]:
    """Send introductions to these roles, and gather and check theirs."""
    lower = [rank for rank in others if rank < role.rank or not role.hybrid]
    higher = [rank for rank in others if rank not in lower]
    for ranks, with_kem in ((lower, False), (higher, True)):
        if ranks:
            introduction = Introductions.Introduction(
                identity=role.identity.public,
                ephemeral=ephemeral.public,
                job=role.job_digest,
                kem=role.kem_key.public if with_kem else b"",
            )
            role.broadcast(introduction, to=ranks)
    introductions = _gather(role, Introductions.Introduction, sources=others)
    for peer, introduction in introductions.items():
        _check(role, peer, introduction)
    return introductions


def _gather(role: IdentifiedRole, kind: type[M], *, sources: Sequence[int]) -> dict[int, M]:
    """Receive one message from each of these roles, or from those that are not lost."""
    if role.min_parties is not None:
        return role.gather_living(kind, sources=sources)
    return dict(zip(sources, role.gather(kind, sources=sources), strict=True))


def _answer(
    role: IdentifiedRole, introductions: Mapping[int, Introductions.Introduction]
) -> dict[int, KemShare]:
    """Answer the ML-KEM keys of lower ranks. Without ML-KEM there is nothing to answer."""
    shares: dict[int, KemShare] = {}
    for peer, introduction in introductions.items() if role.hybrid else ():
        try:
            secret, ciphertext = role.encapsulate(introduction.kem)
        except ValueError as error:
            raise _no_channel(role, peer, error) from None
        shares[peer] = KemShare(introduction.kem, ciphertext, secret)
        role.send(Introductions.Encapsulation(ciphertext), to=peer)
    return shares


def _take_answers(role: IdentifiedRole, peers: Collection[int]) -> dict[int, KemShare]:
    """Receive the answers of higher ranks. Without ML-KEM there are none."""
    if not role.hybrid or not peers:
        return {}
    shares: dict[int, KemShare] = {}
    answers = _gather(role, Introductions.Encapsulation, sources=[*peers])
    for peer, answer in answers.items():
        try:
            secret = role.kem_key.open(answer.ciphertext)
        except ValueError as error:
            raise _no_channel(role, peer, error) from None
        shares[peer] = KemShare(role.kem_key.public, answer.ciphertext, secret)
    return shares


def _open_channels(
    role: IdentifiedRole,
    introductions: Mapping[int, Introductions.Introduction],
    *,
    ephemeral: Keypair,
    shares: Mapping[int, KemShare],
) -> None:
    """Make the channels to these roles, and seal all further messages to them."""
    for peer, introduction in introductions.items():
        if role.hybrid and peer not in shares:
            continue  # it was lost before it answered
        try:
            role.channels[peer] = agree(
                rank=role.rank,
                identity=role.identity,
                ephemeral=ephemeral,
                peer=peer,
                peer_identity=introduction.identity,
                peer_ephemeral=introduction.ephemeral,
                context=role.where.protocol,
                job_digest=role.job_digest,
                kem=shares.get(peer, KemShare()),
            )
        except ValueError as error:
            raise _no_channel(role, peer, error) from None
        role.seal(peer, role.channels[peer])


def _no_channel(role: IdentifiedRole, peer: int, error: ValueError) -> MessageError:
    return MessageError(f"no channel to {role_name(peer)}: ", Private(error), where=role.where)


def _check(role: IdentifiedRole, peer: int, introduction: Introductions.Introduction) -> None:
    """Refuse a peer with another identity than expected, or with another job.

    Raises:
        MessageError: it has another one.
    """
    expected = role.pinned.get(peer, introduction.identity)
    if introduction.identity != expected:
        file = "curator.pub" if peer == CURATOR else f"party-{peer}.pub"
        raise MessageError(
            f"expected the key {expected.hex()[:16]}... of {role_name(peer)}, "
            f"found {introduction.identity.hex()[:16]}...: "
            f"a wrong peer, or a wrong {file} among the identities of {role_name(role.rank)}",
            where=role.where,
        )
    if introduction.job != role.job_digest:
        raise MessageError(
            f"expected the job of {role_name(role.rank)} ({role.job_digest.hex()[:16]}...), found "
            f"that {role_name(peer)} was given another one ({introduction.job.hex()[:16]}...): "
            "start all roles with the same protocol, parameters and schema, and with the same "
            "versions of sottovoce and cryptography",
            where=role.where,
        )


def predict_introductions(*, edges: int, phase: str) -> Cost:
    """Predict the messages of introductions between so many pairs of roles, without ML-KEM."""
    messages = 2 * edges
    return Cost(
        phase=phase,
        kind=INTRODUCTION,
        messages=messages,
        payload_bytes=INTRODUCTION_BYTES * messages,
    )


def predict_handshakes(lines: Sequence[Cost], *, hybrid: bool) -> list[Cost]:
    """Add ML-KEM and seals to a predicted cost: introduced roles seal all else that they send.

    Forecasts of protocols and sub-protocols give the sizes of messages without seals. A payload
    above 1 GiB would have more than one seal.

    Args:
        lines: the forecast.
        hybrid: whether channels need ML-KEM.
    """
    if all(line.kind != INTRODUCTION for line in lines):
        return [*lines]
    predicted = []
    for line in lines:
        if line.kind != INTRODUCTION:
            size = line.payload_bytes + TAG_BYTES * line.messages
            predicted.append(replace(line, payload_bytes=size))
            continue
        predicted.append(line)
        if hybrid:
            edges = line.messages // 2
            size = line.payload_bytes + PUBLIC_BYTES * edges
            predicted[-1] = replace(line, payload_bytes=size)
            answer = LENGTH_BYTES + CIPHERTEXT_BYTES
            predicted.append(
                Cost(
                    phase=line.phase,
                    kind=ENCAPSULATION,
                    messages=edges,
                    payload_bytes=answer * edges,
                )
            )
    return predicted
