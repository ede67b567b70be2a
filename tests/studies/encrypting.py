"""A protocol that sends ciphertexts of its own, which the curator adds up."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Annotated, Final

import numpy as np

from sottovoce import (
    CIPHERTEXT,
    CURATOR,
    BigInts,
    Curator,
    Epsilon,
    Options,
    Outcome,
    Party,
    Protocol,
    message,
)
from sottovoce.crypto.ciphertexts import Ciphertexts
from sottovoce.crypto.paillier import Encryptor, new_key
from sottovoce.crypto.public_key import PublicKey
from sottovoce.protocols import Cost, Public
from sottovoce.protocols.cost import Hop

TURNS: Final = 2


class EncryptingOptions(Options):
    epsilon: Epsilon = 1.0
    copies: int = 5


class EncryptedCounts(Protocol[EncryptingOptions]):
    """Counts the first label of `sex`, `copies` times, each in a ciphertext, beside a digest.

    Then two parties send one more ciphertext each, the second after the first.
    """

    name = "encrypted-counts"
    summary = "a count"
    trust = "the curator"
    neighbours = "replace-one"
    needs_schema = True

    @message
    class Key:
        modulus: BigInts

    @message
    class Counts:
        cells: tuple[Annotated[BigInts, CIPHERTEXT], ...]

    @message
    class Digest:
        """Bytes that are marked as a ciphertext, and are none that could be added up."""

        digest: Annotated[bytes, CIPHERTEXT]

    @message
    class Next:
        place: int

    @message
    class InTurn:
        cell: Annotated[BigInts, CIPHERTEXT]

    def party(self, me: Party) -> None:
        with me.phase("key"):
            key = PublicKey(next(iter(me.receive(self.Key, source=CURATOR).modulus)))
        with me.phase("count"):
            count, copies = int(me.records.marginal(("sex",))[0]), self.parameters.copies
            encryptor = Encryptor(key, randomness=me.randomness("encryption"), uses=copies)
            rows = [encryptor.encrypt([count]).travel() for _ in range(copies)]
            me.send(self.Counts(tuple(rows)), to=CURATOR)
            me.send(self.Digest(bytes(4 * key.width)), to=CURATOR)
        if me.rank <= TURNS:
            with me.phase("turns"):
                me.receive(self.Next, source=CURATOR)
                me.send(self.InTurn(encryptor.encrypt([count]).travel()), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("key"):
            private = new_key(desk.key_bits, randomness=desk.randomness("key"))
            desk.broadcast(self.Key(private.public.travel()))
        with desk.phase("count"):
            rows = [
                [Ciphertexts.received(private.public, cell, count=1) for cell in counts.cells]
                for counts in desk.gather(self.Counts)
            ]
            desk.gather(self.Digest)
        with desk.phase("turns"):
            for turn in range(1, TURNS + 1):
                desk.send(self.Next(turn), to=turn)
                desk.receive(self.InTurn, source=turn)
        with desk.phase("result"):
            totals = [reduce(add, column) for column in zip(*rows, strict=True)]
            counts = np.array([private.decrypt(total) for total in totals])
            return Outcome(summary={"count": float(counts.mean())})

    def predict(self, public: Public) -> list[Cost]:
        """Predict the turns alone."""
        width = 2 * public.key_bits // 8
        next_one, cell = self.Next(1), self.InTurn(BigInts.of([1], width=width))
        turns = range(1, TURNS + 1)
        return [
            replace(
                Cost.of(sent, phase="turns", messages=TURNS),
                hops=tuple(Hop(senders=(a,), receivers=(b,)) for a, b in hops),
            )
            for sent, hops in (
                (next_one, [(CURATOR, turn) for turn in turns]),
                (cell, [(turn, CURATOR) for turn in turns]),
            )
        ]
