"""Identities in a folder: `party-N.key`, which only party N's host holds, and `party-N.pub` of
everybody. PEM files.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..crypto import Keypair, RandomTree
from ..messages import UsageError

__all__ = ["read_identities", "write_identity"]


def write_identity(folder: Path, *, party: int) -> tuple[Path, Path]:
    """Make an identity; one that is there already is not replaced."""
    private, public = folder / f"party-{party}.key", folder / f"party-{party}.pub"
    for path in (private, public):
        if path.exists():
            raise UsageError(
                f"expected no identity of party {party} in {folder} yet, found {path.name}: remove it first"
            )
    pair = Keypair.new(RandomTree(None, role=party).stream(phase="", purpose="identity"))
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
        raise UsageError(
            f"expected a folder that can be written at {folder}, found {error.strerror}"
        ) from None
    return private, public


def read_identities(
    folder: str | None, *, party: int, parties: int
) -> tuple[Keypair | None, dict[int, bytes]]:
    """Read this party's own key and its peers' public ones. Called by a party's process."""
    if folder is None:
        return None, {}
    own = _load(Path(folder) / f"party-{party}.key")
    if not isinstance(own, X25519PrivateKey):
        raise UsageError(
            f"expected an X25519 private key in {folder}/party-{party}.key, found another kind"
        )
    pinned = {}
    for peer in range(1, parties + 1):
        public = _load(Path(folder) / f"party-{peer}.pub")
        if not isinstance(public, X25519PublicKey):
            raise UsageError(
                f"expected an X25519 public key in {folder}/party-{peer}.pub, found another kind"
            )
        pinned[peer] = public.public_bytes_raw()
    if pinned[party] != own.public_key().public_bytes_raw():
        raise UsageError(
            f"expected party-{party}.key and party-{party}.pub in {folder} to belong together, found another's"
        )
    return Keypair(own), pinned


def _load(path: Path) -> object:
    try:
        data = path.read_bytes()
        if path.suffix == ".key":
            return pem.load_pem_private_key(data, password=None)
        return pem.load_pem_public_key(data)
    except OSError as error:
        raise UsageError(
            f"expected an identity at {path}, found {error.strerror}: `sottovoce identity` makes one"
        ) from None
    except (ValueError, TypeError):
        raise UsageError(
            f"expected a PEM file of `sottovoce identity` at {path}, found something else"
        ) from None
