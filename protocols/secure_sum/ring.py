"""The ring of mode paper: the running product passes from party to party.

    T        -> all      n
    P_1      -> P_2      z_1                    z_k hides P_k's counts (`selected`)
    P_k      -> P_(k+1)  z_1 * ... * z_k
    P_K      -> T        z_1 * ... * z_K        T decrypts the sum of all counts and of the noise

Who learns what. P_(k+1) sees a product under a key that it does not have. T has the key, so *a
partial product must never reach T*: it holds some parties' exact counts. So every hop between
parties is sealed (`introductions`). If T colludes with P_k, it learns the product of the first
k - 1 parties. The star (`star`) has no partial sum that means anything to anybody.

Each party multiplies fresh ciphertexts of its own into what it passes on. So a listener cannot
relate what a party sends to what it received. T decrypts the product and may compute its
randomiser. That is the product of fresh ones and depends on nobody's counts.

All this holds if every role follows the protocol. A party that raises the product to a power before
it passes it on gives others' counts more weight than their noise allows, and nobody notices
(docs/threat-model.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ...crypto.ciphertexts import Ciphertexts
from ...crypto.packing import Packing
from ...crypto.public_key import PublicKey
from ...messages import CURATOR, MessageError, Private, Role, role_name
from ...privacy.batch import Batch
from .keys import PAGE, KeyedParty, KeyHolder, packing_of
from .options import SecureSums
from .pages import await_window, open_window, page_sizes

__all__ = ["pass_on", "receive_product", "receive_total"]

Counts = npt.NDArray[np.int64]


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


def pass_on(
    keyed_party: KeyedParty,
    fresh: Ciphertexts,
    *,
    packing: Packing,
    batch: int,
    page: int,
    cells: int,
) -> None:
    """Multiply the predecessor's product by a party's ciphertexts, and pass it on.

    The last party's successor is the curator.
    """
    me, product = keyed_party.me, fresh
    if me.number > 1:
        open_window(me, page, senders=[me.rank - 1])
        product = fresh + receive_product(
            me,
            source=me.rank - 1,
            key=keyed_party.key,
            packing=packing,
            batch=batch,
            page=page,
            cells=cells,
        )
    successor = me.rank + 1 if me.number < len(me.parties) else CURATOR
    await_window(me, page, receiver=successor)
    # The next party gets it over a sealed channel; the curator gets only the product of all.
    me.send(SecureSums.Product(batch, page, packing.width, product.travel()), to=successor)


def receive_total(holder: KeyHolder, batch: Batch, *, number: int) -> Iterator[Counts]:
    """Receive the product of all parties, page by page, and decrypt it."""
    desk, key = holder.desk, holder.private.public
    packing = packing_of(batch, shares=False, key_bits=key.bits)
    done = 0
    for page, cells in enumerate(page_sizes(batch.cells, size=PAGE * packing.slots)):
        open_window(desk, page, senders=[len(desk.parties)])
        product = receive_product(
            desk,
            source=len(desk.parties),
            key=key,
            packing=packing,
            batch=number,
            page=page,
            cells=cells,
        )
        try:
            yield packing.unpack(holder.private.decrypt(product, workers=desk.workers), cells=cells)
        except OverflowError as error:
            raise MessageError(
                f"{error}: a party's counts exceed its rows, or noise its bound",
                where=desk.where,
            ) from None
        done += cells
        desk.progress(done, of=batch.cells)
