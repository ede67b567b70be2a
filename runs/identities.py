"""The roles' key pairs in a folder, as PEM files.

Only party N's host holds `party-N.key`, and only the curator's host holds `curator.key`. Every role
holds `curator.pub` and all files `party-N.pub`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..crypto import Keypair, RandomTree
from ..messages import CURATOR, UsageError, role_name

__all__ = ["Credentials", "read_identities", "read_identity", "write_identity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a role has of its own beside its records: keys, and what they are bound to."""

    pair: Keypair | None = None
    """Its own key pair; without one it makes one for the run."""
    pinned: Mapping[int, bytes] = field(default_factory=dict)
    """The public identities of all roles, by rank, if they were given before the run."""
    job_digest: bytes = b""
    """The digest of the job that it was given."""
    hybrid: bool = False
    """Whether channels also need ML-KEM (`crypto.kem`)."""
    secret: int | None = field(default=None, repr=False)
    """Seed of its random streams where the job has none. Without it they are the operating
    system's.
    """


def write_identity(folder: Path, *, rank: int) -> tuple[Path, Path]:
    """Make a role's key pair. An existing one is not replaced."""
    private, public = folder / f"{_stem(rank)}.key", folder / f"{_stem(rank)}.pub"
    for path in (private, public):
        if path.exists():
            raise UsageError(
                f"expected no identity of {role_name(rank)} in {folder} yet, "
                f"found {path.name}: remove it first"
            )
    from cryptography.hazmat.primitives import serialization as pem

    pair = Keypair.new(RandomTree(None, role=rank).stream(phase="", purpose="identity"))
    key = pair.private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - the mode
            file.write(key)
        public.write_bytes(
            pair.private.public_key().public_bytes(
                pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo
            )
        )
    except OSError as error:
        if not isinstance(error, FileExistsError):  # another process has made them meanwhile
            for path in (private, public):
                with contextlib.suppress(OSError):
                    path.unlink()
        reason = "a file" if folder.is_file() else error.strerror
        raise UsageError(
            f"expected a folder that can be written at {folder}, found {reason}"
        ) from None
    return private, public


def read_identity(folder: str | None, *, rank: int, parties: int) -> Credentials:
    """Read one role's private key and all public keys. The process of the role calls it."""
    if folder is None:
        return Credentials()
    pinned = _read_public(Path(folder), parties=parties)
    return Credentials(pair=_read_private(Path(folder), rank=rank, pinned=pinned), pinned=pinned)


def read_identities(folder: str | None, *, parties: int) -> list[Credentials]:
    """Read the identities of all roles by rank, where all of them are in this process."""
    ranks = range(parties + 1)
    if folder is None:
        return [Credentials() for _ in ranks]
    pinned = _read_public(Path(folder), parties=parties)
    return [
        Credentials(pair=_read_private(Path(folder), rank=rank, pinned=pinned), pinned=pinned)
        for rank in ranks
    ]


def _read_private(folder: Path, *, rank: int, pinned: Mapping[int, bytes]) -> Keypair:
    path = folder / f"{_stem(rank)}.key"
    private = _load(path, rank=rank)
    if not isinstance(private, X25519PrivateKey):
        raise UsageError(f"expected an X25519 private key in {path}, found another kind")
    if pinned[rank] != private.public_key().public_bytes_raw():
        raise UsageError(
            f"expected {_stem(rank)}.key and {_stem(rank)}.pub in {folder} to be one key pair, "
            f"found a public key of another pair: copy {_stem(rank)}.pub from where both were made"
        )
    return Keypair(private)


def _read_public(folder: Path, *, parties: int) -> dict[int, bytes]:
    pinned: dict[int, bytes] = {}
    holders: dict[bytes, int] = {}
    for rank in range(parties + 1):
        path = folder / f"{_stem(rank)}.pub"
        public = _load(path, rank=rank)
        if not isinstance(public, X25519PublicKey):
            raise UsageError(f"expected an X25519 public key in {path}, found another kind")
        pinned[rank] = public.public_bytes_raw()
        holder = holders.setdefault(pinned[rank], rank)
        if holder != rank:
            raise UsageError(
                f"expected a key of its own for each role in {folder}, found the same one in "
                f"{_stem(holder)}.pub and {path.name}"
            )
    return pinned


def _stem(rank: int) -> str:
    """Name a role's files without their ending."""
    return "curator" if rank == CURATOR else f"party-{rank}"


def _way_out(path: Path, *, rank: int) -> str:
    """Say what to do about a file that cannot be read."""
    if os.path.isfile(path.parent):  # noqa: PTH113 - false for names that are too long
        return "give a folder, which `sottovoce identity` makes"
    option = "--curator" if rank == CURATOR else f"--party {rank}"
    command = f"`sottovoce identity {path.parent} {option}`"
    if path.suffix == ".key" and os.path.isfile(path.with_suffix(".pub")):  # noqa: PTH113
        return (
            f"it lies where {command} has made {path.stem}.pub, on the host of {role_name(rank)}; "
            f"if it is lost, remove {path.stem}.pub, make both again and copy the new one to all"
        )
    return (
        f"{command} makes it on the host of {role_name(rank)}, and {path.stem}.pub is copied to all"
    )


def _load(path: Path, *, rank: int) -> object:
    from cryptography.hazmat.primitives import serialization as pem

    try:
        data = path.read_bytes()
        if path.suffix == ".key":
            return pem.load_pem_private_key(data, password=None)
        return pem.load_pem_public_key(data)
    except OSError as error:
        raise UsageError(
            f"expected an identity at {path}, found {error.strerror}: {_way_out(path, rank=rank)}"
        ) from None
    except (ValueError, TypeError):
        raise UsageError(
            f"expected a PEM file of `sottovoce identity` at {path}, found something else"
        ) from None
