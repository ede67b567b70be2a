"""Masks under encryption: packed plaintexts are added modulo n, under the curator's Paillier key.

    P_k -> T    z_k = Enc(pack(counts_k + share_k) + masks_k modulo n)
    T           decrypts z_1 * ... * z_K once: the masks cancel, and what is left is the packed sum

A mask is a number of |n| + 128 bits of the keystream modulo n, so its distance from a uniform one
is below 2**-128. The decryption of any product of ciphertexts but that of all parties' is uniform
modulo n, whatever else the curator and a listener hold. So no partial sum means anything to
anybody.

The curator may have made n as it likes: the masks are uniform modulo any n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from gmpy2 import mpz

from ...crypto.ciphertexts import Ciphertexts
from ...crypto.packing import Packing
from ...crypto.paillier import PrivateKey
from ...messages import WorkKind, count_work
from ...privacy.batch import Batch
from .keys import PAGE, KeyedParty, KeyHolder, packing_of
from .options import SecureSums
from .star import Mask

__all__ = ["HiddenPlaintexts", "RevealedPlaintexts", "hide_modulo"]

Counts = npt.NDArray[np.int64]

EXTRA_BYTES: Final = 16
"""Bytes of a mask beyond those of n, so that its remainder modulo n is close to uniform."""


def hide_modulo(plaintexts: Sequence[int], masks: Sequence[Mask], *, n: int) -> list[int]:
    """Add the masks to plaintexts modulo n; the results are from -n/2 to n/2."""
    size = -(-n.bit_length() // 8) + EXTRA_BYTES
    totals = [mpz(plaintext) for plaintext in plaintexts]
    count_work(WorkKind.MASK, size * len(totals) * len(masks))
    for mask in masks:
        octets = mask.stream.draw(size * len(totals))
        for index in range(len(totals)):
            word = int.from_bytes(octets[size * index : size * (index + 1)], "little")
            totals[index] += mask.sign * word
    reduced = [int(total % n) for total in totals]
    return [number - n if number > n // 2 else number for number in reduced]


@dataclass(frozen=True)
class HiddenPlaintexts:
    """One batch of a party: packed, masked and encrypted."""

    keyed_party: KeyedParty
    packing: Packing
    plaintexts: int

    @classmethod
    def of(cls, batch: Batch, keyed_party: KeyedParty) -> HiddenPlaintexts:
        packing = packing_of(batch, shares=True, key_bits=keyed_party.key.bits)
        return cls(keyed_party, packing, packing.plaintexts(batch.cells))

    @property
    def page_cells(self) -> int:
        return PAGE * self.packing.slots

    def hide(
        self, cells: Counts, masks: Sequence[Mask], *, batch: int, page: int
    ) -> SecureSums.Encrypted:
        """Pack the cells, add the masks modulo n, and encrypt."""
        hidden = hide_modulo(self.packing.pack(cells), masks, n=self.keyed_party.key.n)
        fresh = self.keyed_party.encryptor(uses=self.plaintexts).encrypt(hidden)
        return SecureSums.Encrypted(batch, page, self.packing.width, fresh.travel())


@dataclass(frozen=True)
class RevealedPlaintexts:
    """One batch of the curator: it multiplies all parties' ciphertexts and decrypts once."""

    private: PrivateKey
    packing: Packing
    workers: int

    kind: ClassVar = SecureSums.Encrypted

    @classmethod
    def of(cls, batch: Batch, holder: KeyHolder) -> RevealedPlaintexts:
        packing = packing_of(batch, shares=True, key_bits=holder.private.public.bits)
        return cls(holder.private, packing, holder.desk.workers)

    @property
    def page_cells(self) -> int:
        return PAGE * self.packing.slots

    def reveal(
        self, pages: Sequence[SecureSums.Encrypted], *, cells: int, own_masks: Sequence[Mask] = ()
    ) -> Counts:
        """Decrypt the product of all parties' ciphertexts, and add own masks modulo n."""
        for page in pages:
            if page.width != self.packing.width:
                raise ValueError(
                    f"expected a slot width of {self.packing.width} bits, found {page.width}"
                )
        product = reduce(
            add,
            (
                Ciphertexts.received(
                    self.private.public, page.cells, count=self.packing.plaintexts(cells)
                )
                for page in pages
            ),
        )
        try:
            plaintexts = self.private.decrypt(product, workers=self.workers)
            if own_masks:
                plaintexts = hide_modulo(plaintexts, own_masks, n=self.private.public.n)
            return self.packing.unpack(plaintexts, cells=cells)
        except OverflowError as error:
            raise ValueError(
                f"{error}: masks do not cancel, a party's counts exceed its rows, or noise its "
                "bound"
            ) from None
