"""The format of a role's log (`crypto.role_log`): its records, and the codes that protect them.

A file has a first line, `MAGIC`, and then records. Integers are little-endian:

    offset  bytes
         0      1   kind of the record
         1      1   0
         2      2   rank of the other role
         4      4   0
         8      8   length of the content
        16     16   random bytes
        32     16   first code
        48          content
                16  second code

*Codes.* The first one is HMAC-SHA256, cut to 16 bytes, of both codes of the record before and of
the head. The second one is GMAC of the content, under a key that HMAC-SHA256 derives from the same
bytes. The random bytes see to it that no such key is used twice. So no record can be changed,
moved, or taken from the middle without the role's key. GMAC takes a tenth of the time of a hash.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..messages.wire import Buffer

__all__ = ["CODE_BYTES", "HEAD", "HEAD_BYTES", "MAGIC", "RANDOM_BYTES", "LogCodes", "RecordKind"]

MAGIC: Final = b"sottovoce log 2\n"
CODE_BYTES: Final = 16
RANDOM_BYTES: Final = 16
NONCE_BYTES: Final = 12
HASH: Final = "sha256"
MAX_PIECE_BYTES: Final = 1 << 30
"""Bytes that GMAC takes at a time."""

HEAD: Final = struct.Struct("<BBHIQ16s")
HEAD_BYTES: Final = HEAD.size + CODE_BYTES
_EDGE: Final = struct.Struct("<HQ")


class RecordKind(IntEnum):
    """Kind of a record."""

    HEADER = 0
    """Whose log it is."""
    SENT = 1
    """Digest of a message's frame that left."""
    ARRIVED = 2
    """A message's frame that arrived."""
    RANDOM = 3
    """A result of randomness that follows from no stream of the role."""
    ATTEMPT = 4
    """The role begins, or goes on: the phase in which it does."""
    RESTART = 5
    """The role's log is opened once more, to go on."""
    PEERS = 6
    """Numbers of restarts of the logs of all roles, as each has sent them."""
    LOST = 7
    """Another role was lost, and this one went on without it: how much had arrived before."""
    AHEAD = 8
    """A frame that arrived ahead of a message (`messages.ahead`)."""
    LEFT_AHEAD = 9
    """A frame that left ahead of a message."""
    RELEASED = 10
    """A message may carry something of records from here on."""


class LogCodes:
    """The codes of a log under its role's key."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod=HASH)

    def of_head(self, chain: Buffer, head: Buffer) -> bytes:
        """Compute the first code of a record; `chain` has both codes of the record before."""
        return self._hmac(b"head", chain, head)[:CODE_BYTES]

    def of_content(self, chain: Buffer, head: Buffer, content: Sequence[Buffer]) -> bytes:
        """Compute the second code of a record."""
        return _gmac(self._hmac(b"content", chain, head), content)

    def of_frame(self, frame: Sequence[Buffer], number: int, *, to: int) -> bytes:
        """Digest a message's frame under the key: nobody else can confirm a guess of its content.

        Only one version of a message is ever digested and kept, so no key is used twice.
        """
        return _gmac(self._hmac(b"frame", _EDGE.pack(to, number)), frame)

    def _hmac(self, *pieces: Buffer) -> bytes:
        code = self._keyed.copy()
        for piece in pieces:
            code.update(piece)
        return code.digest()


def _gmac(key: bytes, content: Sequence[Buffer]) -> bytes:
    """Compute GMAC under a key that is used once."""
    cipher = Cipher(algorithms.AES256(key), modes.GCM(bytes(NONCE_BYTES))).encryptor()
    pieces: list[memoryview] = [memoryview(piece) for piece in content]
    for piece in pieces:
        for start in range(0, len(piece), MAX_PIECE_BYTES):
            cipher.authenticate_additional_data(piece[start : start + MAX_PIECE_BYTES])
    cipher.finalize()
    return cipher.tag
