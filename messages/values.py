"""Values of messages besides those of Python and numpy, and marks for annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import index
from typing import ClassVar, Final

import numpy as np

from .errors import MisuseError, Private

__all__ = ["CIPHERTEXT", "USER_BITS", "BigInts", "Ciphertext", "Shape", "Unsendable", "UserBits"]


@dataclass(frozen=True, slots=True, init=False)
class Shape:
    """The axes of an array field; `None` leaves one free."""

    axes: tuple[int | None, ...]

    def __init__(self, *axes: int | None) -> None:
        object.__setattr__(self, "axes", axes)

    def admits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.axes) and all(
            a is None or a == n for a, n in zip(self.axes, shape, strict=True)
        )

    def __str__(self) -> str:
        return "(" + ", ".join("any" if a is None else str(a) for a in self.axes) + ")"


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """Marks a field whose bytes the ledger counts as ciphertext."""


CIPHERTEXT: Final = Ciphertext()


@dataclass(frozen=True, slots=True)
class UserBits:
    """Marks a number of bits that simulated users send; the ledger adds it up."""


USER_BITS: Final = UserBits()


class Unsendable(np.ndarray[tuple[int, ...], np.dtype[np.generic]]):
    """An array that no message carries."""

    refusal: ClassVar[str]
    """The error that says why; every subclass has it."""


@dataclass(frozen=True, slots=True, repr=False)
class BigInts:
    """Non-negative integers of one fixed width in bytes, one after another in `data`.

    >>> numbers = BigInts.of([1, 2**64], width=16)
    >>> len(numbers), list(numbers) == [1, 2**64], len(numbers.data)
    (2, True, 32)
    """

    width: int
    data: bytes | memoryview

    def __post_init__(self) -> None:
        if not 1 <= self.width < 1 << 32:
            raise MisuseError(f"expected a width from 1 to 2**32 - 1 bytes, found {self.width}")
        if not isinstance(self.data, bytes):
            view = memoryview(self.data).cast("B")
            # Received bytes are a read-only view already. Bytes that may still change are copied.
            object.__setattr__(self, "data", view if view.readonly else bytes(view))
        if len(self.data) % self.width:
            raise MisuseError(
                f"expected a multiple of {self.width} bytes, found ", Private(len(self.data))
            )

    @classmethod
    def of(cls, numbers: Iterable[int], *, width: int) -> BigInts:
        """Write every number in `width` bytes; one that does not fit is an error, never cut."""
        if width < 1:
            raise MisuseError(f"expected a width from 1 to 2**32 - 1 bytes, found {width}")
        try:
            return cls(width, b"".join([index(n).to_bytes(width, "little") for n in numbers]))
        except OverflowError:
            raise MisuseError(
                f"expected integers from 0 to 256**{width} - 1, found one outside: "
                "choose a larger width"
            ) from None
        except TypeError as error:
            raise MisuseError("expected integers, found others: ", Private(error)) from None

    def __len__(self) -> int:
        return len(self.data) // self.width

    def __iter__(self) -> Iterator[int]:
        for start in range(0, len(self.data), self.width):
            yield int.from_bytes(self.data[start : start + self.width], "little")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BigInts)
            and self.width == other.width
            and bytes(self.data) == bytes(other.data)
        )

    def __hash__(self) -> int:
        return hash((self.width, bytes(self.data)))

    def __repr__(self) -> str:
        return f"BigInts({len(self)} of {self.width} bytes)"
