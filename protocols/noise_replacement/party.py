"""A party's side of noise replacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...messages import CURATOR, MessageError, Private
from ...privacy import Domain, coalition, with_curator
from ...privacy.loss import UNBOUNDED, Loss
from ...privacy.shares import SelectedNoise
from ..secure_sum import Family
from ..secure_sum.keys import KeyedParty
from .messages import NoiseReplacement
from .rounds import batch_of, by_owner, packing_of, read_ciphertexts, sum_out

__all__ = ["PartyReplacement"]

Counts = npt.NDArray[np.int64]


class PartyReplacement:
    """A party's side of noise replacement, under the key of the run."""

    def __init__(self, keyed_party: KeyedParty, *, domain: Domain) -> None:
        self._me = keyed_party.me
        self._domain = domain
        self._keyed_party = keyed_party
        self._noise: dict[Family, Counts] = {}

    def round(self, turn: int, *, count: Callable[[Family], Counts], epsilon: float) -> None:
        """Take part in the round in which it is party `turn`'s turn to count."""
        if turn == self._me.number:
            self._add(count, epsilon)
        elif turn > self._me.number:
            self._hand_over(turn)

    def _add(self, count: Callable[[Family], Counts], epsilon: float) -> None:
        me, keyed_party = self._me, self._keyed_party
        frontier = me.receive(NoiseReplacement.Frontier, source=CURATOR)
        shapes = [self._domain.shape(family) for family in frontier.families]
        batch = batch_of(
            sum(map(_size, shapes)),
            len(shapes),
            epsilon=epsilon,
            rows=frontier.bound,
            parties=len(me.parties),
        )
        packing = packing_of(frontier.bound, key_bits=keyed_party.key.bits)
        later = len(me.parties) - me.number
        # The printed claim is epsilon. In fact every later round replaces this noise, with these
        # records in the sum.
        losses = dict.fromkeys(("curator", "public"), Loss.pure((later + 1) * epsilon))
        if later:
            # P_K knows its noise, which is in what is published. A curator that colludes with any
            # later owner can remove that owner's noise from S, which has these records.
            losses |= {
                view(size): UNBOUNDED
                for size in range(1, len(me.parties))
                for view in (coalition, with_curator)
            }
        tables = (np.asarray(count(family)).reshape(-1) for family in frontier.families)
        released = me.release(
            SelectedNoise(pages=tables, batch=batch, seen=losses, name="replaced-laplace"),
            to=CURATOR,
        )
        noisy: list[Counts] = []
        for family, shape, (counts, noise) in zip(frontier.families, shapes, released, strict=True):
            self._noise[family] = noise.reshape(shape)
            noisy.append(counts + noise)
        encryptor = keyed_party.encryptor(uses=2 * packing.plaintexts(batch.cells))
        for owner, indices in by_owner(frontier.owners):
            cells = np.concatenate([noisy[index] for index in indices])
            fresh = encryptor.encrypt(packing.pack(cells))
            if owner:
                negated = me.receive(NoiseReplacement.Negated, source=owner)
                fresh = fresh + read_ciphertexts(
                    me, keyed_party.key, negated.cells, count=packing.plaintexts(len(cells))
                )
            me.send(NoiseReplacement.Replaced(fresh.travel()), to=CURATOR)

    def _hand_over(self, turn: int) -> None:
        me, keyed_party = self._me, self._keyed_party
        handover = me.receive(NoiseReplacement.Handover, source=CURATOR)
        if not handover.families:
            return
        for source in handover.sources:
            if source not in self._noise:
                raise MessageError(
                    "expected a family that this party counted, found ",
                    Private("*".join(source)),
                    where=me.where,
                )
        packing = packing_of(handover.bound, key_bits=keyed_party.key.bits)
        negated = [
            -sum_out(self._noise[source], family=family, source=source).reshape(-1)
            for family, source in zip(handover.families, handover.sources, strict=True)
        ]
        plain = packing.pack(np.concatenate(negated))
        encrypted = keyed_party.encryptor(uses=len(plain)).encrypt(plain)
        # This message is sealed, as the curator could decrypt it.
        me.send(NoiseReplacement.Negated(encrypted.travel()), to=turn)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
