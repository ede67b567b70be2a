"""Paillier's cryptosystem (EUROCRYPT 1999): integers only, fast, and only fresh ciphertexts leave.

    Enc(m; r) = (1 + n)^m * r^n modulo n^2,   Enc(a) * Enc(b) = Enc(a + b),   Enc(a)^k = Enc(k * a)

phe is the reference: its key classes hold the numbers, and its `raw_encrypt` and `raw_decrypt`
agree with this module in both directions. These are the differences, and their assumptions:

- *Semantic security* rests on the decisional composite residuosity assumption, as in every
  implementation of Paillier.
- *Randomisers* with `exponent="half"` follow Damgard, Jurik and Nielsen (2010). n is a Blum integer
  (both primes are 3 modulo 4) with gcd(p - 1, q - 1) = 2. Each encryptor draws x and takes
  h = -x^2 modulo n, which generates the units of Jacobi symbol 1 or a large part of them. A
  randomiser is (h^n)^a for a fresh `a` of half of n's length, computed with a table (`fixed_base`).
  Such a short `a` is indistinguishable from a full one if factoring n is hard (Hastad, Schrift and
  Shamir 1993; Goldreich and Rosen 2003), which composite residuosity presupposes. So messages are
  hidden *from those without the factors*. The holder of the factors sees that randomisers are not
  uniform, by their Jacobi symbol, and by small-order characters where h misses some. This shows
  nothing of the message. It is not good enough where a randomiser must hide something from the
  key's holder (`secure_sum.selected`).
- *Randomisers* with `exponent="full"` are r^n for uniform r. They add nothing to Paillier's own
  assumption, and are twenty times slower.
- The *owner* of the secret key computes modulo p^2 and q^2 (CRT), which needs no assumption.

An encryptor chooses x itself, so it need not trust the key's maker for its randomisers. `modulus`
and `modulus_proof` check n. It does trust the maker to keep the factors secret, and to choose them
so that nobody else finds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import index
from typing import Final, Literal, TypeAlias

import gmpy2
from gmpy2 import mpz
from phe import paillier as phe

from ..messages import MisuseError, WorkKind, count_work, is_only_counted
from .ciphertexts import Ciphertexts
from .counted import open_factors, open_plaintext
from .fixed_base import CombShape, FixedBase, counted_shape, power_steps
from .public_key import PublicKey
from .randomness import RandomStream
from .workers import map_in_threads, without_lock

__all__ = ["Encryptor", "Exponent", "PrivateKey", "expected_candidates", "new_key"]

Exponent: TypeAlias = Literal["half", "full"]
PRIMALITY_ROUNDS: Final = 40
"""Rounds of GMP's test, Baillie-PSW and then Miller-Rabin.

