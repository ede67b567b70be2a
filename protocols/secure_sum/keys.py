"""The Paillier key of a run: the curator makes it, and every party encrypts under it."""

from __future__ import annotations

from typing import Final

from ...crypto.modulus_proof import prove, proven_key
from ...crypto.packing import Packing
from ...crypto.paillier import Encryptor, Exponent, new_key
from ...curator import Curator
from ...messages import CURATOR, MessageError, Private, UsageError
from ...parties import Party
from ...privacy.batch import Batch
from .options import SecureSums

__all__ = ["PAGE", "KeyHolder", "KeyedParty", "packing_of"]

PAGE: Final = 256
"""Ciphertexts on a page: while a party works on one, the next role works on the one before."""


SPARE_BITS: Final = 64
"""Bits of a masked plaintext that are zero in every sum."""


def packing_of(batch: Batch, *, shares: bool, key_bits: int) -> Packing:
    """Choose slots with room for the rows and the noise of a batch. All roles compute the same.

    Plaintexts with shares carry masks. They leave `SPARE_BITS` unused, so that masks that do not
    cancel look like a sum with a probability of at most 2**-64 for each plaintext.
    """
    spare = SPARE_BITS if shares else 0
    try:
        return Packing.fitting(batch.bound(shares=shares), key_bits=key_bits - spare)
    except ValueError as error:
        raise UsageError(str(error)) from None


class KeyedParty:
    """A party that has received the curator's modulus."""

    def __init__(self, me: Party, *, exponent: Exponent) -> None:
        self.me = me
        received = me.receive(SecureSums.EncryptionKey, source=CURATOR)
        try:
            self.key = proven_key(
                received.modulus, received.proof, bits=me.key_bits, context=me.job_digest
            )
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


class KeyHolder:
    """The curator with its private key."""

    def __init__(self, desk: Curator) -> None:
        self.desk = desk
        self.private = new_key(desk.key_bits, randomness=desk.randomness("paillier key"))
        proof = prove(self.private, context=desk.job_digest)
        desk.broadcast(SecureSums.EncryptionKey(self.private.public.travel(), proof))
