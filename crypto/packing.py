"""Packing: many signed counts in one plaintext.

Values y_0 .. y_{L-1} become M = sum of y_s * 2**(w*s), an ordinary signed sum. Adding two such M
adds slot by slot, borrows included: the sum of the M *is* the M of the sums, as integers. So it can
be read back exactly if, at the end,

    1. every sum keeps |y_s| < 2**(w-1), since balanced digits are unique, and
    2. |M| < n / 2, so that M modulo n can be centred again.

Condition 1 holds by the choice of w = bitlen(bound) + 1: |y_s| <= bound < 2**bitlen(bound) =
2**(w-1). Here `bound` is a public bound on the *final* sums, with all parties' rows and all noise.
Partial sums may be anything. Condition 2 follows, since w*L <= |n| - 2 bits:

    |M| < 2**(w-1) * (1 + 2**w + ...) < 2**(w*L - 1) * (1 + 2**(1-w)) <= 2**(w*L)
        <= 2**(|n|-2) < n/2

A noise bound holds except with a small probability (`privacy.batch`: 2**-40 for each batch). If it
is exceeded, a slot overflows into its neighbour. `unpack` notices values between the bound and
2**(w-1), digits of M above the last slot, and unused slots that are not zero. An overflow costs
accuracy, never privacy, because unpacking comes after the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Packing"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Layout of a plaintext: `slots` slots of `width` bits, for sums of at most `bound` in size."""

    width: int
    slots: int
    bound: int

    @classmethod
    def fitting(cls, bound: int, *, key_bits: int) -> Packing:
        """Choose the narrowest slots for final sums of at most `bound` in size.

        >>> Packing.fitting(1000, key_bits=2048)
        Packing(width=11, slots=186, bound=1000)
        """
        width = bound.bit_length() + 1
        if bound < 1 or width > 63:
            raise ValueError(f"expected a bound from 1 to 2**62 - 1, found {bound}")
        if width > key_bits - 2:
            raise ValueError(
                f"expected a key of at least {width + 2} bits for counts up to {bound}, "
                f"found {key_bits}"
            )
        return cls(width, (key_bits - 2) // width, bound)

    def plaintexts(self, cells: int) -> int:
        """Count the plaintexts that this many values take."""
        return -(-cells // self.slots)

    def pack(self, values: Counts) -> list[int]:
        """Write values; the last plaintext is filled up with zeros.

        A value v is written bit by bit as v + 2**(w-1), which is not negative. The excess of all
        slots is subtracted in one piece. A single party's value may exceed the bound that holds for
        sums. It must fit into int64, though, and the packed number into the plaintext. Shares of
        noise do, except with a probability far below that of an overflow.
        """
        groups, half = self.plaintexts(len(values)), 1 << (self.width - 1)
        if len(values) and (values.min() < -half or values.max() >= half):
            # A share of noise may be larger than any sum should be. It is exact all the same.
            return [
                sum(
                    int(value) << (self.width * slot)
                    for slot, value in enumerate(values[start : start + self.slots])
                )
                for start in range(0, len(values), self.slots)
            ]
        full = np.zeros(groups * self.slots, np.int64)
        full[: len(values)] = values
        octets = (full + half).astype("<u8").view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, : self.width].reshape(
            groups, self.slots * self.width
        )
        return [
            int.from_bytes(row.tobytes(), "little") - self._excess
            for row in np.packbits(bits, axis=1, bitorder="little")
        ]

    def unpack(self, plaintexts: Sequence[int], *, cells: int) -> Counts:
        """Read `cells` values.

        Raises:
            OverflowError: a sum exceeded the bound.
        """
        if len(plaintexts) != self.plaintexts(cells):
            raise ValueError(
                f"expected {self.plaintexts(cells)} plaintexts for {cells} values, "
                f"found {len(plaintexts)}"
            )
        octets = -(-self.width * self.slots // 8)
        rows = []
        for plain in plaintexts:
            lifted = plain + self._excess
            if lifted < 0 or lifted.bit_length() > self.width * self.slots:
                raise OverflowError(
                    f"expected {self.slots} slots of {self.width} bits, "
                    "found a sum that exceeds them"
                )
            rows.append(lifted.to_bytes(octets, "little"))
        packed = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), octets)
        bits = np.unpackbits(
            packed, axis=1, count=self.width * self.slots, bitorder="little"
        ).reshape(-1, self.width)
        wide = np.zeros((len(bits), 64), np.uint8)
        wide[:, : self.width] = bits
        values = np.packbits(wide, axis=1, bitorder="little").view("<i8").reshape(-1) - (
            1 << (self.width - 1)
        )
        read: Counts = values[:cells].astype(np.int64)
        if len(read) and int(np.abs(read).max()) > self.bound:
            raise OverflowError(f"expected sums of at most {self.bound} in size, found one above")
        if np.any(values[cells:]):
            raise OverflowError(
                "expected zeros in the unused slots, found others: "
                "a sum overflowed into its neighbour"
            )
        return read

    @property
    def _excess(self) -> int:
        """2**(w-1) in every slot."""
        return (1 << (self.width - 1)) * (
            ((1 << (self.width * self.slots)) - 1) // ((1 << self.width) - 1)
        )
