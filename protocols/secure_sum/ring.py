"""The ring: the running product under the curator's Paillier key passes from party to party.

    T        -> all      n
    P_1      -> P_2      z_1                    z_k = Enc(pack(counts_k + share_k))
    P_k      -> P_(k+1)  z_1 * ... * z_k
    P_K      -> T        z_1 * ... * z_K        T decrypts: the sum of all counts and all shares

Who learns what. P_(k+1) sees a product under a key that it does not have. T has the key, so *a
partial product must never reach T*: it holds some parties' exact counts with less than the full
noise. So every hop between parties is sealed (`introductions`). If T colludes with P_k, it learns
the product of the first k - 1 parties; `masks` protects against that.

Each party multiplies fresh ciphertexts of its own into what it passes on. So a listener cannot
relate what a party sends to what it received. T decrypts the product and may compute its
randomiser. That is the product of fresh ones and depends on nobody's counts.

All this holds if every role follows the protocol. A party that raises the product to a power before
it passes it on gives others' counts more weight than their noise allows, and nobody notices
(docs/threat-model.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto.ciphertexts import Ciphertexts
from ...crypto.packing import Packing
from ...crypto.paillier import Encryptor, Exponent, new_key
from ...crypto.public_key import PublicKey
from ...curator import Curator
from ...messages import CURATOR, MessageError, Private, Role, UsageError, role_name
from ...parties import Party
from ...privacy.shares import Batch, SharedLaplace
from ..introductions import introduce
from .options import SecureSums
from .pages import await_window, open_window, page_sizes, recut

__all__ = ["PAGE", "KeyHolder", "RingParty", "packing_of", "receive_product"]

Counts = npt.NDArray[np.int64]

PAGE: Final = 256
"""Ciphertexts on a page: a party works on one while the next works on the one before."""


def packing_of(batch: Batch, *, shares: bool, key_bits: int) -> Packing:
    """Choose slots with room for the rows and the noise of a batch. All roles compute the same."""
    try:
        return Packing.fitting(batch.bound(shares=shares), key_bits=key_bits)
    except ValueError as error:
        raise UsageError(str(error)) from None


def receive_product(
    role: Role, *, source: int, key: PublicKey, packing: Packing, batch: int, page: int, cells: int
) -> Ciphertexts:
    """Receive a page of the running product, of the expected batch and packing."""
    product = role.receive(SecureSums.Product, source=source)
    expected = (batch, page, packing.width)
    if (received := (product.batch, product.page, product.width)) != expected:
        raise MessageError(
            f"expected batch, page and slot width {expected} from {role_name(source)}, "
            f"found {received}: do all roles run the same sottovoce with the same parameters?",
            where=role.where,
        )
    try:
        return Ciphertexts.received(key, product.cells, count=packing.plaintexts(cells))
    except ValueError as error:
        raise MessageError(
            Private(error), f", from {role_name(source)}", where=role.where
        ) from None


class RingParty:
    """A party's side in the ring."""

    def __init__(self, me: Party, *, exponent: Exponent) -> None:
        self.me = me
        introduce(me, others=me.others)
        modulus = me.receive(SecureSums.EncryptionKey, source=CURATOR).modulus
        try:
            self.key = PublicKey.received(modulus, bits=me.key_bits)
        except ValueError as error:
            raise MessageError(Private(error), ", from the curator", where=me.where) from None
        self._exponent = exponent
        self._encryptor: Encryptor | None = None
        self._uses = 0

    def encryptor(self, *, uses: int) -> Encryptor:
        """Give this party's encryptor.

        Its table of powers serves all batches; a new one is made for a batch that is much larger.
        """
        if self._encryptor is None or uses > 8 * self._uses:
            self._uses = uses
            self._encryptor = Encryptor(
                self.key,
                randomness=self.me.randomness("encryption"),
                uses=uses,
                exponent=self._exponent,
                workers=self.me.workers,
            )
        return self._encryptor

    def contribute(
        self,
        tables: Iterable[npt.ArrayLike],
        batch: Batch,
        *,
        number: int,
        seen: Mapping[str, float],
    ) -> None:
        packing = packing_of(batch, shares=True, key_bits=self.key.bits)
        encryptor = self.encryptor(uses=packing.plaintexts(batch.cells))
        pages = recut(tables, cells=batch.cells, size=PAGE * packing.slots)
        noisy = self.me.release(SharedLaplace(pages=pages, batch=batch, seen=seen), to=CURATOR)
        for page, cells in enumerate(noisy):
            fresh = encryptor.encrypt(packing.pack(cells))
            self.pass_on(fresh, packing=packing, batch=number, page=page, cells=len(cells))
            self.me.progress(page * PAGE * packing.slots + len(cells), of=batch.cells)

    def pass_on(
        self, fresh: Ciphertexts, *, packing: Packing, batch: int, page: int, cells: int
    ) -> None:
        """Multiply the predecessor's product by this party's ciphertexts, and pass it on.

        The last party's successor is the curator.
        """
        me, product = self.me, fresh
        if me.number > 1:
            open_window(me, page, senders=[me.rank - 1])
            product = fresh + receive_product(
                me,
                source=me.rank - 1,
                key=self.key,
                packing=packing,
                batch=batch,
                page=page,
                cells=cells,
            )
        successor = me.rank + 1 if me.number < len(me.parties) else CURATOR
        await_window(me, page, receiver=successor)
        # The next party gets it over a sealed channel; the curator gets only the product of all.
        me.send(SecureSums.Product(batch, page, packing.width, product.travel()), to=successor)


class KeyHolder:
    """The curator's side: it makes the key and decrypts the product of all parties."""

    shares = True

    def __init__(self, desk: Curator) -> None:
        self.desk = desk
        introduce(desk, others=desk.others)
        self.private = new_key(desk.key_bits, randomness=desk.randomness("paillier key"))
        desk.broadcast(SecureSums.EncryptionKey(self.private.public.travel()))

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        desk = self.desk
        packing = packing_of(batch, shares=self.shares, key_bits=self.private.public.bits)
        done = 0
        for page, cells in enumerate(page_sizes(batch.cells, size=PAGE * packing.slots)):
            open_window(desk, page, senders=[len(desk.parties)])
            product = receive_product(
                desk,
                source=len(desk.parties),
                key=self.private.public,
                packing=packing,
                batch=number,
                page=page,
                cells=cells,
            )
            try:
                yield packing.unpack(
                    self.private.decrypt(product, workers=desk.workers), cells=cells
                )
            except OverflowError as error:
                raise MessageError(
                    f"{error}: a party's counts exceed its rows, or noise its bound",
                    where=desk.where,
                ) from None
            done += cells
            desk.progress(done, of=batch.cells)
