"""ML-KEM-768 (FIPS 203): a key agreement that a quantum computer does not break.

A channel's keys follow from it *and* from X25519 (`crypto.sealed`), so that either is enough. The
lower rank of two roles sends a public key, and the other answers with a ciphertext, which holds a
shared secret. Whoever keeps today's frames and has a quantum computer later does not read them. It
protects no identity: those are X25519 keys, which are attacked during a run or not at all.

Older releases of `cryptography` lack it, and so do some builds (`is_available`). A ciphertext is
drawn by the operating system's generator. A seeded run would not repeat, so it does without.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from .randomness import RandomStream

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

__all__ = [
    "CIPHERTEXT_BYTES",
    "PUBLIC_BYTES",
    "Encapsulated",
    "KemKey",
    "encapsulate",
    "is_available",
]

PUBLIC_BYTES: Final = 1184
"""Length of a public key."""
CIPHERTEXT_BYTES: Final = 1088
"""Length of a ciphertext."""
SEED_BYTES: Final = 64


class Encapsulated(NamedTuple):
    """A shared secret, and the ciphertext that holds it for the owner of the key."""

    secret: bytes
    ciphertext: bytes

    def __repr__(self) -> str:
        return f"Encapsulated({len(self.ciphertext)} bytes)"


@lru_cache(maxsize=1)
def is_available() -> bool:
    """Whether the library has ML-KEM-768."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    except ImportError:
        return False
    try:
        MLKEM768PrivateKey.from_seed_bytes(bytes(SEED_BYTES))
    except UnsupportedAlgorithm:
        return False
    return True


class KemKey:
    """A key pair, which a role makes for one run."""

    def __init__(self, randomness: RandomStream) -> None:
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

        self._private: MLKEM768PrivateKey = MLKEM768PrivateKey.from_seed_bytes(
            randomness.draw(SEED_BYTES)
        )
        self.public: bytes = self._private.public_key().public_bytes_raw()

    def open(self, ciphertext: bytes) -> bytes:
        """Give the secret of a ciphertext.

        A ciphertext that was changed gives another secret, so the channel then does not open.

        Raises:
            ValueError: it has another length.
        """
        if len(ciphertext) != CIPHERTEXT_BYTES:
            raise ValueError(
                f"expected a ciphertext of {CIPHERTEXT_BYTES} bytes, found {len(ciphertext)}"
            )
        return self._private.decapsulate(ciphertext)


def encapsulate(public: bytes) -> Encapsulated:
    """Draw a secret for the owner of a public key.

    Raises:
        ValueError: these bytes are no public key.
    """
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

    if len(public) != PUBLIC_BYTES:
        raise ValueError(f"expected a public key of {PUBLIC_BYTES} bytes, found {len(public)}")
    return Encapsulated(*MLKEM768PublicKey.from_public_bytes(public).encapsulate())
