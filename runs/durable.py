"""Durable roles: each keeps a log in its own place, so that a lost run can go on.

The place of a role is a folder on its host that only its user can read. It has two files:

- `key`: 32 bytes from the operating system. The role's random streams follow from it, unless the
  job has a seed, and so does the key of the codes in the log.
- `log`: what the role sent and received (`crypto.role_log`).

The curator's place has another one, `conclusion`, when all roles have ended. Key and log are on the
disk before the role sends anything. So a role that is started again has the same streams, and draws
nothing anew. The folder is removed when the run has succeeded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ..crypto import IdentifiedRole
from ..crypto.durable import DurableWire
from ..crypto.kem import Encapsulated, encapsulate
from ..crypto.role_log import RecordKind, RoleLog
from ..messages import CURATOR, MisuseError, Wire
from ..parties import Party
from .kept_record import pack_record, read_record
from .log_header import LogHeader
from .lost_parties import LostParties
from .record import RunRecord
from .role_places import remove_place
from .state_folder import keep_private

__all__ = ["DurableRole", "derived_key"]

CONCLUSION: Final = "conclusion"
SECRET_BYTES: Final = 32
"""Bytes of a secret of ML-KEM."""


class DurableRole:
    """One role's place: its log, and what follows from its key."""

    def __init__(
        self,
        folder: Path,
        header: LogHeader,
        *,
        key: bytes,
        log: RoleLog,
        is_resumed: bool = False,
    ) -> None:
        self.log = log
        self.is_resumed = is_resumed
        """Whether the log is of an earlier attempt."""
        self.secret = int.from_bytes(derived_key(key, b"streams"), "little")
        """Seed of the role's random streams where the job has none."""
        self._folder = folder
        self._rank = header.rank
        self._is_own = header.is_own
        self._connected: DurableWire | None = None

    def connect(
        self,
        wire: Wire,
        *,
        received: Mapping[int, int],
        digests: Mapping[int, bytes],
        lost: LostParties,
    ) -> Wire:
        """Put the log between a role and its wire.

        Args:
            wire: the role's end of the transport.
            received: how many of this role's messages each other role has in its log.
            digests: of all these messages, by role, where it has sent one.
            lost: parties without which some role has gone on.
        """
        is_party = self._rank != CURATOR
        connected = DurableWire(
            wire,
            self.log,
            received=received,
            digests=digests,
            lost=lost.ranks,
            released={} if is_party else lost.released,
            goes_on=lost.goes_on,
            fewest=lost.fewest,
            syncs=is_party or lost.goes_on,
            syncs_all=is_party and not self._is_own,
        )
        self._connected = connected
        return connected

    def begin(self, role: IdentifiedRole, *, releases_all: bool) -> None:
        """Note that the role begins or goes on. All roles have their places by now.

        With `releases_all` a party accounts for everything before it leaves.
        """
        role.encapsulator = self.encapsulate
        if self._connected is not None:
            role.call_when_acting(self._connected.note_acting)
            if not isinstance(role, Party):
                self._connected.has_released = lambda: False
            elif self._is_own and releases_all:
                self._connected.has_released = lambda: bool(role.accountant.releases)
        self.log.begin(lambda: role.current_phase)

    def encapsulate(self, public: bytes) -> Encapsulated:
        """Draw a secret of ML-KEM, or give that of an earlier attempt once more.

        It is on the disk before its ciphertext is sent, as no stream of the role repeats it.

        Raises:
            ValueError: these bytes are no public key.
            MisuseError: the earlier attempt drew it for another key.
        """
        owner = hashlib.sha256(public).digest()
        logged = self.log.next_random()
        if logged is None:
            drawn = encapsulate(public)
            self.log.append(RecordKind.RANDOM, [owner, drawn.secret, drawn.ciphertext], sync=True)
            return drawn
        if logged[: len(owner)] != owner:
            raise MisuseError("expected the public key of the earlier attempt, found another")
        rest = logged[len(owner) :]
        return Encapsulated(rest[:SECRET_BYTES], rest[SECRET_BYTES:])

    def note_lost(self, lost: Collection[int]) -> None:
        """Note on the disk that parties stay lost, this one among them, for all later attempts.

        Its own log goes on no more. It is a witness of what all ranks have agreed on now.

        Raises:
            ConversationError: it cannot be written.
        """
        for party in sorted(set(lost) - self.log.lost):
            self.log.note_loss(party, before=self.log.frames, order=self.log.losses)
            self.log.lost.add(party)
        self.log.sync()

    def conclude(self, record: RunRecord) -> None:
        """Write down the record of the run, before any other role may remove its log.

        It has a file of its own. What arrived need not be on the disk for it.

        Raises:
            ConversationError: it cannot be written.
        """
        keep_private(self._folder / CONCLUSION, pack_record(record))

    @property
    def conclusion(self) -> RunRecord | None:
        """The record of the run, if an earlier attempt came so far."""
        return read_record(self._folder / CONCLUSION)

    def close(self) -> None:
        """Let nothing more be written, as the run has failed."""
        self.log.close()

    def remove(self) -> None:
        """Remove the role's place, as the run has succeeded."""
        self.log.close()
        remove_place(self._folder)


def derived_key(key: bytes, purpose: bytes) -> bytes:
    """Derive the key of a purpose from a role's key."""
    return hashlib.blake2b(purpose, key=key, digest_size=32).digest()
