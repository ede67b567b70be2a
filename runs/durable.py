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
import platform
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ..crypto import IdentifiedRole
from ..crypto.durable import DurableWire
from ..crypto.kem import Encapsulated, encapsulate
from ..crypto.log_contents import LogContents
from ..crypto.role_log import RecordKind, RoleLog
from ..messages import CURATOR, MisuseError, UsageError, Wire, role_name
from ..parties import Party, Schema
from .kept_record import pack_record, read_record
from .log_header import LogHeader, require_same
from .lost_parties import LostParties
from .record import RunRecord
from .role_places import remove_place, role_place, run_place
from .state_folder import keep_private, make_private_folder, sync_folder, write_private

__all__ = [
    "DurableRole",
    "find_role",
    "kept_schema",
    "make_role_place",
    "may_have_released",
    "missing_log",
]

KEY_BYTES: Final = 32
CONCLUSION: Final = "conclusion"
SCHEMA: Final = "schema"
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
        self.secret = int.from_bytes(_derive(key, b"streams"), "little")
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


def make_role_place(header: LogHeader, *, schema: Schema | None = None) -> DurableRole:
    """Draw a role's key, and write key and log onto the disk.

    The folder appears when both are complete. One without a log is replaced: the caller has made
    sure that no role has sent anything. A schema that was inferred from the tables of all parties
    is kept beside them, as it cannot be inferred again without one of these.

    Raises:
        UsageError: the folder cannot be written.
    """
    folder = role_place(header.run, header.rank)
    partial = folder.with_name(f".{folder.name}")
    key = secrets.token_bytes(KEY_BYTES)
    try:
        make_private_folder(folder.parent)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        write_private(partial / "key", key)
        if schema is not None and schema.inferred:
            write_private(partial / SCHEMA, msgspec.json.encode(schema))
        log = RoleLog.create(
            partial / "log", key=_derive(key, b"log"), header=msgspec.json.encode(header)
        )
        if not (folder / "log").exists():
            shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise UsageError(
            f"expected a folder for the log of a durable run at {folder}, found "
            f"{error.strerror}: set SOTTOVOCE_STATE on the host of {role_name(header.rank)}, or "
            "say --no-durable"
        ) from None
    log.path = folder / "log"
    return DurableRole(folder, header, key=key, log=log)


def find_role(header: LogHeader, *, is_given_up: bool = False) -> DurableRole | None:
    """Open the log that a role left; `None` if there is none.

    That of a party which the starter has given up is a witness still if it is whole, and counts as
    gone otherwise. Nobody has read the table of such a party.

    Raises:
        UsageError: it was changed, or is of another version, job or table, or its key is missing.
    """
    try:
        return _open_role(header, reads_table=not is_given_up)
    except UsageError:
        if is_given_up:
            return None
        raise


def kept_schema(run: str, rank: int) -> Schema | None:
    """Read the schema that was inferred when a run began, from the place of a role.

    Raises:
        UsageError: it was changed.
    """
    path = role_place(run, rank) / SCHEMA
    try:
        return msgspec.json.decode(path.read_bytes(), type=Schema)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise UsageError(
            f"expected the schema of run {run} in {path}, found something else: restore it"
        ) from None


def _open_role(header: LogHeader, *, reads_table: bool) -> DurableRole | None:
    folder = role_place(header.run, header.rank)
    if not (folder / "log").exists():
        return None
    try:
        key = (folder / "key").read_bytes()
        if len(key) != KEY_BYTES:
            raise UsageError(
                f"expected a key of {KEY_BYTES} bytes in {folder}, found another: restore it, "
                "or start a new run"
            )
        log = RoleLog(folder / "log", key=_derive(key, b"log"))
    except OSError as error:
        raise UsageError(
            f"expected key and log of {role_name(header.rank)} in {folder}, found "
            f"{error.strerror}: restore them, or start a new run"
        ) from None
    try:
        require_same(log, header, reads_table=reads_table)
    except UsageError:
        log.close()
        raise
    return DurableRole(folder, header, key=key, log=log, is_resumed=True)


def may_have_released(run: str) -> bool:
    """Tell whether a party on this host may have released something, by what its log says.

    A log that cannot be read does not say that nothing has left.
    """
    for folder in run_place(run).glob("party-*"):
        try:
            log = LogContents(folder / "log", key=_derive((folder / "key").read_bytes(), b"log"))
            log.read_records()
        except FileNotFoundError:
            continue  # There is no log before there is its key, nor a key without its log.
        except (OSError, UsageError):
            return True
        if log.has_released:
            return True
    return False


def missing_log(
    run: str, ranks: Sequence[int], *, hosts: Sequence[str] = (), can_be_given_up: bool = False
) -> UsageError:
    """Make the error for roles whose logs are missing, though the run had begun.

    If they can be given up, the line says so (`lost_parties.can_be_given_up`).
    """
    names = " and ".join(
        f"{role_name(rank)} on {host}"
        for rank, host in zip(ranks, hosts or [platform.node()] * len(ranks), strict=True)
    )
    options = " ".join(f"--without {rank}" for rank in ranks)
    without = f"or say {options}, if that is gone for good; " if can_be_given_up else ""
    return UsageError(
        f"expected the logs of all roles of run {run}, found none of {names}: start each role on "
        "its host of before, with the same SOTTOVOCE_STATE; or move its folder there, into "
        f"durable/{run} of its state; {without}or start a new run"
    )


def _derive(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(purpose, key=key, digest_size=32).digest()
