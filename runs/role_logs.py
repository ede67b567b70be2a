"""Where durable roles keep their logs: a role's place is made, found, and read by others."""

from __future__ import annotations

import platform
import secrets
import shutil
from collections.abc import Sequence
from typing import Final

import msgspec

from ..crypto.log_contents import LogContents
from ..crypto.role_log import RoleLog
from ..messages import UsageError, role_name
from ..parties import Schema
from .durable import DurableRole, derived_key
from .log_header import LogHeader, require_same
from .role_places import role_place, run_place
from .state_folder import make_private_folder, sync_folder, write_private

__all__ = ["find_role", "kept_schema", "make_role_place", "may_have_released", "missing_log"]

KEY_BYTES: Final = 32
SCHEMA: Final = "schema"


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
            partial / "log", key=derived_key(key, b"log"), header=msgspec.json.encode(header)
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

    That of a party which the starter has given up still counts as evidence if it is whole, and as
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
        log = RoleLog(folder / "log", key=derived_key(key, b"log"))
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
            log = LogContents(
                folder / "log", key=derived_key((folder / "key").read_bytes(), b"log")
            )
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
