"""Binarisation: every attribute as the bits of its code, the most significant first.

After Zhang et al. (PrivBayes, 2014, "binary encoding"): an attribute of m labels takes ceil(log2 m)
bits, so some patterns of bits belong to no label when m is no power of two; `decode` says which
rows are valid. Public and free of data, so a party may write its codes with it and the curator read
what it sampled.
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
    """The binary form of a domain.

    >>> binary = BinaryEncoding(Domain({"age": ("young", "middle", "old"), "sex": ("f", "m")}))
    >>> binary.bits.attributes
    ('age[0]', 'age[1]', 'sex[0]')
    """

    domain: Domain
    widths: tuple[int, ...] = field(init=False)
    bits: Domain = field(init=False)
    """The domain of the bits; an attribute with one label has none."""

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
        """List an attribute's bits."""
        width = self.widths[self.domain.attributes.index(attribute)]
        return tuple(f"{attribute}[{bit}]" for bit in range(width))

    def encode(self, codes: Sequence[Codes]) -> list[Bits]:
        """Write codes, an array an attribute, as bits, an array a bit."""
        return [
            ((column >> (width - 1 - bit)) & 1).astype(np.uint8)
            for column, width in zip(codes, self.widths, strict=True)
            for bit in range(width)
        ]

    def decode(
        self, bits: Sequence[Bits]
    ) -> tuple[list[npt.NDArray[np.uint16]], npt.NDArray[np.bool_]]:
        """Read bits as codes, and say which rows are valid: those in which every pattern has a
        label.
        """
        if len(bits) != len(self.bits.labels):
            raise ValueError(f"expected {len(self.bits.labels)} bits, found {len(bits)}")
        rows = len(bits[0]) if bits else 0
        valid, codes, at = np.ones(rows, np.bool_), [], 0
        for labels, width in zip(self.domain.labels.values(), self.widths, strict=True):
            column = np.zeros(rows, np.uint16)
            for bit in bits[at : at + width]:
                column = (column << np.uint16(1)) | bit
            valid &= column < len(labels)
            codes.append(column)
            at += width
        return codes, valid
