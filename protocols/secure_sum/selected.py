"""Noise by selection, packed; mode paper, as it is not private against the parties
(`privacy.shares`).

Pathak, Rane and Raj, "Multiparty differential privacy via aggregation of locally trained
classifiers" (NIPS 2010).

    T        -> all      Enc(u_1), ..., Enc(u_K): u has a single 1, at a uniformly random place; one u a batch
    P_1      -> P_j      the seed of a permutation pi; sealed, as T must not know whose noise it is
    P_k      takes       c_k = Enc(u_pi(k))
    P_k      makes       z_k = c_k ^ pack(noise_k) * Enc(pack(counts_k))
    ring                 as in `ring`: T decrypts the sum of all counts and of the one noise for which u_pi(k) = 1

u_pi(k) is 0 or 1, so it multiplies the whole packed plaintext, slots and all. c_k ^ pack(noise_k)
by itself would be stale, and shows noise_k to whoever guesses it; the factor Enc(pack(counts_k)) is
made here, with a uniform randomiser, and hides both.

T is trusted with u. If it sends only zeros, nobody adds noise and T reads the exact sum: `shares`
leaves it no such choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ...crypto import Ciphertexts, Encryptor, RandomStream
from ...crypto.ciphertexts import Multiples
from ...crypto.paillier import Exponent
from ...curator import Curator
from ...messages import CURATOR, MessageError
from ...parties import Party
from ...privacy.shares import Batch, SelectedNoise
from .options import SecureSums
from .pages import recut
from .ring import PAGE, KeyHolder, RingParty, packing_of

__all__ = ["SelectingCurator", "SelectingParty", "permutation"]


Counts = npt.NDArray[np.int64]


def permutation(seed: bytes, *, parties: int) -> list[int]:
    """Shuffle 0 .. K-1 (Fisher and Yates) by the keystream of a seed, without bias."""
    stream = RandomStream(seed)
    order = list(range(parties))
    for last in range(parties - 1, 0, -1):
        other = stream.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


class SelectingParty(RingParty):
    """A party in the ring whose noise enters, or does not."""

    def __init__(self, me: Party) -> None:
        # Always r^n. What arrives at T is its own ciphertexts to powers that are the noise; only a
        # uniform randomiser hides those powers from T, which has the factors of n: if h were an
        # l-th power modulo p for a small l, T would read the noise modulo l off the product's l-th
        # power character.
        super().__init__(me, exponent="full")

    def contribute(
        self,
        tables: Iterable[npt.ArrayLike],
        batch: Batch,
        *,
        number: int,
        seen: Mapping[str, float],
    ) -> None:
        me, parties = self.me, batch.parties
        packing = packing_of(batch, shares=False, key_bits=self.key.bits)
        uses = packing.plaintexts(batch.cells)
        indicator = self._receive_indicator(number, parties=parties)
        order = permutation(self._agree_on_seed(), parties=parties)
        place = order[me.number - 1]
        multiples = Multiples(indicator[place : place + 1], uses=uses)
        encryptor = self.encryptor(uses=uses)
        pages = recut(tables, cells=batch.cells, size=PAGE * packing.slots)
        for page, (counts, noise) in enumerate(
            me.release(SelectedNoise(pages=pages, batch=batch, seen=seen), to=CURATOR)
        ):
            selected = multiples.of(packing.pack(noise), workers=me.workers)
            mine = selected + encryptor.encrypt(packing.pack(counts))
            self.pass_on(mine, packing=packing, batch=number, page=page, cells=len(counts))
            me.progress(page * PAGE * packing.slots + len(counts), of=batch.cells)

    def _receive_indicator(self, number: int, *, parties: int) -> Ciphertexts:
        said = self.me.receive(SecureSums.Indicator, source=CURATOR)
        if said.batch != number:
            raise MessageError(
                f"expected the indicator of batch {number}, found that of {said.batch}",
                where=self.me.where,
            )
        try:
            return Ciphertexts.received(self.key, said.encrypted, count=parties)
        except ValueError as error:
            raise MessageError(f"{error}, from the curator", where=self.me.where) from None

    def _agree_on_seed(self) -> bytes:
        me = self.me
        if me.number > 1:
            return me.receive(SecureSums.Permutation, source=1).seed
        seed = me.randomness("permutation").draw(32)
        me.broadcast(SecureSums.Permutation(seed), to=me.peers)
        return seed


class SelectingCurator(KeyHolder):
    """The curator, who says obliviously whose noise enters."""

    shares = False

    def __init__(self, desk: Curator, *, exponent: Exponent) -> None:
        super().__init__(desk)
        self._encryptor = Encryptor(
            self.private.public,
            randomness=desk.randomness("encryption"),
            uses=len(desk.parties),
            exponent=exponent,
        )

    def collect(self, batch: Batch, *, number: int) -> Iterator[Counts]:
        owner = self.desk.randomness("indicator").below(batch.parties)
        encrypted = self._encryptor.encrypt([int(place == owner) for place in range(batch.parties)])
        self.desk.broadcast(SecureSums.Indicator(number, encrypted.travel()))
        yield from super().collect(batch, number=number)
