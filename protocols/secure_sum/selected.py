"""Noise by selection: one party's noise enters the sum, and the curator cannot tell whose.

It is mode paper, as it is not private against the parties (`privacy.shares`). Source: Pathak, Rane
and Raj, "Multiparty differential privacy via aggregation of locally trained classifiers" (NIPS
2010).

    T     -> all    Enc(u_1), ..., Enc(u_K): u has a single 1, at a uniformly random place,
                    and every batch has its own u
    P_1   -> P_j    the seed of a permutation pi; sealed, as T must not know whose noise it is
    P_k   takes     c_k = Enc(u_pi(k))
    P_k   makes     z_k = c_k ^ pack(noise_k) * Enc(pack(counts_k))
    ring            as in `ring`: T decrypts the sum of all counts and of the one noise for which
                    u_pi(k) = 1

u_pi(k) is 0 or 1, so it multiplies the whole packed plaintext with all its slots.
c_k ^ pack(noise_k) alone is a function of c_k and noise_k, so an adversary could test a guess of
noise_k. The factor Enc(pack(counts_k)) has a fresh uniform randomiser and hides both.

T is trusted with u. If it sent only zeros, nobody's noise would enter and T would read the exact
sum. With `shares` T has no such choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ...crypto import RandomStream
from ...crypto.ciphertexts import Ciphertexts, Multiples
from ...crypto.paillier import Encryptor, Exponent
from ...curator import Curator
from ...messages import CURATOR, MessageError, Private
from ...parties import Party
from ...privacy.batch import Batch
from ...privacy.shares import SelectedNoise
from .addend import Addend
from .graph import shuffle
from .keys import PAGE, KeyedParty, KeyHolder, packing_of
from .options import SecureSums
from .pages import recut
from .ring import pass_on, receive_total

__all__ = ["SelectingCurator", "SelectingParty"]


Counts = npt.NDArray[np.int64]


class SelectingParty(KeyedParty):
    """A party's side in the ring; its noise may be the one that enters."""

    def __init__(self, me: Party) -> None:
        # The randomiser is always r^n. T receives its own ciphertexts raised to the noise, and only
        # a uniform randomiser hides these exponents from T, which knows the factors of n. If h were
        # an l-th power modulo p for a small l, the product's l-th power character would show T the
        # noise modulo l.
        super().__init__(me, exponent="full")

    def contribute(self, addends: Sequence[Addend], *, number: int) -> None:
        """Pass the batches round the ring, one after another."""
        for index, addend in enumerate(addends):
            self._contribute(addend, number=number + index)

    def _contribute(self, addend: Addend, *, number: int) -> None:
        me, batch = self.me, addend.batch
        parties = batch.parties
        packing = packing_of(batch, shares=False, key_bits=self.key.bits)
        uses = packing.plaintexts(batch.cells)
        indicator = self._receive_indicator(number, parties=parties)
        order = shuffle(RandomStream(self._agree_on_seed()), size=parties)
        place = order[me.number - 1]
        multiples = Multiples(indicator[place : place + 1], uses=uses)
        encryptor = self.encryptor(uses=uses)
        pages = recut(addend.tables, cells=batch.cells, size=PAGE * packing.slots)
        mechanism = SelectedNoise(pages=pages, batch=batch, seen=addend.seen)
        for page, (counts, noise) in enumerate(me.release(mechanism, to=CURATOR, of=addend.part)):
            selected = multiples.of(packing.pack(noise), workers=me.workers)
            fresh = selected + encryptor.encrypt(packing.pack(counts))
            pass_on(self, fresh, packing=packing, batch=number, page=page, cells=len(counts))
            me.progress(page * PAGE * packing.slots + len(counts), of=batch.cells)

    def _receive_indicator(self, number: int, *, parties: int) -> Ciphertexts:
        indicator = self.me.receive(SecureSums.Indicator, source=CURATOR)
        if indicator.batch != number:
            raise MessageError(
                f"expected the indicator of batch {number}, found that of {indicator.batch}",
                where=self.me.where,
            )
        try:
            return Ciphertexts.received(self.key, indicator.encrypted, count=parties)
        except ValueError as error:
            raise MessageError(Private(error), ", from the curator", where=self.me.where) from None

    def _agree_on_seed(self) -> bytes:
        me = self.me
        if me.number > 1:
            return me.receive(SecureSums.Permutation, source=1).seed
        seed = me.randomness("permutation").draw(32)
        me.broadcast(SecureSums.Permutation(seed), to=me.peers)
        return seed


class SelectingCurator(KeyHolder):
    """The curator's side: it places the 1 without learning whose noise it selects."""

    def __init__(self, desk: Curator, *, exponent: Exponent) -> None:
        super().__init__(desk)
        self._encryptor = Encryptor(
            self.private.public,
            randomness=desk.randomness("encryption"),
            uses=len(desk.parties),
            exponent=exponent,
        )

    def collect(self, batches: Sequence[Batch], *, number: int) -> Iterator[Counts]:
        for index, batch in enumerate(batches):
            yield from self._collect(batch, number=number + index)

    def _collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        owner = self.desk.randomness("indicator").below(batch.parties)
        encrypted = self._encryptor.encrypt([int(place == owner) for place in range(batch.parties)])
        self.desk.broadcast(SecureSums.Indicator(number, encrypted.travel()))
        yield from receive_total(self, batch, number=number)
