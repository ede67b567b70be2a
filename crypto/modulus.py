"""Checks of a Paillier modulus that was received, without any help of its maker.

They refuse numbers of another length, even numbers, numbers with a small factor, primes, and
perfect powers. They do not show that a modulus is sound: `modulus_proof` does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import gmpy2
from gmpy2 import mpz

__all__ = ["MAX_TRIAL_FACTOR", "primes_to_try", "require_modulus", "trial_bound"]

MAX_TRIAL_FACTOR: Final = 320_000
"""All primes up to this bound are tried.

A proof for such a modulus takes seven roots. Eight would do with 65,536, six with 2.65 million. At
3072 bits a root takes seven milliseconds. The product of these primes takes two, and that of the
next step over thirty (benchmarks/modulus_proof.py).
"""


def require_modulus(n: int, *, bits: int) -> None:
    """Refuse what cannot be the product of two large primes of equal length.

    Raises:
        ValueError: the number has another length, is even, is prime or a perfect power, or has a
            small factor.
    """
    expected = f"expected one odd Paillier modulus of {bits} bits"
    if n.bit_length() != bits:
        raise ValueError(f"{expected}, found {n.bit_length()} bits")
    if not n % 2:
        raise ValueError(f"{expected}, found an even number")
    _require_two_primes(n, trial_bound(bits))


@lru_cache(maxsize=16)
def _require_two_primes(n: int, bound: int) -> None:
    """Refuse what is certainly no product of two large primes; each number is checked once."""
    if gmpy2.gcd(_product_of_primes(bound) % n, n) != 1:
        raise ValueError(
            f"expected a Paillier modulus without a factor up to {bound}, found one that has one"
        )
    if gmpy2.is_power(n):
        raise ValueError("expected a Paillier modulus of two primes, found a perfect power")
    # A prime passes every round of the test, so no prime escapes.
    if gmpy2.is_prime(n):
        raise ValueError("expected a Paillier modulus of two primes, found a prime")


def trial_bound(bits: int) -> int:
    """Compute the bound below which no factor is accepted: that of a short key is smaller.

    >>> trial_bound(3072), trial_bound(32)
    (320000, 32768)
    """
    return min(MAX_TRIAL_FACTOR, 1 << (bits // 2 - 1))


def primes_to_try(bits: int) -> mpz:
    """Give the product of all primes that divide no modulus of so many bits."""
    return _product_of_primes(trial_bound(bits))


@lru_cache(maxsize=4)
def _product_of_primes(bound: int) -> mpz:
    return gmpy2.primorial(bound)
