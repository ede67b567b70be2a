"""Paillier against a second library, `pailliers`, with one key and in both directions.

phe is the referee elsewhere, but it also holds this project's keys. `pailliers` shares nothing with
either: plain Python, Carmichael's function instead of remainders modulo the factors, and no table
of powers.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Ciphertexts, Multiples
from sottovoce.crypto.paillier import Encryptor, Exponent, PrivateKey, new_key
from sottovoce.crypto.public_key import PublicKey
from sottovoce.messages import BigInts

pailliers: Any = pytest.importorskip(
    "pailliers", reason="the second library is not installed: pip install pailliers"
)

KEY = new_key(512, randomness=RandomStream(b"2" * 32))
HALF = KEY.public.n // 2
MESSAGES = [0, 1, -1, 2**64, -(2**64), 12345, HALF, -HALF]


def secret_of(key: PrivateKey) -> Any:
    """Write a key as theirs: lambda, its inverse modulo n, n, and the generator 1 + n."""
    n = key.public.n
    carmichael = math.lcm(key.p - 1, key.q - 1)
    return tuple.__new__(pailliers.secret, (carmichael, pow(carmichael, -1, n), n, n + 1))


SECRET = secret_of(KEY)
PUBLIC = pailliers.public(SECRET)


def centred(plain: int) -> int:
    """Read a number modulo n with its sign, as they do not."""
    return plain - KEY.public.n if plain > HALF else plain


def encryptor(exponent: Exponent = "half") -> Encryptor:
    return Encryptor(KEY.public, randomness=RandomStream(b"e" * 32), uses=20, exponent=exponent)


def theirs(messages: list[int]) -> Ciphertexts:
    """Encrypt with the other library, and receive the ciphertexts here."""
    numbers = [int(pailliers.encrypt(PUBLIC, message % KEY.public.n)) for message in messages]
    return Ciphertexts.received(
        KEY.public, BigInts.of(numbers, width=KEY.public.width), count=len(numbers)
    )


def opened(ciphertexts: Ciphertexts) -> list[int]:
    """Decrypt with the other library."""
    return [
        centred(int(pailliers.decrypt(SECRET, pailliers.cipher(int(number)))))
        for number in ciphertexts.numbers
    ]


@pytest.mark.parametrize("exponent", ["half", "full"])
def test_they_decrypt_what_is_encrypted_here(exponent: Exponent) -> None:
    assert opened(encryptor(exponent).encrypt(MESSAGES)) == MESSAGES


def test_what_they_encrypt_is_decrypted_here() -> None:
    assert KEY.decrypt(theirs(MESSAGES)) == MESSAGES


def test_sums_of_both_libraries_ciphertexts() -> None:
    ours = encryptor().encrypt([5, -7, 2**70])
    mixed = ours + theirs([10, 20, -(2**69)])
    assert KEY.decrypt(mixed) == opened(mixed) == [15, 13, 2**69]
    first, second = encryptor().encrypt([40]), theirs([-60])
    added = pailliers.add(
        PUBLIC, *(pailliers.cipher(int(row.numbers[0])) for row in (first, second))
    )
    assert centred(int(pailliers.decrypt(SECRET, added))) == -20
    received = BigInts.of([int(added)], width=KEY.public.width)
    assert KEY.decrypt(Ciphertexts.received(KEY.public, received, count=1)) == [-20]


def test_multiples_and_constants() -> None:
    assert opened(Multiples(theirs([7]), uses=3).of([0, 3, -5])) == [0, 21, -35]
    assert opened(encryptor().encrypt([1, 2]).plus([41, -2])) == [42, 0]
    multiple = pailliers.mul(PUBLIC, pailliers.cipher(int(encryptor().encrypt([6]).numbers[0])), 7)
    received = BigInts.of([int(multiple)], width=KEY.public.width)
    assert KEY.decrypt(Ciphertexts.received(KEY.public, received, count=1)) == [42]


def test_a_key_that_they_made() -> None:
    """Their generator is not 1 + n, so only the modulus is shared; n splits by lambda."""
    secret = pailliers.secret(128)
    carmichael, n = int(secret[0]), int(secret[2])
    p, q = factors(n, carmichael)
    key = PrivateKey(PublicKey(n), p, q)
    encrypting = Encryptor(key.public, randomness=RandomStream(b"f" * 32), uses=3, exponent="full")
    ciphertexts = encrypting.encrypt([3, -4])
    plain = tuple.__new__(pailliers.secret, (carmichael, pow(carmichael, -1, n), n, n + 1))
    for number, message in zip(ciphertexts.numbers, [3, -4], strict=True):
        assert int(pailliers.decrypt(plain, pailliers.cipher(int(number)))) == message % n
    assert key.decrypt(ciphertexts) == [3, -4]


def factors(n: int, carmichael: int) -> tuple[int, int]:
    """Split n: for most a, some a^(lambda / 2^k) is a root of 1 other than 1 and -1."""
    odd = carmichael >> ((carmichael & -carmichael).bit_length() - 1)
    for a in range(2, 200):
        root = pow(a, odd, n)
        while root not in {1, n - 1}:
            square = root * root % n
            if square == 1:
                p = math.gcd(root - 1, n)
                return p, n // p
            root = square
    raise AssertionError("expected a number that splits n")
