"""Moduli: what is refused at sight, what needs a proof, and what an unsound one would show."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections import Counter

import gmpy2
import pytest
from gmpy2 import mpz

from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Ciphertexts, Multiples
from sottovoce.crypto.modulus import MAX_TRIAL_FACTOR, trial_bound
from sottovoce.crypto.modulus_proof import challenges, prove, proven_key, roots_needed
from sottovoce.crypto.paillier import Encryptor, PrivateKey, new_key
from sottovoce.crypto.public_key import PublicKey
from sottovoce.messages import BigInts

KEY = new_key(512, randomness=RandomStream(b"k" * 32))
OTHER = new_key(512, randomness=RandomStream(b"o" * 32))
CONTEXT = b"digest of the job"


def prime_of(bits: int, *, salt: int = 0) -> int:
    return int(gmpy2.next_prime(mpz(3 << (bits - 2)) + 1000 * salt))


def prime_in_step(step: int, *, bits: int) -> int:
    """Find a prime of this length that is 1 modulo `step`."""
    candidate = (3 << (bits - 2)) // (2 * step) * 2 * step + 1
    while not gmpy2.is_prime(candidate):
        candidate += 2 * step
    return candidate


def received(n: int, *, bits: int | None = None) -> PublicKey:
    bits = n.bit_length() if bits is None else bits
    return PublicKey.received(BigInts.of([n], width=1 + n.bit_length() // 8), bits=bits)


def roots_of(*numbers: int, key: PublicKey = KEY.public) -> BigInts:
    return BigInts.of(numbers, width=key.bits // 8)


def proven(key: PublicKey, proof: BigInts, *, context: bytes = CONTEXT) -> PublicKey:
    return proven_key(key.travel(), proof, bits=key.bits, context=context)


P, Q = prime_of(256), prime_of(256, salt=1)
LARGEST_TRIED = int(gmpy2.prev_prime(MAX_TRIAL_FACTOR))
SMALLEST_NOT_TRIED = int(gmpy2.next_prime(MAX_TRIAL_FACTOR))


@pytest.mark.parametrize(
    ("n", "bits", "message"),
    [
        (P * Q, 510, "modulus of 510 bits, found 512 bits"),
        (2 * prime_of(511), 512, "of 512 bits, found an even number"),
        (3 * prime_of(510), None, "without a factor up to 320000"),
        (LARGEST_TRIED * prime_of(490), None, "without a factor up to 320000"),
        (3**161, None, "without a factor up to 320000"),
        (math.prod(prime_of(18, salt=salt) for salt in range(20)), None, "without a factor"),
        (prime_of(512), None, "found a prime"),
        (2**521 - 1, None, "found a prime"),
        (P**2, None, "found a perfect power"),
        (prime_of(171) ** 3, None, "found a perfect power"),
        ((prime_of(128) * prime_of(128, salt=1)) ** 2, None, "found a perfect power"),
    ],
)
def test_what_is_no_product_of_two_large_primes_is_refused(
    n: int, bits: int | None, message: str
) -> None:
    for _ in range(2):  # A refusal is not forgotten, nor kept as a success.
        with pytest.raises(ValueError, match=message):
            received(n, bits=bits)


def test_two_large_primes_pass_the_checks() -> None:
    assert received(P * Q).n == P * Q
    # The smallest factor that no trial division finds is left to the proof.
    assert received(SMALLEST_NOT_TRIED * prime_of(490)).bits >= 508


@pytest.mark.parametrize("bits", [16, 18, 20, 24, 32, 38, 40, 64, 128, 512])
def test_every_key_that_is_made_here_is_accepted(bits: int) -> None:
    for seed in range(20):
        key = new_key(bits, randomness=RandomStream(bytes([seed]) * 32))
        assert key.p != key.q
        assert key.p.bit_length() == key.q.bit_length() == bits // 2
        assert proven(key.public, prove(key, context=CONTEXT)) == key.public


def test_a_proof_at_full_length_is_seven_roots() -> None:
    key = new_key(2048, randomness=RandomStream(b"l" * 32))
    proof = prove(key, context=CONTEXT)
    assert (len(proof), proof.width) == (7, 256)
    assert proven(key.public, proof) == key.public


def test_the_number_of_roots_leaves_an_error_of_two_to_the_minus_128() -> None:
    for bits in range(16, 4097, 2):
        error = roots_needed(bits) * math.log2(trial_bound(bits))
        assert error >= 128 > error - math.log2(trial_bound(bits))


def reference_challenges(n: int, context: bytes, *, roots: int) -> list[int]:
    """Derive the challenges as the documentation says, without the module's code."""
    size = (n.bit_length() + 7) // 8
    units = []
    for index in range(roots):
        attempt = 0
        while True:
            sponge = hashlib.shake_256(b"sottovoce modulus proof v1")
            sponge.update(size.to_bytes(8, "little") + n.to_bytes(size, "little"))
            sponge.update(len(context).to_bytes(8, "little") + context)
            sponge.update(index.to_bytes(8, "little") + attempt.to_bytes(8, "little"))
            octets = sponge.digest(size)
            number = sum(octet << (8 * place) for place, octet in enumerate(octets))
            number //= 2 ** (8 * size - n.bit_length())
            attempt += 1
            if number < n and math.gcd(number, n) == 1:
                units.append(number)
                break
    return units


