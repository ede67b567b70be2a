"""ML-KEM-768: lengths of FIPS 203, what is refused, and where the library lacks it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from sottovoce.crypto import RandomStream, kem

MODULE = "cryptography.hazmat.primitives.asymmetric.mlkem"


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    kem.is_available.cache_clear()
    yield
    kem.is_available.cache_clear()


def test_a_library_without_the_module_has_no_kem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)
    assert kem.is_available() is False


@pytest.mark.parametrize("has_it", [True, False])
def test_a_library_may_have_the_module_and_not_the_algorithm(
    monkeypatch: pytest.MonkeyPatch, has_it: bool
) -> None:
    """The library that it is built on decides, so one key is made from a seed of 64 bytes."""
    seeds = []

    def make(seed: bytes) -> object:
        seeds.append(len(seed))
        if not has_it:
            raise UnsupportedAlgorithm("absent")
        return object()

    module = SimpleNamespace(MLKEM768PrivateKey=SimpleNamespace(from_seed_bytes=make))
    monkeypatch.setitem(sys.modules, MODULE, module)
    assert kem.is_available() is has_it
    assert seeds == [64]


@pytest.mark.skipif(not kem.is_available(), reason="the library has no ML-KEM-768")
def test_lengths_are_those_of_the_standard() -> None:
    """FIPS 203 for k = 3: 384 k + 32 bytes of a key, and 32 (10 k + 4) of a ciphertext."""
    key = kem.KemKey(RandomStream(b"k" * 32))
    made = kem.encapsulate(key.public)
    assert (len(key.public), len(made.ciphertext)) == (384 * 3 + 32, 32 * (10 * 3 + 4))
    assert key.open(made.ciphertext) == made.secret
    assert len(made.secret) == 32
    assert made.secret.hex() not in repr(made)
    assert repr(made.secret) not in repr(made)
    assert repr(made) == "Encapsulated(1088 bytes)"
    assert kem.encapsulate(key.public).secret != made.secret
    for wrong in (made.ciphertext[1:], made.ciphertext + b"a", b""):
        with pytest.raises(ValueError, match="expected a ciphertext of 1088 bytes"):
            key.open(wrong)
    for wrong in (key.public[1:], key.public + b"a", b""):
        with pytest.raises(ValueError, match="expected a public key of 1184 bytes"):
            kem.encapsulate(wrong)
