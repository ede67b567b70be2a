"""Sealed channels: what two parties say to one another, nobody else can read, change, repeat or
reorder.

*Handshake.* Every party has an identity (an X25519 key pair: its own from a file, or made for the
run) and makes one ephemeral pair a run; it tells its peers both public keys. Two parties combine
three Diffie-Hellman results, ephemeral with ephemeral and each one's identity with the other's
ephemeral, as in Signal's X3DH and the pattern KK of the Noise framework:

    low = the party of lower rank                 e = ephemeral, s = identity
    secret = DH(e_low, e_high) | DH(s_low, e_high) | DH(e_low, s_high)
    key    = HKDF-SHA256(secret, salt = SHA-256(protocol, ranks, all four public keys), info = purpose)

The first term gives forward secrecy, the other two that only the holders of the identities can
compute the key. If a peer's public identity is pinned (was given before the run), a stranger in
between fails; identities made for the run stop a reader, not somebody who replaces messages on the
way: trust at first use is no trust.

*Messages.* AES-256-GCM, a key for each direction. The nonce is the message's number on this edge,
so none is used twice; the whole frame header (protocol, phase, kind, sender, receiver, number,
length) is authenticated with it. Payloads above 1 GiB are sealed in pieces, whose number and whose
being the last are in the nonce (STREAM; Hoang, Reyhanitabar, Rogaway, Vizar 2015), so a message cut
at a piece's end does not open either.

What a listener still sees: who speaks to whom, when, which kind of message and how long.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..messages import MisuseError
from .randomness import RandomStream

__all__ = ["SEAL", "Channel", "Keypair", "agree"]

SEAL: Final = 16
"""Bytes that a seal adds to each piece."""
PIECE: Final = 1 << 30

_NONCE: Final = struct.Struct("<QHH")


@dataclass(frozen=True, slots=True)
class Keypair:
    """An X25519 key pair."""

    private: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls, randomness: RandomStream) -> Keypair:
        return cls(X25519PrivateKey.from_private_bytes(randomness.draw(32)))

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    def meet(self, public: bytes) -> bytes:
        """Compute the Diffie-Hellman secret; a point of low order, which would fix it, is a
        `ValueError`.
        """
        return self.private.exchange(X25519PublicKey.from_public_bytes(public))


class Channel:
    """One end of a sealed channel. A role seals and opens with it (`messages.role`), by the number
    of the message.

    Args:
        secret: the three Diffie-Hellman results.
        transcript: the digest of all that both ends said of themselves.
        first: whether this end is the party of lower rank.
        piece: payload bytes sealed at once.
    """

    def __init__(
        self, secret: bytes, transcript: bytes, *, first: bool, piece: int = PIECE
    ) -> None:
        self._secret = secret
        self._transcript = transcript
        self._piece = piece
        self._next = 0
        self._keys: Counter[str] = Counter()
        directions = [
            AESGCM(self._derive(f"direction from the {end}")) for end in ("lower", "higher")
        ]
        self._sealing, self._opening = directions if first else directions[::-1]

    def _derive(self, label: str) -> bytes:
        """Derive 32 secret bytes that both ends, and nobody else, can compute."""
        info = b"sottovoce sealed v1 " + label.encode()
        return HKDF(algorithm=SHA256(), length=32, salt=self._transcript, info=info).derive(
            self._secret
        )

    def next_key(self, purpose: str) -> bytes:
        """Derive a key that neither end gets a second time, if both ask for the same purposes in
        the same order.
        """
        self._keys[purpose] += 1
        return self._derive(f"key {self._keys[purpose]} for {purpose}")

    def sealed_size(self, size: int) -> int:
        """Say how long a payload of `size` bytes is when sealed."""
        return size + SEAL * max(1, -(-size // self._piece))

    def seal(self, payload: bytes | memoryview, *, header: bytes, number: int) -> bytes:
        """Seal message `number` of this direction; numbers must rise, as one that was used for two
        would undo GCM.
        """
        if number < self._next:
            raise MisuseError(
                f"expected to seal message {self._next} or a later one, found {number} again"
            )
        self._next = number + 1
        pieces = [payload[at : at + self._piece] for at in range(0, len(payload), self._piece)] or [
            b""
        ]
        return b"".join(
            self._sealing.encrypt(
                _nonce(number, at, last=at + 1 == len(pieces)), bytes(piece), header
            )
            for at, piece in enumerate(pieces)
        )

    def open(self, sealed: memoryview, *, header: bytes, number: int) -> memoryview:
        """Open message `number` of the other direction; whatever was not sealed as this very
        message is a `ValueError`.
        """
        step = self._piece + SEAL
        pieces = [sealed[at : at + step] for at in range(0, len(sealed), step)] or [sealed]
        try:
            opened = [
                self._opening.decrypt(
                    _nonce(number, at, last=at + 1 == len(pieces)), bytes(piece), header
                )
                for at, piece in enumerate(pieces)
            ]
        except InvalidTag:
            raise ValueError(
                "it was not sealed by this peer as this message, or was changed on the way"
            ) from None
        return memoryview(opened[0] if len(opened) == 1 else b"".join(opened))


def _nonce(number: int, piece: int, *, last: bool) -> bytes:
    return _NONCE.pack(number, piece, int(last))


def agree(
    *,
    rank: int,
    identity: Keypair,
    ephemeral: Keypair,
    peer: int,
    peer_identity: bytes,
    peer_ephemeral: bytes,
    context: str,
) -> Channel:
    """Agree on a channel with a peer whose public keys were received.

    Raises:
        ValueError: the peer's keys are not usable.
    """
    first = rank < peer
    own, others = (identity.public, ephemeral.public), (peer_identity, peer_ephemeral)
    if any(len(key) != 32 for key in others):
        raise ValueError(
            f"expected keys of 32 bytes, found {', '.join(str(len(key)) for key in others)}"
        )
    if peer_ephemeral == ephemeral.public or peer_identity == identity.public:
        raise ValueError("expected a peer's keys, found this party's own: they were sent back")
    low, high = (own, others) if first else (others, own)
    # The identity of the lower with the ephemeral of the higher, then the reverse.
    crossed = [identity.meet(peer_ephemeral), ephemeral.meet(peer_identity)]
    secret = ephemeral.meet(peer_ephemeral) + b"".join(crossed if first else crossed[::-1])
    digest = hashlib.sha256(b"sottovoce sealed v1")
    for part in (
        context.encode(),
        str(min(rank, peer)).encode(),
        str(max(rank, peer)).encode(),
        *low,
        *high,
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return Channel(secret, digest.digest(), first=first)