@pytest.mark.parametrize("bits", [20, 36, 130, 512])
@pytest.mark.parametrize("context", [b"", b"digest", bytes(64)])
def test_a_second_implementation_makes_the_same_proof(bits: int, context: bytes) -> None:
    """Plain Python: the root of x is x^d, where d inverts n modulo lcm(p - 1, q - 1)."""
    key = new_key(bits, randomness=RandomStream(b"v" * 32))
    n = key.public.n
    expected = reference_challenges(n, context, roots=roots_needed(bits))
    assert [int(unit) for unit in challenges(n, context=context)] == expected
    inverse = pow(n, -1, math.lcm(key.p - 1, key.q - 1))
    proof = list(prove(key, context=context))
    assert proof == [pow(unit, inverse, n) for unit in expected]
    assert [pow(root, n, n) for root in proof] == expected


def test_challenges_are_uniform_units() -> None:
    """Chi-square with 23 degrees of freedom exceeds 90 with a probability below 1e-9."""
    counts = Counter(
        int(unit)
        for number in range(200)
        for unit in challenges(35, context=number.to_bytes(2, "little"))
    )
    units = [number for number in range(35) if math.gcd(number, 35) == 1]
    assert sorted(counts) == units
    expected = counts.total() / len(units)
    assert expected > 100
    assert sum((counts[unit] - expected) ** 2 / expected for unit in units) < 90


def test_context_and_modulus_cannot_be_mistaken_for_each_other() -> None:
    """The modulus 0x0165 with context 0x67 is not the modulus 0x65 with another one."""
    first = challenges(0x6765, context=b"\x69\x71")
    assert first != challenges(0x6765, context=b"\x69\x71\x00")
    assert first != challenges(0x6765, context=b"")


PROOF = prove(KEY, context=CONTEXT)
ROOTS = list(PROOF)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(prove(KEY, context=b"digest of another job"), id="other context"),
        pytest.param(prove(OTHER, context=CONTEXT), id="other modulus"),
        pytest.param(roots_of(*ROOTS[:-1], ROOTS[-1] ^ 1), id="changed root"),
        pytest.param(roots_of(*ROOTS[:-1], KEY.public.n - ROOTS[-1]), id="negated root"),
        pytest.param(roots_of(*ROOTS[::-1]), id="other order"),
        pytest.param(roots_of(*[0] * 7), id="zeros"),
        pytest.param(roots_of(*[1] * 7), id="ones"),
    ],
)
def test_a_wrong_proof_is_refused(wrong: BigInts) -> None:
    assert proven(KEY.public, PROOF) == KEY.public
    with pytest.raises(ValueError, match="found a wrong one"):
        proven(KEY.public, wrong)
    with pytest.raises(ValueError, match="found a wrong one"):
        proven(KEY.public, PROOF, context=b"digest of another job")


