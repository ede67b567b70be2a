"""Introductions: parties exchange keys, and seal all messages to one another from then on.

    with me.phase("keys"):
        introduce(me)

This takes one round of K(K - 1) messages of 80 bytes. The keys are public, so a role that relays or
reads them learns nothing. The curator takes no part. Afterwards it cannot read the messages between
parties, whatever machine carries them. `crypto.sealed` explains what that protects against, and why
identities from before the run protect better than those made for it.
"""

from __future__ import annotations

from ..crypto import Channel, Keypair
from ..crypto.sealed import agree
from ..messages import MessageError, Private, message, role_name
from ..parties import Party
from .protocol import Cost

__all__ = ["Introductions", "introduce", "predict_introductions"]


class Introductions:
    """The message of introductions; a protocol that uses them names this class in `uses`."""

    @message
    class Introduction:
        identity: bytes
        ephemeral: bytes


def introduce(me: Party) -> dict[int, Channel]:
    """Agree on a channel with every peer, and seal all messages to it. Called by every party.

    A second call in a run returns the channels of the first.

    Raises:
        MessageError: a peer has another identity than expected, or no channel can be made to it.
    """
    if me.channels or not me.peers:
        return me.channels
    ephemeral = Keypair.new(me.randomness("ephemeral key"))
    me.broadcast(Introductions.Introduction(me.identity.public, ephemeral.public), to=me.peers)
    introductions = me.gather(Introductions.Introduction, sources=me.peers)
    for peer, introduction in zip(me.peers, introductions, strict=True):
        expected = me.pinned.get(peer, introduction.identity)
        if introduction.identity != expected:
            raise MessageError(
                f"expected the key {expected.hex()[:16]}... of {role_name(peer)}, "
                f"found {introduction.identity.hex()[:16]}...: "
                "a wrong peer, or a wrong file among the identities",
                where=me.where,
            )
        try:
            me.channels[peer] = agree(
                rank=me.rank,
                identity=me.identity,
                ephemeral=ephemeral,
                peer=peer,
                peer_identity=introduction.identity,
                peer_ephemeral=introduction.ephemeral,
                context=me.where.protocol,
            )
        except ValueError as error:
            raise MessageError(
                f"no channel to {role_name(peer)}: ", Private(error), where=me.where
            ) from None
    for peer, channel in me.channels.items():
        me.seal(peer, channel)
    return me.channels


def predict_introductions(*, parties: int, phase: str) -> Cost:
    """Predict the messages of introductions."""
    messages = parties * (parties - 1)
    return Cost(phase=phase, kind="Introduction", messages=messages, payload_bytes=80 * messages)
