"""A Paillier public key: the modulus, and how wide ciphertexts are."""

from __future__ import annotations

from dataclasses import dataclass

from phe import paillier as phe

from ..messages import BigInts
from .modulus import require_modulus

__all__ = ["PublicKey"]


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The modulus n."""

    n: int

    @property
    def bits(self) -> int:
        return self.n.bit_length()

    @property
    def width(self) -> int:
        """Bytes of a ciphertext on the wire."""
        return 2 * -(-self.bits // 8)

    @property
    def phe(self) -> phe.PaillierPublicKey:
        """The same key for phe."""
        return phe.PaillierPublicKey(self.n)

    def travel(self) -> BigInts:
        """Write the key for the wire. It is sent once, never with each ciphertext."""
        return BigInts.of([self.n], width=-(-self.bits // 8))

    @classmethod
    def received(cls, numbers: BigInts, *, bits: int) -> PublicKey:
        """Read a key of the length that was agreed.

        A key without a proof is checked for mistakes. `modulus_proof.proven_key` reads a key from a
        curator that need not be trusted to make a sound one.

        Raises:
            ValueError: the modulus cannot be a product of two large primes of equal length.
        """
        moduli = list(numbers)
        if len(moduli) != 1:
            raise ValueError(
                f"expected one odd Paillier modulus of {bits} bits, found {len(moduli)} numbers"
            )
        require_modulus(moduli[0], bits=bits)
        return cls(moduli[0])
