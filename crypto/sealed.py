"""Sealed channels: nobody else can read, change, repeat or reorder what two roles send.

*Handshake.* Every role has an identity, an X25519 key pair of its own from a file, or made for the
run. It makes one ephemeral pair for each run, and sends its peers both public keys. Two roles
combine three Diffie-Hellman results: ephemeral with ephemeral, and each one's identity with the
other's ephemeral. Signal's X3DH and the pattern KK of the Noise framework do the same:

    low = the role of lower rank                  e = ephemeral, s = identity
    secret = DH(e_low, e_high) | DH(s_low, e_high) | DH(e_low, s_high) | secret of ML-KEM
    salt   = SHA-256(protocol, digest of the job, ranks, all four public keys, ML-KEM's key
             and ciphertext)
    key    = HKDF-SHA256(secret, salt, info = purpose)

The first term gives forward secrecy. The other two ensure that only the holders of the identities
can compute the key. If a peer's public identity is pinned, which means that it was known before the
run, a man in the middle fails. Identities made for the run stop an adversary that reads, but not
one that replaces messages on the way: trust at first use is no trust. Each end takes the digest of
the job that it was given, so two roles with different jobs have no key in common.

The part of ML-KEM is there in runs without a seed, where the library has it (`crypto.kem`). An
adversary must then break X25519 and ML-KEM to read what it has kept.

*Messages.* AES-256-GCM, with a key for each direction. The nonce is the message's number on this
edge, so none is used twice. The whole frame header is authenticated with it (protocol, phase, kind,
sender, receiver, number, length), and so is the number of frames of releases that were sent ahead
(`messages.edges`). Payloads above 1 GiB are sealed in pieces. The nonce also has the
piece's number and whether it is the last (STREAM; Hoang, Reyhanitabar, Rogaway, Vizar 2015). So a
message cut at a piece's end does not open either.

*Secrets.* The combined secret is overwritten when the channel is dropped, and in forked processes.
These can neither seal messages nor derive keys with their parent's channels.

An adversary that listens still sees who sends to whom, when, which kind of message, and its length.
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
from .randomness import RandomStream, forget_after_fork, wipe

__all__ = ["TAG_BYTES", "Channel", "KemShare", "Keypair", "agree"]

TAG_BYTES: Final = 16
"""Bytes that a seal adds to each piece."""
MAX_PIECE_BYTES: Final = 1 << 30
KEY_BYTES: Final = 32

_NONCE: Final = struct.Struct("<QHH")


@dataclass(frozen=True, slots=True)
class Keypair:
    """An X25519 key pair."""

    private: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls, randomness: RandomStream) -> Keypair:
        return cls(X25519PrivateKey.from_private_bytes(randomness.draw(KEY_BYTES)))

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    def meet(self, public: bytes) -> bytes:
        """Compute the Diffie-Hellman secret.

        Raises:
            ValueError: the peer's key is a point of low order, which would fix the secret.
        """
        return self.private.exchange(X25519PublicKey.from_public_bytes(public))


@dataclass(frozen=True, slots=True)
class KemShare:
    """What two roles agreed on by ML-KEM: its public key, its ciphertext, and their secret."""

    public: bytes = b""
    ciphertext: bytes = b""
    secret: bytes = field(default=b"", repr=False)


NO_KEM: Final = KemShare()


class Channel:
    """One end of a sealed channel, with which a role seals and opens messages by their numbers.

    Args:
        secret: the three Diffie-Hellman results, and the secret of ML-KEM.
        transcript: the digest of the job, and of both ends' ranks and public keys.
        first: whether this end is the role of lower rank.
        piece: payload bytes that are sealed at once.
    """

    def __init__(
        self, secret: bytes, transcript: bytes, *, first: bool, piece: int = MAX_PIECE_BYTES
    ) -> None:
        self._secret = bytearray(secret)
        self._transcript = transcript
        self._piece = piece
        self._next = 0
        self._keys: Counter[str] = Counter()
        directions = [
            AESGCM(self._derive(f"direction from the {end}")) for end in ("lower", "higher")
        ]
        self._sealing, self._opening = directions if first else directions[::-1]
        self._closed = False
        forget_after_fork(self, Channel._close)

    def __del__(self) -> None:
        wipe(self._secret)

    def _close(self) -> None:
        """Forget the secret in a forked process.

        It would seal other messages with the same keys and numbers, which undoes GCM, and mask
        other cells with the same masks.
        """
        wipe(self._secret)
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise MisuseError(
                "expected a channel in the process that agreed on it, found a forked one: "
                "send and receive in the process that plays the role"
            )

    def _derive(self, label: str) -> bytes:
        """Derive a key that both ends, and nobody else, can compute."""
        info = b"sottovoce sealed v2 " + label.encode()
        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=self._transcript, info=info).derive(
            self._secret
        )

    def next_key(self, purpose: str) -> bytes:
        """Derive a key that neither end gets a second time.

        Both ends must ask for the same purposes in the same order.
        """
        self._require_open()
        self._keys[purpose] += 1
        return self._derive(f"key {self._keys[purpose]} for {purpose}")

    def seal_beside(self, payload: bytes, *, purpose: str) -> bytes:
        """Seal what has no number among the messages of this edge: each has a key of its own.

        One end alone may seal for a purpose, and the other must open in the same order.
        """
        return AESGCM(self.next_key(purpose)).encrypt(bytes(12), payload, purpose.encode())

    def open_beside(self, sealed: bytes, *, purpose: str) -> bytes:
        """Open what the other end sealed by `seal_beside`.

        Raises:
            ValueError: the bytes were not sealed as this very piece.
        """
        try:
            return AESGCM(self.next_key(purpose)).decrypt(bytes(12), sealed, purpose.encode())
        except InvalidTag:
            raise ValueError("expected bytes that the other end has sealed, found others") from None

    def sealed_size(self, size: int) -> int:
        """Compute the length of a sealed payload of `size` bytes."""
        return size + TAG_BYTES * max(1, -(-size // self._piece))

    def seal(self, payload: bytes | memoryview, *, header: bytes, number: int) -> bytes:
        """Seal message `number` of this direction.

        Numbers must rise: one that is used twice would undo GCM.
        """
        self._require_open()
        if number < self._next:
            raise MisuseError(
                f"expected to seal message {self._next} or a later one, found {number} again"
            )
        self._next = number + 1
        starts = range(0, max(len(payload), 1), self._piece)
        return b"".join(
            self._sealing.encrypt(
                _nonce(number, index, last=index + 1 == len(starts)),
                bytes(payload[start : start + self._piece]),
                header,
            )
            for index, start in enumerate(starts)
        )

    def open(self, sealed: memoryview, *, header: bytes, number: int) -> memoryview:
        """Open message `number` of the other direction.

        Raises:
            ValueError: the bytes were not sealed as this very message.
        """
        step = self._piece + TAG_BYTES
        starts = range(0, max(len(sealed), 1), step)
        try:
            pieces = [
                self._opening.decrypt(
                    _nonce(number, index, last=index + 1 == len(starts)),
                    bytes(sealed[start : start + step]),
                    header,
                )
                for index, start in enumerate(starts)
            ]
        except InvalidTag:
            raise ValueError(
                "it was not sealed by this peer as this message, or was changed on the way"
            ) from None
        return memoryview(pieces[0] if len(pieces) == 1 else b"".join(pieces))


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
    job_digest: bytes = b"",
    kem: KemShare = NO_KEM,
) -> Channel:
    """Agree on a channel with a peer whose public keys were received.

    Args:
        rank: this role's rank.
        identity: this role's identity.
        ephemeral: its key pair for this run.
        peer: the peer's rank.
        peer_identity: the identity that was received.
        peer_ephemeral: the ephemeral key that was received.
        context: the protocol's name.
        job_digest: the digest of the job that this role was given.
        kem: what the two agreed on by ML-KEM; by default nothing.

    Raises:
        ValueError: the peer's keys are not usable.
    """
    first = rank < peer
    public, peer_public = (identity.public, ephemeral.public), (peer_identity, peer_ephemeral)
    if any(len(key) != KEY_BYTES for key in peer_public):
        lengths = ", ".join(str(len(key)) for key in peer_public)
        raise ValueError(f"expected keys of {KEY_BYTES} bytes, found {lengths}")
    if peer_ephemeral == ephemeral.public or peer_identity == identity.public:
        raise ValueError("expected a peer's keys, found this role's own: they were sent back")
    low, high = (public, peer_public) if first else (peer_public, public)
    # First comes the lower role's identity with the higher one's ephemeral key, then the reverse.
    crossed = [identity.meet(peer_ephemeral), ephemeral.meet(peer_identity)]
    secret = ephemeral.meet(peer_ephemeral) + b"".join(crossed if first else crossed[::-1])
    secret += kem.secret
    digest = hashlib.sha256(b"sottovoce sealed v2")
    for part in (
        context.encode(),
        job_digest,
        str(min(rank, peer)).encode(),
        str(max(rank, peer)).encode(),
        *low,
        *high,
        kem.public,
        kem.ciphertext,
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return Channel(secret, digest.digest(), first=first)
