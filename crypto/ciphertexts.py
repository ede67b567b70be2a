"""Ciphertexts and their freshness, which is enforced where bytes leave.

A ciphertext that was *computed* hides its inputs only if a randomiser entered that nobody else
knows. Otherwise whoever holds the inputs can try: phe's `enc + 5` is enc * (1 + n)^5 and `enc * 5`
is enc^5, recognised by trying all small numbers; and pickling a phe number skips the
re-randomisation that its `ciphertext()` would do.

Here freshness is a thing that is used up. `Encryptor.encrypt` makes it; a sum takes it over from
its terms, which are stale from then on; a product by a constant has none, nor has anything
received; `travel`, the only way to bytes, demands it and takes it. So of each randomiser exactly
one ciphertext leaves: two that shared one would show, by their quotient, the difference of what
they hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import index

from gmpy2 import mpz

from ..messages import BigInts, MisuseError
from .fixed_base import FixedBase
from .public_key import PublicKey
from .workers import share_out

__all__ = ["Ciphertexts", "Multiples"]


class Ciphertexts:
    """A row of ciphertexts under one key, to be added to another row, multiplied, and sent when
    fresh.
    """

    __slots__ = ("_fresh", "key", "numbers")

    def __init__(self, key: PublicKey, numbers: Sequence[mpz], *, fresh: bool) -> None:
        self.key = key
        self.numbers = tuple(numbers)
        """For decryption, which shows nothing of them; what is to leave goes through `travel`."""
        self._fresh = fresh

    @classmethod
    def received(cls, key: PublicKey, numbers: BigInts, *, count: int) -> Ciphertexts:
        """Take in what somebody sent; whatever is not a row of so many units modulo n^2 is a
        `ValueError`.
        """
        if numbers.width != key.width or len(numbers) != count:
            raise ValueError(
                f"expected {count} ciphertexts of {key.width} bytes, found {len(numbers)} of {numbers.width}"
            )
        found = [mpz(number) for number in numbers]
        square = mpz(key.n) ** 2
        if any(number >= square for number in found):
            raise ValueError("expected ciphertexts below n^2, found one above")
        # One common divisor for all: the product has one with n exactly if one of them has.
        if (
            math.gcd(
                int(reduce(lambda product, number: product * number % key.n, found, mpz(1))), key.n
            )
            != 1
        ):
            raise ValueError("expected ciphertexts without a common divisor with n, found one")
        return cls(key, found, fresh=False)

    @property
    def fresh(self) -> bool:
        """Whether `travel` would let it leave."""
        return self._fresh

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: Ciphertexts) -> Ciphertexts:
        """Add slot by slot under the encryption; both terms are stale from then on."""
        if other.key != self.key or len(other) != len(self):
            raise MisuseError(
                f"expected {len(self)} ciphertexts under the same key, found {len(other)}, or another key"
            )
        square = mpz(self.key.n) ** 2
        numbers = [a * b % square for a, b in zip(self.numbers, other.numbers, strict=True)]
        used = self._use(), other._use()  # both: either could be sent as well otherwise
        return Ciphertexts(self.key, numbers, fresh=any(used))

    def plus(self, messages: Sequence[int]) -> Ciphertexts:
        """Add integers that are known here. No randomiser enters: fresh if this was, and this is
        stale from then on.
        """
        square = mpz(self.key.n) ** 2
        numbers = [
            a * (1 + index(m) * self.key.n) % square
            for a, m in zip(self.numbers, messages, strict=True)
        ]
        return Ciphertexts(self.key, numbers, fresh=self._use())

    def __getitem__(self, at: slice) -> Ciphertexts:
        """Take a part. Fresh ones are taken out: what remains of this row is stale."""
        if not isinstance(at, slice):
            raise MisuseError(f"expected a slice of ciphertexts, found {type(at).__name__}")
        return Ciphertexts(self.key, self.numbers[at], fresh=self._use())

    def travel(self) -> BigInts:
        """Write the bytes that may leave.

        Raises:
            MisuseError: A term was not re-randomised, or has left already: call
                `Encryptor.refresh` first.
        """
        if not self._use():
            raise MisuseError(
                "expected fresh ciphertexts to send, found some that were received, multiplied, or used before: "
                "re-randomise them with Encryptor.refresh"
            )
        return BigInts.of(map(int, self.numbers), width=self.key.width)

    def _use(self) -> bool:
        fresh, self._fresh = self._fresh, False
        return fresh

    def __repr__(self) -> str:
        return f"Ciphertexts({len(self)} of {self.key.width} bytes, {'fresh' if self._fresh else 'stale'})"

    def __reduce__(self) -> str:
        raise MisuseError(
            "expected ciphertexts to leave by travel(), which checks that they are fresh, found a pickle"
        )


class Multiples:
    """A single ciphertext, to be multiplied by many integers: one table for all (`uses` says about
    how many).

    The products are stale. A quotient of two of them shows the difference of their factors to
    whoever knows the message.
    """

    def __init__(self, one: Ciphertexts, *, uses: int) -> None:
        if len(one) != 1:
            raise MisuseError(f"expected a single ciphertext to multiply, found {len(one)}")
        self.key = one.key
        one._use()  # noqa: SLF001 - else it could leave beside its products
        self._table = FixedBase.of(one.numbers[0], n=one.key.n, bits=one.key.bits, uses=uses)

    def of(self, factors: Sequence[int], *, workers: int = 1) -> Ciphertexts:
        """Multiply by each factor."""
        n = self.key.n
        exponents = [index(factor) % n for factor in factors]
        return Ciphertexts(
            self.key, share_out(self._table.power, exponents, workers=workers), fresh=False
        )