def test_a_root_has_one_encoding() -> None:
    """A root with n added is the same root modulo n, and refused all the same."""
    key = new_key(130, randomness=RandomStream(b"w" * 32))
    roots = list(prove(key, context=CONTEXT))
    again = BigInts.of([roots[0] + key.public.n, *roots[1:]], width=17)
    with pytest.raises(ValueError, match="found a wrong one"):
        proven(key.public, again)


@pytest.mark.parametrize(
    "wrong",
    [
        roots_of(*ROOTS[:-1]),
        roots_of(*ROOTS, ROOTS[0]),
        BigInts.of([], width=64),
        BigInts.of(ROOTS, width=65),
    ],
)
def test_a_proof_of_another_size_is_refused(wrong: BigInts) -> None:
    with pytest.raises(ValueError, match="expected a proof of 7 roots of 64 bytes"):
        proven(KEY.public, wrong)


def test_a_modulus_is_checked_before_its_proof() -> None:
    """x^n = x modulo a prime n, so a prime would have a proof: the challenges themselves."""
    n = prime_of(512)
    proof = BigInts.of(map(int, challenges(n, context=CONTEXT)), width=64)
    assert all(pow(root, n, n) == root for root in proof)
    with pytest.raises(ValueError, match="found a prime"):
        proven(PublicKey(n), proof)


