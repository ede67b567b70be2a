"""A Paillier public key: the modulus, and how wide ciphertexts are."""

from __future__ import annotations

from dataclasses import dataclass

from phe import paillier as phe

from ..messages import BigInts

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
        """Read a key of the length that was agreed; anything else is a `ValueError`."""
        moduli = list(numbers)
        if len(moduli) != 1 or moduli[0].bit_length() != bits or not moduli[0] % 2:
            lengths = ", ".join(str(modulus.bit_length()) for modulus in moduli)
            raise ValueError(
                f"expected one odd Paillier modulus of {bits} bits, found {lengths or 'none'} bits"
            )
        return cls(moduli[0])
