"""Ciphertexts and their freshness, which is checked where bytes leave.

A ciphertext that was *computed* hides its inputs only if it has a randomiser that nobody else
knows. Otherwise an adversary that holds the inputs can guess. In phe `enc + 5` is enc * (1 + n)^5
and `enc * 5` is enc^5, and both are recognised by trying all small numbers. Pickling a phe number
even skips the re-randomisation that its `ciphertext()` would do.

Here freshness is used up. `Encryptor.encrypt` makes fresh ciphertexts. A sum takes freshness over
from its terms, which are stale from then on. Products by constants and received ciphertexts are
stale. `travel` is the only way to bytes: it demands freshness and uses it up. So exactly one
ciphertext of each randomiser leaves. Two with the same randomiser would show, by their quotient,
the difference of their messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import index

from gmpy2 import mpz

from ..messages import BigInts, MisuseError, WorkKind, count_work, is_only_counted
from .counted import open_power
from .fixed_base import FixedBase, counted_shape
from .public_key import PublicKey
from .workers import map_in_threads

__all__ = ["Ciphertexts", "Multiples"]


class Ciphertexts:
    """A row of ciphertexts under one key, to be added, multiplied, and sent when fresh."""

    __slots__ = ("_fresh", "key", "numbers")

    def __init__(self, key: PublicKey, numbers: Sequence[mpz], *, fresh: bool) -> None:
        self.key = key
        self.numbers = tuple(numbers)
        """The ciphertexts as integers, for decryption; what leaves goes through `travel`."""
        self._fresh = fresh

    @classmethod
    def received(cls, key: PublicKey, numbers: BigInts, *, count: int) -> Ciphertexts:
        """Read received ciphertexts; anything but `count` units modulo n^2 is a `ValueError`."""
        if numbers.width != key.width or len(numbers) != count:
            raise ValueError(
                f"expected {count} ciphertexts of {key.width} bytes, "
                f"found {len(numbers)} of {numbers.width}"
            )
        integers = [mpz(number) for number in numbers]
        square = mpz(key.n) ** 2
        if any(number >= square for number in integers):
            raise ValueError("expected ciphertexts below n^2, found one above")
        # The product of all has a common divisor with n exactly if one of them has.
        product = reduce(lambda product, number: product * number % key.n, integers, mpz(1))
        if math.gcd(int(product), key.n) != 1:
            raise ValueError("expected ciphertexts without a common divisor with n, found one")
        return cls(key, integers, fresh=False)

    @property
    def fresh(self) -> bool:
        """Whether `travel` lets these ciphertexts leave."""
        return self._fresh

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: Ciphertexts) -> Ciphertexts:
        """Add slot by slot under the encryption; both terms are stale from then on."""
        if other.key != self.key or len(other) != len(self):
            raise MisuseError(
                f"expected {len(self)} ciphertexts under the same key, "
                f"found {len(other)}, or another key"
            )
        square = mpz(self.key.n) ** 2
        count_work(WorkKind.MULTIPLICATION, len(self), size=2 * self.key.bits)
        numbers = [a * b % square for a, b in zip(self.numbers, other.numbers, strict=True)]
        used = self._use(), other._use()  # Both terms are used up, or either could be sent, too.
        return Ciphertexts(self.key, numbers, fresh=any(used))

    def plus(self, messages: Sequence[int]) -> Ciphertexts:
        """Add integers that are known here.

        No randomiser enters. The sum is fresh if this row was, and this row is stale from then on.
        """
        square = mpz(self.key.n) ** 2
        numbers = [
            a * (1 + index(m) * self.key.n) % square
            for a, m in zip(self.numbers, messages, strict=True)
        ]
        return Ciphertexts(self.key, numbers, fresh=self._use())

    def __getitem__(self, part: slice) -> Ciphertexts:
        """Take out a part, which is fresh if this row was. The rest of this row is stale."""
        if not isinstance(part, slice):
            raise MisuseError(f"expected a slice of ciphertexts, found {type(part).__name__}")
        return Ciphertexts(self.key, self.numbers[part], fresh=self._use())

    def travel(self) -> BigInts:
        """Write the bytes that may leave.

        Raises:
            MisuseError: a term was not re-randomised, or has left already.
        """
        if not self._use():
            raise MisuseError(
                "expected fresh ciphertexts to send, found some that were received, multiplied, "
                "or used before: re-randomise them with Encryptor.refresh"
            )
        return BigInts.of(map(int, self.numbers), width=self.key.width)

    def _use(self) -> bool:
        fresh, self._fresh = self._fresh, False
        return fresh

    def __repr__(self) -> str:
        state = "fresh" if self._fresh else "stale"
        return f"Ciphertexts({len(self)} of {self.key.width} bytes, {state})"

    def __reduce__(self) -> str:
        raise MisuseError(
            "expected ciphertexts to leave by travel(), which checks that they are fresh, "
            "found a pickle"
        )


class Multiples:
    """The products of one ciphertext by many integers, computed with one table.

    The products are stale. The quotient of two of them shows the difference of their factors to
    anyone who knows the message.

    Args:
        ciphertext: a row of length 1.
        uses: about how many products will be computed.
    """

    def __init__(self, ciphertext: Ciphertexts, *, uses: int) -> None:
        if len(ciphertext) != 1:
            raise MisuseError(f"expected a single ciphertext to multiply, found {len(ciphertext)}")
        self.key = ciphertext.key
        ciphertext._use()  # noqa: SLF001 - it must not leave beside its products
        self._base = ciphertext.numbers[0]
        self._table: FixedBase | None = None
        if is_only_counted():
            self._shape = counted_shape(self.key.n, bits=self.key.bits, uses=uses)
        else:
            self._table = FixedBase.of(self._base, n=self.key.n, bits=self.key.bits, uses=uses)
            self._shape = self._table.shape

    def of(self, factors: Sequence[int], *, workers: int = 1) -> Ciphertexts:
        """Multiply by each factor."""
        n = self.key.n
        exponents = [index(factor) % n for factor in factors]
        steps = len(exponents) * self._shape.steps
        count_work(WorkKind.COMB_STEP, steps, size=2 * self.key.bits)
        if self._table is None:
            numbers = [open_power(self._base, exponent, n=n) for exponent in exponents]
        else:
            numbers = map_in_threads(self._table.power, exponents, workers=workers)
        return Ciphertexts(self.key, numbers, fresh=False)
