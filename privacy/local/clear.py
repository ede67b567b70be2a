"""LabelDP's report: attributes as they are, and the label by randomized response.

LEAK: every adversary that receives a report knows the user's attributes. Epsilon bounds the loss of
the label alone, and it does not bound what the attributes reveal of the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from ...crypto import UserWords
from .direct import DirectEncoding
from .packing import read_integers
from .randomizer import Codes, Counts, Reports, report

__all__ = ["ClearAttributes"]


class ClearAttributes:
    """The encoding of users' attributes in clear, and of a randomized label."""

    name = "clear-attributes"

    def __init__(self, sizes: Sequence[int], *, labels: int, epsilon: float) -> None:
        self.sizes = tuple(sizes)
        self.label = DirectEncoding(labels, epsilon=epsilon)
        self._widths = [(size - 1).bit_length() for size in self.sizes]

    @property
    def epsilon(self) -> float:
        return self.label.epsilon

    local_epsilon = inf

    @property
    def bits(self) -> int:
        return sum(self._widths) + self.label.bits

    def report(
        self,
        attributes: Sequence[Codes],
        labels: Codes,
        *,
        users: npt.NDArray[np.int64],
        words: UserWords,
    ) -> Reports:
        """Make the reports of these users."""
        randomized = read_integers(
            report(self.label, labels, users=users, words=words), bits=self.label.bits
        )[:, 0]
        columns = [
            (np.asarray(codes, np.int64)[:, None] >> np.arange(width)) & 1
            for codes, width in zip(
                [*attributes, randomized], [*self._widths, self.label.bits], strict=True
            )
        ]
        return np.packbits(
            np.concatenate(columns, axis=1).astype(np.uint8), axis=1, bitorder="little"
        )

    def counts(self, reports: Reports) -> list[Counts]:
        """Count users by reported label and value, for each attribute: a row for each label.

        Raises:
            ValueError: a report is impossible.
        """
        bits = np.unpackbits(reports, axis=1, count=self.bits, bitorder="little").astype(np.int64)
        ends = np.cumsum([*self._widths, self.label.bits])
        columns = [
            (bits[:, end - width : end] << np.arange(width)).sum(axis=1)
            for end, width in zip(ends, [*self._widths, self.label.bits], strict=True)
        ]
        limits = [*self.sizes, self.label.cells]
        if any(c.max(initial=0) >= limit for c, limit in zip(columns, limits, strict=True)):
            raise ValueError(
                f"expected values of {len(self.sizes)} attributes and a label, "
                "found one that is too large"
            )
        *attributes, reported = columns
        labels = self.label.cells
        return [
            np.bincount(reported * size + values, minlength=labels * size).reshape(labels, size)
            for values, size in zip(attributes, self.sizes, strict=True)
        ]

    def joint(self, counts: Counts) -> npt.NDArray[np.float64]:
        """Estimate Pr[label, value] of one attribute, without bias.

        Only labels need the correction, since values are reported as they are.
        """
        p, q = float(self.label.p), float(self.label.q)
        return np.asarray((counts - q * counts.sum(axis=0)) / ((p - q) * counts.sum()))
