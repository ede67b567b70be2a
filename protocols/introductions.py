"""Introductions: parties exchange keys and seal what they say to one another from then on.

    with me.phase("keys"):
        introduce(me)

One round, K(K - 1) messages of 80 bytes. The keys are public; who relays or reads them learns
nothing. The curator takes no part: afterwards the parties speak past it, whatever machine carries
their messages. `crypto.sealed` says what that is worth, and why identities that were given before
the run are worth more than those made for it.
"""

from __future__ import annotations

from ..crypto import Channel, Keypair
from ..crypto.sealed import agree
from ..messages import MessageError, message, role_name
from ..parties import Party
from .protocol import Cost

__all__ = ["Introductions", "introduce", "predict_introductions"]


class Introductions:
    """What is said; a protocol that introduces its parties names this in `uses`."""

    @message
    class Introduction:
        identity: bytes
        ephemeral: bytes


def introduce(me: Party) -> dict[int, Channel]:
    """Agree on a channel with every peer, once a run, and seal all that is said to it from here on.
    Called by every party.
    """
    if me.channels or not me.peers:
        return me.channels
    ephemeral = Keypair.new(me.randomness("ephemeral key"))
    me.broadcast(Introductions.Introduction(me.identity.public, ephemeral.public), to=me.peers)
    for peer, said in zip(
        me.peers, me.gather(Introductions.Introduction, sources=me.peers), strict=True
    ):
        expected = me.pinned.get(peer, said.identity)
        if said.identity != expected:
            raise MessageError(
                f"expected the key {expected.hex()[:16]}... of {role_name(peer)}, found {said.identity.hex()[:16]}...: "
                "a wrong peer, or a wrong file among the identities",
                where=me.where,
            )
        try:
            me.channels[peer] = agree(
                rank=me.rank,
                identity=me.identity,
                ephemeral=ephemeral,
                peer=peer,
                peer_identity=said.identity,
                peer_ephemeral=said.ephemeral,
                context=me.where.protocol,
            )
        except ValueError as error:
            raise MessageError(
                f"no channel to {role_name(peer)}: {error}", where=me.where
            ) from None
    for peer, channel in me.channels.items():
        me.seal(peer, channel)
    return me.channels


def predict_introductions(*, parties: int, phase: str) -> Cost:
    """Predict what introductions cost."""
    messages = parties * (parties - 1)
    return Cost(phase=phase, kind="Introduction", messages=messages, payload_bytes=80 * messages)
