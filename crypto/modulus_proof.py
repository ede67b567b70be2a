"""A proof that a Paillier modulus n is sound: gcd(n, phi(n)) = 1.

*The property.* Write H for the units modulo n^2 of the form (1 + n)^m * r^n. If gcd(n, phi(n)) = 1,
then H is all units, and each has exactly one m modulo n and one r modulo n. So every ciphertext has
one plaintext. A ciphertext with a fresh uniform r shows its plaintext and nothing else, also to
whoever knows the factors of n. Otherwise some prime s divides both n and phi(n). Then a ciphertext
has several plaintexts, and at most one unit in s lies in H. No randomiser hides how far a unit is
from H.

*What is gained.* With noise=selected a party raises a ciphertext of the curator to the power of its
noise. If the curator could send a unit outside H, the power would show the noise modulo s. A sound
modulus has no such unit. It also makes sums right: they have one decryption.

*What a proof does not change.* Pairwise masks are uniform modulo n, whatever n is. Where plaintexts
carry them, the curator learns the sum and nothing else, with or without a proof. With
noise=selected the curator may still select nobody's noise, by an indicator of zeros. It may always
tell others the factors of n, or choose n so that others can find them. So what hides plaintexts
from everyone else rests on the curator. For this reason the number of primes is not proven. Three
primes with gcd(n, phi(n)) = 1 are as good for the parties, and a proof of exactly two would take
about 128 more roots (48 KiB at 3072 bits).

*The proof* (Goldberg, Reyzin, Sagga and Baldimtsi, "Efficient noninteractive certification of RSA
moduli and beyond", ASIACRYPT 2019) is an n-th root of each of a few uniform units, which SHAKE-256
derives from n, the context and an index. If s divides n and phi(n), raising to n maps at least s
units to one. Then a uniform unit has a root with a probability of at most 1/s. All factors of n
exceed `trial_bound`, so a few roots suffice: seven from 40 bits on. Whoever looks for an unsound n
with a valid proof succeeds with a probability of at most 2^-128 for each n and context that it
tries, if SHAKE-256 is a random oracle. The roots show nothing about the factors: anyone can make
pairs of a uniform unit and its root by raising to n.

The context, a digest of the run's job, keeps a proof from serving another job.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Final

import gmpy2
from gmpy2 import mpz

from ..messages import BigInts, WorkKind, count_work, is_only_counted
from .fixed_base import power_steps
from .modulus import trial_bound
from .paillier import PrivateKey
from .public_key import PublicKey
from .workers import map_in_threads

__all__ = ["SECURITY_BITS", "challenges", "prove", "proven_key", "roots_needed"]

SECURITY_BITS: Final = 128
"""An unsound modulus passes with a probability of at most 2^-128."""
LABEL: Final = b"sottovoce modulus proof v1"

_CHECKING: Final = threading.RLock()
# A process that is forked during a check would inherit a lock that nobody opens.
os.register_at_fork(
    before=_CHECKING.acquire, after_in_parent=_CHECKING.release, after_in_child=_CHECKING.release
)


def prove(key: PrivateKey, *, context: bytes) -> BigInts:
    """Prove that a key's modulus is sound. Called by the curator, once for each run.

    Raises:
        ValueError: the key has no proof, as its modulus is not sound.
    """
    p, q, n = mpz(key.p), mpz(key.q), mpz(key.public.n)
    bits = n.bit_length()
    steps = roots_needed(bits) * power_steps(bits)
    count_work(WorkKind.MULTIPLICATION, steps, size=bits // 2)
    if is_only_counted():
        return BigInts.of([1] * roots_needed(bits), width=_width(key.public.n))
    if p == q or gmpy2.gcd(n, (p - 1) * (q - 1)) != 1:
        raise ValueError(
            "expected a key with gcd(n, phi(n)) = 1, found another: make one with new_key"
        )
    exponents = [(prime, gmpy2.invert(n, prime - 1)) for prime in (p, q)]
    q_inverse = gmpy2.invert(q, p)

    def root(challenge: mpz) -> mpz:
        mod_p, mod_q = (gmpy2.powmod(challenge, exponent, prime) for prime, exponent in exponents)
        return mod_q + q * ((mod_p - mod_q) * q_inverse % p)

    roots = map_in_threads(root, challenges(key.public.n, context=context), workers=1)
    return BigInts.of(map(int, roots), width=_width(key.public.n))


def proven_key(numbers: BigInts, proof: BigInts, *, bits: int, context: bytes) -> PublicKey:
    """Read a key whose modulus is proven to be sound. Called by every party.

    Parties that share a process compute this once, as the result depends on nothing else.

    Raises:
        ValueError: the modulus is refused, or the proof is not one of it in this context.
    """
    key = PublicKey.received(numbers, bits=bits)
    width, needed = _width(key.n), roots_needed(bits)
    if proof.width != width or len(proof) != needed:
        raise ValueError(
            f"expected a proof of {needed} roots of {width} bytes, "
            f"found {len(proof)} of {proof.width}"
        )
    count_work(WorkKind.MULTIPLICATION, needed * power_steps(bits), size=bits)
    if is_only_counted():
        return key
    with _CHECKING:
        _require_roots(key.n, tuple(proof), context)
    return key


@lru_cache(maxsize=16)
def _require_roots(n: int, roots: tuple[int, ...], context: bytes) -> None:
    """Refuse roots that are not those of the challenges; each check is computed once."""
    modulus = mpz(n)
    powers = map_in_threads(lambda root: gmpy2.powmod(root, modulus, modulus), roots, workers=1)
    if any(root >= n for root in roots) or powers != challenges(n, context=context):
        raise ValueError(
            "expected a proof that the Paillier modulus is sound, found a wrong one: "
            "the modulus is not sound, or the proof is of another job"
        )


def challenges(n: int, *, context: bytes) -> list[mpz]:
    """Derive the units whose roots are the proof, each uniform modulo n."""
    seed = LABEL
    for part in (n.to_bytes(_width(n), "little"), context):
        seed += len(part).to_bytes(8, "little") + part
    return [
        next(unit for unit in _candidates(seed, index, n=n) if math.gcd(int(unit), n) == 1)
        for index in range(roots_needed(n.bit_length()))
    ]


def _candidates(seed: bytes, index: int, *, n: int) -> Iterator[mpz]:
    """Derive numbers below n from a seed, by rejection of those above."""
    width = _width(n)
    unused = 8 * width - n.bit_length()
    for attempt in count():
        place = index.to_bytes(8, "little") + attempt.to_bytes(8, "little")
        octets = hashlib.shake_256(seed + place).digest(width)
        number = int.from_bytes(octets, "little") >> unused
        if number < n:
            yield mpz(number)


def roots_needed(bits: int) -> int:
    """Compute how many roots exclude an unsound modulus up to 2^-128.

    >>> roots_needed(3072), roots_needed(32)
    (7, 9)
    """
    bound = trial_bound(bits)
    return next(roots for roots in count(1) if bound**roots >= 1 << SECURITY_BITS)


def _width(n: int) -> int:
    return -(-n.bit_length() // 8)