Its error is below 4**-16 for the worst number, and far smaller for a random one.
"""
TWIN_PRIMES: Final = 0.66016
"""The product of 1 - 1 / (r - 1)^2 over all odd primes r."""


@dataclass(frozen=True, slots=True, repr=False)
class PrivateKey:
    """The factors of the modulus."""

    public: PublicKey
    p: int = field(repr=False)
    q: int = field(repr=False)

    def __post_init__(self) -> None:
        if self.p * self.q != self.public.n:
            raise ValueError("expected two factors of the public key's modulus, found others")

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.bits} bits)"

    def __reduce__(self) -> str:
        raise MisuseError(
            "expected a private key to stay where it is, found an attempt to pickle it"
        )

    @property
    def phe(self) -> phe.PaillierPrivateKey:
        """The same key for phe."""
        return phe.PaillierPrivateKey(self.public.phe, self.p, self.q)

    def decrypt(self, ciphertexts: Ciphertexts, *, workers: int = 1) -> list[int]:
        """Decrypt to integers from -n/2 to n/2: modulo p^2 and q^2, then combined (section 7)."""
        if ciphertexts.key != self.public:
            raise MisuseError("expected ciphertexts under this key, found some of another key")
        p, q, n = mpz(self.p), mpz(self.q), mpz(self.public.n)
        halves = [
            (prime, prime * prime, gmpy2.invert(-other, prime)) for prime, other in ((p, q), (q, p))
        ]
        q_inverse = gmpy2.invert(q, p)

        # Two powers, of exponents of half the key's length, modulo numbers of the key's length.
        steps = len(ciphertexts) * power_steps(self.public.bits)
        count_work(WorkKind.MULTIPLICATION, steps, size=self.public.bits)
        if is_only_counted():
            return [open_plaintext(number, n=self.public.n) for number in ciphertexts.numbers]

        def decrypt(number: mpz) -> int:
            # c^(p-1) = 1 + m (p-1) n modulo p^2, so its quotient by p is -m q modulo p.
            mod_p, mod_q = (
                (gmpy2.powmod(number % square, prime - 1, square) - 1) // prime * inverse % prime
                for prime, square, inverse in halves
            )
            plain = mod_q + q * ((mod_p - mod_q) * q_inverse % p)
            return int(plain - n if plain > n // 2 else plain)

        return map_in_threads(decrypt, ciphertexts.numbers, workers=workers)


def new_key(bits: int, *, randomness: RandomStream) -> PrivateKey:
    """Make a key pair from two Blum primes of equal length. Called by the curator.

    phe's own generator takes neither Blum primes nor a seed.
    """
    if bits < 16 or bits % 2:
        raise ValueError(f"expected an even number of bits, at least 16, found {bits}")
    count_work(WorkKind.PRIME_TEST, expected_candidates(bits), size=bits // 2)
    if is_only_counted():
        p, q = open_factors(bits, randomness=randomness)
        return PrivateKey(PublicKey(p * q), p, q)
    while True:
        p, q = _blum_prime(bits // 2, randomness), _blum_prime(bits // 2, randomness)
        # Decryption needs gcd(n, (p-1)(q-1)) = 1, which for equal lengths follows from p != q.
        if p != q and math.gcd(p - 1, q - 1) == 2:
            return PrivateKey(PublicKey(p * q), p, q)


def expected_candidates(bits: int) -> float:
    """Give how many candidates the search for a key of so many bits tests on average.

    This is counted as its work, and not how many one search has tested: chance decides that, and
    two plays of one job would differ by seconds.

    Of the numbers x that are 3 modulo 4, a share of 2 / ln x is prime. Candidates of b bits have
    their two highest bits set, so they are 7/8 of 2^b on average. Both primes are drawn again
    where p - 1 and q - 1 have an odd factor in common. For a prime r that is a chance of
    1 / (r - 1)^2, so they have none with a chance of C, the constant of twin primes.

    >>> round(expected_candidates(3072))
    1613
    """
    return (bits / 2 * math.log(2) + math.log(7 / 8)) / TWIN_PRIMES


def _blum_prime(bits: int, randomness: RandomStream) -> int:
    """Draw a prime that is 3 modulo 4, with its two highest bits set.

    The draw is uniform; taking the next prime after a random number would not be.
    """
    top = 3 << (bits - 2)
    while True:
        candidate = top | randomness.below(1 << (bits - 2)) | 3
        if gmpy2.is_prime(candidate, PRIMALITY_ROUNDS):
            return candidate


class Encryptor:
    """Encrypts under one key with randomisers of its own; its ciphertexts are fresh.

    Args:
        key: the public key.
        randomness: a secret stream; each randomiser takes its own part of it.
        uses: about how many encryptions will follow; the table's shape depends on it.
        exponent: see the module's docstring.
        workers: number of threads; GMP's arithmetic runs without the interpreter's lock.
    """

    def __init__(
        self,
        key: PublicKey,
        *,
        randomness: RandomStream,
        uses: int,
        exponent: Exponent = "half",
        workers: int = 1,
    ) -> None:
        self.key = key
        self._randomness = randomness
        self._workers = workers
        self._short = (key.bits + 1) // 2
        self._shape: CombShape | None = None
        self._table: FixedBase | None = None
        if exponent == "half":
            count_work(WorkKind.MULTIPLICATION, power_steps(key.bits), size=2 * key.bits)
            if is_only_counted():
                self._shape = counted_shape(key.n, bits=self._short, uses=uses)
                return
            n = mpz(key.n)
            x = mpz(self._unit())
            with without_lock():
                base = gmpy2.powmod(-x * x % n, n, n * n)
            self._table = FixedBase.of(base, n=key.n, bits=self._short, uses=uses)
            self._shape = self._table.shape

    def encrypt(self, messages: Iterable[int]) -> Ciphertexts:
        """Encrypt integers from -n/2 to n/2.

        Raises:
            MisuseError: a message is not an integer, or too large.
        """
        plain = [self._plaintext(message) for message in messages]
        n, square = mpz(self.key.n), mpz(self.key.n) ** 2
        self._count(len(plain))
        if is_only_counted():
            numbers = [(1 + n * message) % square for message in plain]
        elif self._table is None:

            def full(task: tuple[int, int]) -> mpz:
                message, r = task
                return (1 + n * message) * gmpy2.powmod(r, n, square) % square

            numbers = map_in_threads(
                full, [(m, self._unit()) for m in plain], workers=self._workers
            )
        else:
            table = self._table

            def short(task: tuple[int, int]) -> mpz:
                message, exponent = task
                return table.power(exponent, message=message)

            tasks = [(m, self._randomness.below(1 << self._short)) for m in plain]
            numbers = map_in_threads(short, tasks, workers=self._workers)
        return Ciphertexts(self.key, numbers, fresh=True)

    def _count(self, messages: int) -> None:
        """Count the work of so many encryptions."""
        size = 2 * self.key.bits
        if self._shape is None:
            count_work(WorkKind.MULTIPLICATION, messages * power_steps(self.key.bits), size=size)
        else:
            count_work(WorkKind.COMB_STEP, messages * self._shape.steps, size=size)

    def refresh(self, ciphertexts: Ciphertexts) -> Ciphertexts:
        """Re-randomise: return the same messages in ciphertexts that nobody can link to these."""
        return ciphertexts + self.encrypt([0] * len(ciphertexts))

    def _plaintext(self, message: int) -> int:
        try:
            plain = index(message)
        except TypeError:
            raise MisuseError(
                f"expected integers to encrypt, found {type(message).__name__}: scale to integers "
                "first (fixed point); phe would send a float's exponent in clear"
            ) from None
        if abs(plain) > self.key.n // 2:
            raise MisuseError(
                f"expected integers from -n/2 to n/2 for a key of {self.key.bits} bits, "
                "found one outside"
            )
        return plain

    def _unit(self) -> int:
        while True:
            r = 1 + self._randomness.below(self.key.n - 1)
            if math.gcd(r, self.key.n) == 1:
                return r
