"""The true values of users who answer a question: a cell of a marginal, or a parity of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.binary import BinaryEncoding
from .records import Records

__all__ = ["Integers", "ValueFunction", "cell_values", "parity_values"]

Integers: TypeAlias = npt.NDArray[np.int64]
ValueFunction: TypeAlias = Callable[[Integers, Integers], Integers]
"""A function of rows and questions that returns the true values of the users with these rows.

Questions are in rising order.
"""


def cell_values(records: Records, marginals: Sequence[tuple[str, ...]]) -> ValueFunction:
    """Make a function for users who report their cell of a marginal, one for each question."""

    def values(rows: Integers, questions: Integers) -> Integers:
        cells = np.empty(len(rows), np.int64)
        start = 0
        for question in np.unique(questions).tolist():
            end = int(np.searchsorted(questions, question, side="right"))
            cells[start:end] = records.cells(marginals[question], rows[start:end])
            start = end
        return cells

    return values


def parity_values(records: Records, masks: npt.NDArray[np.uint64]) -> ValueFunction:
    """Make a function for users who report the parity of some bits.

    `masks` has a row for each question. Bit i of a row stands for bit i of a record, in the order
    in which `privacy.BinaryEncoding` writes them; each word has 64.
    """
    columns = BinaryEncoding(records.domain).encode(
        [np.asarray(records.codes(name)) for name in records.domain.attributes]
    )
    bits = np.zeros((len(records), masks.shape[1]), np.uint64)
    for bit, column in enumerate(columns):
        bits[:, bit // 64] |= column.astype(np.uint64) << np.uint64(bit % 64)

    def values(rows: Integers, questions: Integers) -> Integers:
        ones = np.bitwise_count(bits[rows] & masks[questions]).sum(axis=1)
        parities: Integers = (ones & 1).astype(np.int64)
        return parities

    return values
