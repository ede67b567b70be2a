"""Finite fields of any prime-power order, as tables: what grids of views and projective planes are
made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

__all__ = ["Field", "field", "is_prime", "prime_power"]


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def prime_power(order: int) -> tuple[int, int] | None:
    """Split p^k into p and k; `None` when the order is no prime power."""
    for prime in range(2, order + 1):
        if order % prime == 0:
            power, rest = 0, order
            while rest % prime == 0:
                power, rest = power + 1, rest // prime
            return (prime, power) if rest == 1 else None
    return None


@dataclass(frozen=True, slots=True)
class Field:
    """Elements 0 .. q-1: the digits of a number to base p are the coefficients of its
    polynomial.
    """

    order: int
    plus: tuple[tuple[int, ...], ...]
    times: tuple[tuple[int, ...], ...]


@cache
def field(order: int) -> Field:
    """Make the field of so many elements.

    >>> field(4).times[2]
    (0, 2, 3, 1)
    """
    split = prime_power(order)
    if split is None:
        raise ValueError(f"expected a prime power, found {order}")
    prime, power = split
    digits = [_digits(number, prime, power) for number in range(order)]
    modulus = next(found for found in _monic(prime, power) if _irreducible(found, prime))
    plus = tuple(
        tuple(
            _number([(x + y) % prime for x, y in zip(one, other, strict=True)], prime)
            for other in digits
        )
        for one in digits
    )
    times = tuple(
        tuple(_number(_multiply(one, other, modulus, prime), prime) for other in digits)
        for one in digits
    )
    return Field(order, plus, times)


def _digits(number: int, prime: int, power: int) -> list[int]:
    return [number // prime**at % prime for at in range(power)]


def _number(digits: list[int], prime: int) -> int:
    return sum(digit * prime**at for at, digit in enumerate(digits))


def _monic(prime: int, power: int) -> Iterator[list[int]]:
    for low in product(range(prime), repeat=power):
        yield [*low, 1]


def _irreducible(polynomial: list[int], prime: int) -> bool:
    """Divide by every monic polynomial of at most half the degree."""
    degree = len(polynomial) - 1
    return not any(
        not any(_remainder(polynomial, divisor, prime))
        for power in range(1, degree // 2 + 1)
        for divisor in _monic(prime, power)
    )


def _remainder(polynomial: list[int], monic: list[int], prime: int) -> list[int]:
    rest, degree = polynomial[:], len(monic) - 1
    for at in range(len(rest) - 1, degree - 1, -1):
        factor = rest[at]
        for n, coefficient in enumerate(monic):
            rest[at - degree + n] = (rest[at - degree + n] - factor * coefficient) % prime
    return rest[:degree]


def _multiply(one: list[int], other: list[int], modulus: list[int], prime: int) -> list[int]:
    whole = [0] * (2 * len(one) - 1)
    for at, x in enumerate(one):
        for n, y in enumerate(other):
            whole[at + n] = (whole[at + n] + x * y) % prime
    return _remainder(whole, modulus, prime)
