"""Statistics of answers: numbers by which an adversary may tell two neighbouring datasets apart.

Answers are lists of numbers, which may differ in length. Besides the numbers themselves the
statistics look at what an honest mechanism hides and a careless one shows: the parity of integers,
the lowest bits of floats, and how many numbers there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["DERIVED_TABLES", "Answer", "Numbers", "as_table", "borders", "score_table"]

Answer: TypeAlias = npt.ArrayLike
"""Everything that one run answered, as a list of numbers."""
Numbers: TypeAlias = npt.NDArray[np.float64]

MAX_BINS: Final = 24
"""Number of bins into which a column is cut; values that occur often have a bin of their own."""
MAX_ATOMS: Final = 24
"""Number of frequent values that have a bin of their own."""
ABSENT: Final = -np.inf
"""Stands for numbers that a shorter answer lacks, and for no number (NaN)."""
NO_BITS: Final = -1100.0
"""Exponent of the lowest bit of zero and infinity, which have none."""


def as_table(answers: Sequence[Answer], *, width: int | None = None) -> Numbers:
    """Write answers as rows of a table; a last column has their lengths.

    Args:
        answers: the answers, each of which is flattened.
        width: the number of columns for numbers; by default that of the longest answer.
    """
    rows = [np.asarray(answer, np.float64).reshape(-1) for answer in answers]
    columns = max((len(row) for row in rows), default=0) if width is None else width
    table = np.full((len(rows), columns + 1), ABSENT)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row[:columns]
        table[index, columns] = len(row)
    table[np.isnan(table)] = ABSENT
    return table


def _numbers(table: Numbers) -> Numbers:
    return table


def _fractions(table: Numbers) -> Numbers:
    """Keep what stands behind the point."""
    return np.asarray(np.mod(_finite(table), 1.0))


def _lowest_bits(table: Numbers) -> Numbers:
    """Find the exponent of the lowest bit that is set: -2 for 0.75, 3 for 8, 0 for odd numbers."""
    fraction, exponent = np.frexp(_finite(table))
    mantissa = np.abs(fraction * 2.0**53).astype(np.int64)
    lowest = np.where(mantissa > 0, mantissa & -mantissa, 1).astype(np.float64)
    places = np.log2(lowest) + exponent - 53
    return np.where(mantissa > 0, places, NO_BITS)


def _finite(table: Numbers) -> Numbers:
    return np.where(np.isfinite(table), table, 0.0)


DERIVED_TABLES: Final[tuple[Callable[[Numbers], Numbers], ...]] = (
    _numbers,
    _lowest_bits,
    _fractions,
)
"""Tables of the same shape that are computed from a table of answers, number by number."""


def borders(column: Numbers) -> Numbers:
    """Cut a column into bins by its quantiles; frequent values have bins of their own."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= MAX_BINS:
        return values[1:]
    cuts = np.quantile(column, np.linspace(0, 1, MAX_BINS + 1)[1:-1], method="lower")
    often = np.argsort(counts)[::-1][:MAX_ATOMS]
    atoms = values[often[counts[often] >= max(3, len(column) // 200)]]
    return np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, np.inf)]))


def score_table(first: Numbers, second: Numbers, cuts: Numbers) -> Numbers:
    """Estimate the log-ratio of the two laws in each bin of one column, shrunk towards zero."""
    size = len(cuts) + 1
    counts = [
        np.bincount(np.searchsorted(cuts, column, side="right"), minlength=size) + 0.5
        for column in (first, second)
    ]
    shares = [count / count.sum() for count in counts]
    ratio = np.log(shares[0] / shares[1])
    variance = 1 / counts[0] + 1 / counts[1]
    keep = np.maximum(0.0, 1 - 2 * variance / np.maximum(ratio**2, 1e-12))
    return np.asarray(ratio * keep)
