"""Stand-ins for Paillier's arithmetic in plays on made-up records that only count work.

Forecasts play protocols to see what is sent, and what is computed. A calibration knows how long an
encryption takes, and nobody's record is there to be hidden. So these plays have keys of full length
whose factors are no primes, and ciphertexts with the randomiser 1. Such ciphertexts are as long as
others, and add up as others do:

    (1 + n)^a * (1 + n)^b = (1 + n)^(a + b) = 1 + (a + b) n   modulo n^2

Anybody can read them. `is_only_counted` is true for roles on made-up records alone.
"""

from __future__ import annotations

import gmpy2
from gmpy2 import mpz

from .modulus import primes_to_try
from .randomness import RandomStream

__all__ = ["open_factors", "open_plaintext", "open_power"]


def open_factors(bits: int, *, randomness: RandomStream) -> tuple[int, int]:
    """Draw two numbers of equal length without a small factor: the modulus passes as one."""
    small = primes_to_try(bits)

    def draw() -> int:
        top = 3 << (bits // 2 - 2)
        while True:
            number = top | randomness.below(1 << (bits // 2 - 2)) | 3
            if gmpy2.gcd(small % number, number) == 1:
                return number

    p = draw()
    while True:
        q = draw()
        if q != p:
            return p, q


def open_plaintext(ciphertext: mpz, *, n: int) -> int:
    """Read what stands in a ciphertext with the randomiser 1, from -n/2 to n/2."""
    plain = int((ciphertext - 1) // n % n)
    return plain - n if plain > n // 2 else plain


def open_power(ciphertext: mpz, exponent: int, *, n: int) -> mpz:
    """Raise a ciphertext with the randomiser 1 to a power: what stands in it is multiplied.

    >>> open_power(mpz(1 + 3 * 35), 4, n=35) == pow(1 + 3 * 35, 4, 35**2)
    True
    """
    return 1 + (ciphertext - 1) // n * exponent % n * n
