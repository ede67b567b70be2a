"""Introductions: roles exchange keys, and seal all messages to one another from then on.

    with me.phase("keys"):                          with desk.phase("keys"):
        introduce(me, others=me.others)                 introduce(desk, others=desk.others)

Two roles are introduced if each names the other. This takes one round of two messages of 120 bytes
for every such pair. Keys and digests are public, so a role that relays or reads them learns
nothing. Afterwards only the two roles can read what they send each other, whatever machine carries
it. `crypto.sealed` explains what that protects against, and why identities from before the run
protect better than those made for it.

Each introduction has the digest of the job that its sender was given. A role whose own digest is
another one ends the run, and names the two roles that disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ..crypto import Channel, IdentifiedRole, Keypair
from ..crypto.sealed import TAG_BYTES, agree
from ..messages import MessageError, MisuseError, Private, message, role_name
from .protocol import Cost

__all__ = ["Introductions", "introduce", "predict_introductions", "predict_seals"]

INTRODUCTION_BYTES: Final = 120
"""Three fields of 32 bytes, each after its length."""


class Introductions:
    """The message of introductions; a protocol that uses them names this class in `uses`."""

    introduces: ClassVar[bool] = True
    """Parties introduce themselves: `Protocol.parties_talk`."""

    @message
    class Introduction:
        identity: bytes
        ephemeral: bytes
        job: bytes
        """Digest of the job that the sender was given."""


def introduce(role: IdentifiedRole, *, others: Sequence[int]) -> Mapping[int, Channel]:
    """Agree on a channel with each of these roles, and seal all messages to them.

    Each of them must call it, too, and name this role. A role to which there is a channel already
    is left out, so a second call adds to the channels of the first.

    Args:
        role: The party or the curator that calls it.
        others: Ranks of other roles; 0 is the curator.

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
        return role.channels
    ephemeral = Keypair.new(role.randomness("ephemeral key"))
    role.broadcast(
        Introductions.Introduction(role.identity.public, ephemeral.public, role.job_digest), to=new
    )
    introductions = role.gather(Introductions.Introduction, sources=new)
    for peer, introduction in zip(new, introductions, strict=True):
        _check(role, peer, introduction)
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
            )
        except ValueError as error:
            raise MessageError(
                f"no channel to {role_name(peer)}: ", Private(error), where=role.where
            ) from None
    for peer in new:
        role.seal(peer, role.channels[peer])
    return role.channels


def _check(role: IdentifiedRole, peer: int, introduction: Introductions.Introduction) -> None:
    """Refuse a peer with another identity than expected, or with another job.

    Raises:
        MessageError: it has another one.
    """
    expected = role.pinned.get(peer, introduction.identity)
    if introduction.identity != expected:
        raise MessageError(
            f"expected the key {expected.hex()[:16]}... of {role_name(peer)}, "
            f"found {introduction.identity.hex()[:16]}...: "
            "a wrong peer, or a wrong file among the identities",
            where=role.where,
        )
    if introduction.job != role.job_digest:
        raise MessageError(
            f"expected the job of {role_name(role.rank)} ({role.job_digest.hex()[:16]}...), found "
            f"that {role_name(peer)} was given another one ({introduction.job.hex()[:16]}...): "
            "start all roles with the same protocol, parameters, schema and version of sottovoce",
            where=role.where,
        )


def predict_introductions(*, edges: int, phase: str) -> Cost:
    """Predict the messages of introductions between so many pairs of roles."""
    messages = 2 * edges
    return Cost(
        phase=phase,
        kind=Introductions.Introduction.__name__,
        messages=messages,
        payload_bytes=INTRODUCTION_BYTES * messages,
    )


def predict_seals(lines: Sequence[Cost]) -> list[Cost]:
    """Add the seals to a predicted cost: introduced roles seal all else that they send.

    Forecasts of protocols and sub-protocols give the sizes of messages without seals. A payload
    above 1 GiB would have more than one seal.
    """
    introduction = Introductions.Introduction.__name__
    if all(line.kind != introduction for line in lines):
        return [*lines]
    return [line if line.kind == introduction else _sealed(line) for line in lines]


def _sealed(line: Cost) -> Cost:
    return Cost(
        phase=line.phase,
        kind=line.kind,
        messages=line.messages,
        payload_bytes=line.payload_bytes + TAG_BYTES * line.messages,
    )
