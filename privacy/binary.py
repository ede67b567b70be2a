"""Binary encoding: every attribute as the bits of its code, the most significant bit first.

The encoding is that of Zhang et al. (PrivBayes, 2014). An attribute of m labels takes ceil(log2 m)
bits. So some patterns of bits have no label when m is no power of two; `decode` says which rows are
valid. The encoding depends on public facts alone. So a party may encode its records with it, and
the curator decode rows that it sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .domain import Domain

__all__ = ["BinaryEncoding"]

Bits = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class BinaryEncoding:
    """The binary encoding of a domain.

    >>> binary = BinaryEncoding(Domain({"age": ("young", "middle", "old"), "sex": ("f", "m")}))
    >>> binary.bits.attributes
    ('age[0]', 'age[1]', 'sex[0]')
    """

    domain: Domain
    widths: tuple[int, ...] = field(init=False)
    bits: Domain = field(init=False)
    """Domain of the bits; an attribute with one label has no bit."""

    def __post_init__(self) -> None:
        widths = tuple((len(labels) - 1).bit_length() for labels in self.domain.labels.values())
        names = [
            f"{name}[{bit}]"
            for name, width in zip(self.domain.labels, widths, strict=True)
            for bit in range(width)
        ]
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "bits", Domain(dict.fromkeys(names, ("0", "1"))))

    def of(self, attribute: str) -> tuple[str, ...]:
        """List the names of an attribute's bits."""
        width = self.widths[self.domain.attributes.index(attribute)]
        return tuple(f"{attribute}[{bit}]" for bit in range(width))

    def encode(self, codes: Sequence[Codes]) -> list[Bits]:
        """Encode codes, an array for each attribute, as bits, an array for each bit."""
        return [
            ((column >> (width - 1 - bit)) & 1).astype(np.uint8)
            for column, width in zip(codes, self.widths, strict=True)
            for bit in range(width)
        ]

    def decode(
        self, bits: Sequence[Bits]
    ) -> tuple[list[npt.NDArray[np.uint16]], npt.NDArray[np.bool_]]:
        """Decode bits; also tell which rows are valid, because every pattern has a label."""
        if len(bits) != len(self.bits.labels):
            raise ValueError(f"expected {len(self.bits.labels)} bits, found {len(bits)}")
        rows = len(bits[0]) if bits else 0
        valid, codes, start = np.ones(rows, np.bool_), [], 0
        for labels, width in zip(self.domain.labels.values(), self.widths, strict=True):
            column = np.zeros(rows, np.uint16)
            for bit in bits[start : start + width]:
                column = (column << np.uint16(1)) | bit
            valid &= column < len(labels)
            codes.append(column)
            start += width
        return codes, valid
