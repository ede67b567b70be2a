"""The parties' key pairs in a folder, as PEM files.

Only party N's host holds `party-N.key`. Every party holds all files `party-N.pub`.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..crypto import Keypair, RandomTree
from ..messages import UsageError

__all__ = ["read_identities", "write_identity"]


def write_identity(folder: Path, *, party: int) -> tuple[Path, Path]:
    """Make a party's key pair. An existing one is not replaced."""
    private, public = folder / f"party-{party}.key", folder / f"party-{party}.pub"
    for path in (private, public):
        if path.exists():
            raise UsageError(
                f"expected no identity of party {party} in {folder} yet, "
                f"found {path.name}: remove it first"
            )
    from cryptography.hazmat.primitives import serialization as pem

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
    """Read this party's private key and all public keys. A party's process calls it."""
    if folder is None:
        return None, {}
    private = _load(Path(folder) / f"party-{party}.key")
    if not isinstance(private, X25519PrivateKey):
        raise UsageError(
            f"expected an X25519 private key in {folder}/party-{party}.key, found another kind"
        )
    public_keys = {}
    for peer in range(1, parties + 1):
        public = _load(Path(folder) / f"party-{peer}.pub")
        if not isinstance(public, X25519PublicKey):
            raise UsageError(
                f"expected an X25519 public key in {folder}/party-{peer}.pub, found another kind"
            )
        public_keys[peer] = public.public_bytes_raw()
    if public_keys[party] != private.public_key().public_bytes_raw():
        raise UsageError(
            f"expected party-{party}.key and party-{party}.pub in {folder} to be one key pair, "
            "found another party's public key"
        )
    return Keypair(private), public_keys


def _load(path: Path) -> object:
    from cryptography.hazmat.primitives import serialization as pem

    try:
        data = path.read_bytes()
        if path.suffix == ".key":
            return pem.load_pem_private_key(data, password=None)
        return pem.load_pem_public_key(data)
    except OSError as error:
        raise UsageError(
            f"expected an identity at {path}, found {error.strerror}: "
            "`sottovoce identity` makes one"
        ) from None
    except (ValueError, TypeError):
        raise UsageError(
            f"expected a PEM file of `sottovoce identity` at {path}, found something else"
        ) from None
