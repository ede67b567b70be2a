"""Masks without encryption: cells are added modulo 256**width.

Arithmetic is modulo 2**64, a multiple of 256**width, and only the lowest bytes travel. A listener
to all messages that reach the curator learns what the curator learns, which is private already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from ...messages import UsageError, WorkKind, count_work
from ...privacy.batch import Batch
from .options import SecureSums
from .star import Mask

__all__ = ["WORDS_PAGE", "HiddenWords", "check_cells", "masked_width"]

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

WORDS_PAGE: Final = 1 << 18
"""Cells on a page."""


def masked_width(batch: Batch) -> int:
    """Compute the bytes of a cell, which hold every final sum with its sign."""
    width = -(-(batch.bound(shares=True).bit_length() + 1) // 8)
    if width > 8:
        raise UsageError(f"expected sums below 2**63, found a bound of {batch.bound(shares=True)}")
    return width


def check_cells(width: int) -> int:
    """Count the zero cells at the end of a page, which take 8 bytes.

    Masks that do not cancel leave all of them zero with a probability of 2**-64.
    """
    return -(-8 // width)


@dataclass(frozen=True)
class HiddenWords:
    """One batch's cells as words with masks; a party hides them, and the curator reveals the sum.

    The zeros at the end of a page show whether the masks cancel.
    """

    width: int
    bound: int

    kind: ClassVar = SecureSums.Masked

    @classmethod
    def of(cls, batch: Batch) -> HiddenWords:
        return cls(masked_width(batch), batch.bound(shares=True))

    @property
    def page_cells(self) -> int:
        return WORDS_PAGE

    def hide(
        self, cells: Counts, masks: Sequence[Mask], *, batch: int, page: int
    ) -> SecureSums.Masked:
        """Add the masks modulo 256**width."""
        padded = np.concatenate([cells, np.zeros(check_cells(self.width), np.int64)])
        masked = padded.astype(np.uint64)
        count_work(WorkKind.MASK, self.width * len(masked) * len(masks))
        for mask in masks:
            octets = np.frombuffer(mask.stream.draw(self.width * len(masked)), np.uint8)
            words = self._widen(octets)
            masked = masked + words if mask.sign > 0 else masked - words
        return SecureSums.Masked(batch, page, self._narrow(masked))

    def reveal(
        self, pages: Sequence[SecureSums.Masked], *, cells: int, own_masks: Sequence[Mask] = ()
    ) -> Counts:
        """Add all parties' words, in which the masks cancel, and own masks."""
        sent = cells + check_cells(self.width)
        total = np.zeros(sent, np.uint64)
        for page in pages:
            if page.cells.size != sent * self.width:
                raise ValueError(
                    f"expected {sent * self.width} bytes on a page of {cells} cells, "
                    f"found {page.cells.size}"
                )
            total += self._widen(page.cells)
        for mask in own_masks:
            octets = np.frombuffer(mask.stream.draw(self.width * sent), np.uint8)
            total = total + self._widen(octets) if mask.sign > 0 else total - self._widen(octets)
        unused = np.uint64(64 - 8 * self.width)
        # An arithmetic shift to the right extends the sign.
        sums: Counts = (total << unused).view(np.int64) >> unused.astype(np.int64)
        if np.any(sums[cells:]):
            raise ValueError("expected masks that cancel in the sum of all, found others")
        if np.any((sums > self.bound) | (sums < -self.bound)):
            raise ValueError(
                f"expected sums of at most {self.bound} in size, found one above: wrong counts"
            )
        return sums[:cells]

    def _widen(self, octets: npt.NDArray[np.uint8]) -> Words:
        wide = np.zeros((octets.size // self.width, 8), np.uint8)
        wide[:, : self.width] = octets.reshape(-1, self.width)
        words: Words = wide.view("<u8").reshape(-1).astype(np.uint64)
        return words

    def _narrow(self, words: Words) -> npt.NDArray[np.uint8]:
        wide = words.astype("<u8").view(np.uint8).reshape(-1, 8)
        octets: npt.NDArray[np.uint8] = wide[:, : self.width].reshape(-1)
        return octets