def best_roots(factors: dict[int, int], *, context: bytes) -> list[int | None]:
    """Find the n-th root of each challenge where there is one, knowing the factors of n."""
    n = math.prod(prime**power for prime, power in factors.items())
    order = math.lcm(*((prime - 1) * prime ** (power - 1) for prime, power in factors.items()))
    common = math.gcd(n, order)
    # The divisor is in the order once. So n-th powers are the units whose order has it no more.
    assert math.gcd(n, order // common) == 1
    inverse = pow(n, -1, order // common)
    roots: list[int | None] = []
    for unit in challenges(n, context=context):
        root = pow(int(unit), inverse, n)
        roots.append(root if pow(root, n, n) == unit else None)
    return roots


SMALL_DIVISOR = prime_in_step(SMALLEST_NOT_TRIED, bits=490)
LARGE_DIVISOR = prime_in_step(prime_of(200), bits=312)


@pytest.mark.parametrize(
    "factors",
    [
        pytest.param({prime_of(171): 2, prime_of(170): 1}, id="p^2 q"),
        pytest.param({SMALLEST_NOT_TRIED: 1, SMALL_DIVISOR: 1}, id="small q divides p - 1"),
        pytest.param({prime_of(200): 1, LARGE_DIVISOR: 1}, id="large q divides p - 1"),
        pytest.param({SMALLEST_NOT_TRIED: 1, SMALL_DIVISOR: 1, P: 1}, id="three primes"),
    ],
)
def test_an_unsound_modulus_passes_the_checks_and_has_no_proof(factors: dict[int, int]) -> None:
    """The maker may choose the context, too: of 20, none has a root for all challenges."""
    n = math.prod(prime**power for prime, power in factors.items())
    key = received(n)
    for number in range(20):
        context = bytes([number])
        roots = best_roots(factors, context=context)
        # Two challenges of a proof both have roots with a probability below 21 / 320,000^2.
        assert roots.count(None) >= 6
        proof = BigInts.of([root or 1 for root in roots], width=-(-key.bits // 8))
        with pytest.raises(ValueError, match="found a wrong one"):
            proven(key, proof, context=context)
    if len(factors) == 2 and 2 not in factors.values():
        with pytest.raises(ValueError, match=r"gcd\(n, phi\(n\)\) = 1"):
            prove(PrivateKey(key, *factors), context=CONTEXT)


def test_a_square_has_no_proof() -> None:
    with pytest.raises(ValueError, match=r"gcd\(n, phi\(n\)\) = 1"):
        prove(PrivateKey(PublicKey(P**2), P, P), context=CONTEXT)


def test_a_challenge_has_a_root_as_rarely_as_is_claimed() -> None:
    """n = 131 * 263 is unsound, as 131 divides 262: one unit in 131 is an n-th power.

    Of 5,700 units 43.5 are expected. Below 13 or above 85 has a probability below 1e-7.
    """
    n = 131 * 263
    assert received(n).bits == 16
    powers = {pow(unit, n, n) for unit in range(n) if math.gcd(unit, n) == 1}
    assert len(powers) == 130 * 262 // 131
    units = [
        int(unit)
        for number in range(300)
        for unit in challenges(n, context=number.to_bytes(2, "little"))
    ]
    assert len(units) == 300 * 19
    assert 13 <= sum(unit in powers for unit in units) <= 85


def test_more_than_two_primes_are_accepted_if_they_are_sound() -> None:
    """The number of primes is not proven; decryption is unique all the same."""
    primes = [prime_of(171), prime_of(171, salt=1), prime_of(170)]
    n, order = math.prod(primes), math.lcm(*(prime - 1 for prime in primes))
    assert math.gcd(n, math.prod(prime - 1 for prime in primes)) == 1
    inverse = pow(n, -1, order)
    roots = [pow(int(unit), inverse, n) for unit in challenges(n, context=CONTEXT)]
    key = proven(received(n), BigInts.of(roots, width=-(-n.bit_length() // 8)))
    encryptor = Encryptor(key, randomness=RandomStream(b"e" * 32), uses=1)
    (number,) = encryptor.encrypt([-12345]).numbers
    power = pow(int(number), order, n * n)
    assert (power - 1) // n * pow(order, -1, n) % n == n - 12345


def test_an_unsound_modulus_would_show_the_selected_noise() -> None:
    """The attack that the proof stops: a ciphertext that no randomiser hides.

    q divides p - 1. The curator sends a unit that is no q-th power modulo p. The party raises it to
    its noise, adds its counts and a uniform randomiser. (1 + n)^m is 1 modulo p, and r^n is a q-th
    power. So the q-th power residue of the result shows the noise modulo q.
    """
    q, p = SMALLEST_NOT_TRIED, SMALL_DIVISOR
    key = received(p * q)  # all checks accept it
    exponent = (p - 1) // q
    unit = next(unit for unit in range(2, 100) if pow(unit, exponent, p) != 1)
    numbers = BigInts.of([unit], width=key.width)
    indicator = Ciphertexts.received(key, numbers, count=1)
    for noise in (-217, 0, 1, 58):
        encryptor = Encryptor(
            key, randomness=RandomStream(bytes([noise % 256]) * 32), uses=1, exponent="full"
        )
        selected = Multiples(indicator, uses=1).of([noise]) + encryptor.encrypt([1000])
        (sent,) = list(selected.travel())
        residue = pow(sent, exponent, p)
        step = pow(unit, exponent, p)
        assert next(k for k in range(-1000, 1000) if pow(step, k % q, p) == residue) == noise


FORK = """
import os, threading, time
from sottovoce.crypto import modulus_proof

lock = modulus_proof._CHECKING
entered = threading.Event()

def check():
    with lock:
        entered.set()
        time.sleep(0.2)

thread = threading.Thread(target=check)
thread.start()
entered.wait()
if os.fork() == 0:
    os._exit(0 if lock.acquire(timeout=5) else 1)
_, status = os.wait()
thread.join()
raise SystemExit(os.waitstatus_to_exitcode(status) or not lock.acquire(timeout=5))
"""


def test_a_process_that_is_forked_during_a_check_can_check() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr.decode()
