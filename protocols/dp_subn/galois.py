"""Finite fields of any prime-power order, as tables, for grids and projective planes."""

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
    """The elements 0 .. q-1; the digits of a number to base p are its polynomial's coefficients."""

    order: int
    plus: tuple[tuple[int, ...], ...]
    times: tuple[tuple[int, ...], ...]


@cache
def field(order: int) -> Field:
    """Make the field of an order.

    >>> field(4).times[2]
    (0, 2, 3, 1)
    """
    split = prime_power(order)
    if split is None:
        raise ValueError(f"expected a prime power, found {order}")
    prime, power = split
    digits = [_digits(number, prime, power) for number in range(order)]
    modulus = next(
        polynomial for polynomial in _monic(prime, power) if _irreducible(polynomial, prime)
    )
    plus = tuple(
        tuple(
            _number([(x + y) % prime for x, y in zip(left, right, strict=True)], prime)
            for right in digits
        )
        for left in digits
    )
    times = tuple(
        tuple(_number(_multiply(left, right, modulus, prime), prime) for right in digits)
        for left in digits
    )
    return Field(order, plus, times)


def _digits(number: int, prime: int, power: int) -> list[int]:
    return [number // prime**place % prime for place in range(power)]


def _number(digits: list[int], prime: int) -> int:
    return sum(digit * prime**place for place, digit in enumerate(digits))


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
    for top in range(len(rest) - 1, degree - 1, -1):
        factor = rest[top]
        for n, coefficient in enumerate(monic):
            rest[top - degree + n] = (rest[top - degree + n] - factor * coefficient) % prime
    return rest[:degree]


def _multiply(left: list[int], right: list[int], modulus: list[int], prime: int) -> list[int]:
    terms = [0] * (2 * len(left) - 1)
    for m, x in enumerate(left):
        for n, y in enumerate(right):
            terms[m + n] = (terms[m + n] + x * y) % prime
    return _remainder(terms, modulus, prime)
