"""Paillier: phe is the referee in both directions, and the specification's numbers."""

from __future__ import annotations

import math
import pickle
from typing import Any

import gmpy2
import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Ciphertexts, Multiples
from sottovoce.crypto.fixed_base import FixedBase, power_steps
from sottovoce.crypto.paillier import Encryptor, Exponent, PrivateKey, expected_candidates, new_key
from sottovoce.crypto.public_key import PublicKey
from sottovoce.messages import BigInts, MisuseError, UsageError, WorkKind, WorkMeter, metered
from sottovoce.runs.job import Job

KEY = new_key(512, randomness=RandomStream(b"k" * 32))
TOY = PrivateKey(PublicKey(293 * 433), 293, 433)
EXTREMES = [0, 1, -1, 12345, -(KEY.public.n // 2), KEY.public.n // 2]


def encryptor(exponent: Exponent = "half", *, workers: int = 1, salt: bytes = b"e") -> Encryptor:
    return Encryptor(
        KEY.public, randomness=RandomStream(salt * 32), uses=20, exponent=exponent, workers=workers
    )


def received(numbers: list[int], key: PrivateKey = KEY) -> Ciphertexts:
    return Ciphertexts.received(
        key.public, BigInts.of(numbers, width=key.public.width), count=len(numbers)
    )


@pytest.mark.parametrize("exponent", ["half", "full"])
@pytest.mark.parametrize("workers", [1, 2])
def test_our_ciphertexts_decrypt_here_and_with_phe(exponent: Exponent, workers: int) -> None:
    fresh = encryptor(exponent, workers=workers).encrypt(EXTREMES)
    assert KEY.decrypt(fresh, workers=workers) == EXTREMES
    assert [KEY.phe.raw_decrypt(int(number)) for number in fresh.numbers] == [
        m % KEY.public.n for m in EXTREMES
    ]


def test_ciphertexts_of_phe_decrypt_here() -> None:
    assert (
        KEY.decrypt(received([KEY.public.phe.raw_encrypt(m % KEY.public.n) for m in EXTREMES]))
        == EXTREMES
    )


def test_a_key_made_by_phe_serves() -> None:
    from phe import paillier

    public, private = paillier.generate_paillier_keypair(n_length=256)
    key = PrivateKey(PublicKey(public.n), private.p, private.q)
    # Its primes need not be Blum primes, which decryption does not need.
    for exponent in ("full", "half"):
        encrypting = Encryptor(
            key.public, randomness=RandomStream(b"f" * 32), uses=3, exponent=exponent
        )
        assert key.decrypt(encrypting.encrypt([5, -7])) == [5, -7]


def test_the_toy_key_of_the_specification() -> None:
    n, square = TOY.public.n, TOY.public.n**2
    reference = TOY.public.phe.raw_encrypt
    five, minus_three = reference(5, r_value=17), reference(n - 3, r_value=23)
    assert (five, minus_three) == (13331132564, 6958716427)
    assert TOY.decrypt(received([five * minus_three % square], TOY)) == [2]
    one, hundred = (
        received([reference(1, r_value=29)], TOY),
        received([reference(100, r_value=31)], TOY),
    )
    assert TOY.decrypt(Multiples(one, uses=1).of([-9]) + hundred) == [91]


def test_sums_multiples_and_constants() -> None:
    encrypting = encryptor()
    a, b = encrypting.encrypt([1, 2, 3]), encrypting.encrypt([10, -20, 30])
    assert KEY.decrypt(a + b) == [11, -18, 33]
    assert KEY.decrypt(a.plus([1, 1, 1])) == [2, 3, 4]
    assert KEY.decrypt(Multiples(encrypting.encrypt([7]), uses=3).of([0, 1, -5], workers=2)) == [
        0,
        7,
        -35,
    ]


def test_only_integers_are_encrypted() -> None:
    encrypting = encryptor()
    assert KEY.decrypt(encrypting.encrypt(np.array([3, -4], np.int16))) == [3, -4]
    with pytest.raises(MisuseError, match="float's exponent in clear"):
        encrypting.encrypt([1.5])  # type: ignore[list-item]
    with pytest.raises(MisuseError, match="found float64"):
        encrypting.encrypt(np.array([1.0]))
    for beyond in (KEY.public.n // 2 + 1, -(KEY.public.n // 2) - 1):
        with pytest.raises(MisuseError, match="from -n/2 to n/2"):
            encrypting.encrypt([beyond])


def test_phe_does_send_a_floats_exponent_in_clear() -> None:
    public = KEY.public.phe
    assert public.encrypt(0.1).exponent != public.encrypt(1000.5).exponent


def test_keys_are_blum_integers_of_full_length() -> None:
    for seed in range(20):
        key = new_key(128, randomness=RandomStream(bytes([seed]) * 32))
        assert key.public.bits == 128
        assert key.p % 4 == key.q % 4 == 3
        assert math.gcd(key.p - 1, key.q - 1) == 2
        assert math.gcd(key.public.n, (key.p - 1) * (key.q - 1)) == 1
        assert all(gmpy2.is_prime(prime) for prime in (key.p, key.q))


@pytest.mark.parametrize("bits", [64, 128])
def test_searches_for_keys_test_as_many_candidates_as_are_counted(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of 600 searches is within 15 % of what each counts: 4 times its deviation."""
    tested, is_prime = 0, gmpy2.is_prime

    def counting(number: int, rounds: int) -> bool:
        nonlocal tested
        tested += 1
        return bool(is_prime(number, rounds))

    monkeypatch.setattr(gmpy2, "is_prime", counting)
    meter, stream, searches = WorkMeter(), RandomStream(b"s" * 32), 600
    with metered(meter):
        for _ in range(searches):
            new_key(bits, randomness=stream)
    [counted] = meter.units.values()
    assert counted == pytest.approx(searches * expected_candidates(bits))
    assert tested == pytest.approx(counted, rel=0.15)


def test_a_seed_makes_the_key_and_the_ciphertexts() -> None:
    assert new_key(128, randomness=RandomStream(b"a" * 32)) == new_key(
        128, randomness=RandomStream(b"a" * 32)
    )
    for workers in (1, 2):
        assert (
            encryptor(workers=workers).encrypt(EXTREMES).travel()
            == encryptor().encrypt(EXTREMES).travel()
        )
    assert encryptor(salt=b"x").encrypt([1]).travel() != encryptor().encrypt([1]).travel()


def test_randomisers_are_nth_powers_of_jacobi_symbol_one() -> None:
    """The fast randomisers are (h^n)^a with h of Jacobi symbol 1; their order divides phi(n)."""
    n, square = KEY.public.n, KEY.public.n**2
    phi = (KEY.p - 1) * (KEY.q - 1)
    zeros = encryptor().encrypt([0] * 40)
    assert all(gmpy2.powmod(number, phi, square) == 1 for number in zeros.numbers)
    assert all(gmpy2.jacobi(number % n, n) == 1 for number in zeros.numbers)
    assert len(set(map(int, zeros.numbers))) == 40
    # h has Legendre symbols (-1, -1), and its square (1, 1). Both occur, so not all randomisers are
    # squares.
    assert {gmpy2.legendre(number % KEY.p, KEY.p) for number in zeros.numbers} == {1, -1}


@pytest.mark.parametrize("numbers", [[], [7, 9], [2**512], [2**511 + 1, 1]])
def test_a_key_of_another_length_is_refused(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="expected one odd Paillier modulus of 512 bits"):
        PublicKey.received(BigInts.of(numbers, width=128), bits=512)


def test_a_key_travels_once() -> None:
    assert PublicKey.received(KEY.public.travel(), bits=512) == KEY.public
    assert len(KEY.public.travel().data) == 64


def test_secrets_are_not_shown_and_not_pickled() -> None:
    assert str(KEY.p) not in repr(KEY)
    assert str(int(encryptor().encrypt([1]).numbers[0])) not in repr(encryptor().encrypt([1]))
    with pytest.raises(MisuseError, match="pickle"):
        pickle.dumps(KEY)
    with pytest.raises(ValueError, match="factors of the public key"):
        PrivateKey(KEY.public, 3, 5)
    with pytest.raises(MisuseError, match="found some of another key"):
        TOY.decrypt(encryptor().encrypt([1]))
    with pytest.raises(ValueError, match="even number of bits"):
        new_key(127, randomness=RandomStream(b"a" * 32))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([KEY.public.n**2], "below n"),
        ([1, KEY.public.n**2 + 1], "below n"),
        ([0], "common divisor"),
        ([1, KEY.p], "common divisor"),
        ([1, 1, 1], "expected 2 ciphertexts"),
    ],
)
def test_numbers_that_are_no_ciphertexts_are_refused(numbers: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ciphertexts.received(
            KEY.public,
            BigInts.of(numbers, width=KEY.public.width),
            count=2 if "2" in message else len(numbers),
        )


def test_ciphertexts_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="of 128 bytes"):
        Ciphertexts.received(KEY.public, BigInts.of([1], width=130), count=1)


@pytest.fixture
def randomisers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """Record base, exponent and message of each power that an encryptor computes."""
    powers: list[tuple[int, int, int]] = []
    bases: dict[int, int] = {}
    make, power = FixedBase.of.__func__, FixedBase.power  # type: ignore[attr-defined]

    def of(cls: type[FixedBase], /, base: int, **options: int) -> FixedBase:
        table: FixedBase = make(cls, base, **options)
        bases[id(table)] = int(base)
        return table

    def record(table: FixedBase, exponent: int, *, message: int = 0) -> gmpy2.mpz:
        powers.append((bases[id(table)], exponent, message))
        return power(table, exponent, message=message)

    monkeypatch.setattr(FixedBase, "of", classmethod(of))
    monkeypatch.setattr(FixedBase, "power", record)
    return powers


def test_exponents_have_half_of_the_length_of_n(
    randomisers: list[tuple[int, int, int]],
) -> None:
    """40 uniform exponents below 2^256 are all below 2^255 with a probability of 2^-40."""
    encryptor().encrypt([0] * 40)
    exponents = [exponent for _, exponent, _ in randomisers]
    assert 2**255 <= max(exponents) < 2**256
    assert len(set(exponents)) == 40


def test_each_encryptor_draws_a_base_of_its_own(randomisers: list[tuple[int, int, int]]) -> None:
    """The base is h^n with h = -x^2, for an x that nobody else can guess."""
    for salt in range(8):
        encryptor(salt=bytes([salt])).encrypt([0])
    bases = [base for base, _, _ in randomisers]
    n = KEY.public.n
    small = {int(gmpy2.powmod(-x * x % n, n, n * n)) for x in range(1, 1000)}
    assert len(set(bases)) == 8
    assert not small.intersection(bases)
    for base in bases:  # Legendre symbols (-1, -1), as -1 is no square modulo a Blum prime
        assert [gmpy2.legendre(base % prime, prime) for prime in (KEY.p, KEY.q)] == [-1, -1]


@pytest.mark.parametrize(("bits", "is_allowed"), [(2046, False), (2048, True)])
def test_short_keys_need_to_be_asked_for(bits: int, is_allowed: bool) -> None:
    job: Any = {"protocol": "one-way", "parties": 3, "key_bits": bits}
    if is_allowed:
        assert Job(**job).key_bits == bits
    else:
        with pytest.raises(UsageError, match=f"at least 2048, found {bits}"):
            Job(**job)
    assert Job(**job, insecure_test_keys=True).key_bits == bits


def test_each_decryption_counts_two_powers_modulo_a_number_of_the_keys_length() -> None:
    """Each has an exponent of half that length, so together they cost one of the whole."""
    meter = WorkMeter()
    ciphertexts = encryptor().encrypt([1, 2, 3])
    with metered(meter):
        KEY.decrypt(ciphertexts)
    assert dict(meter.units) == {(WorkKind.MULTIPLICATION, 512): 3 * power_steps(512)}
