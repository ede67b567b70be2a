"""Encodings of a set of k of m values: the shortest of three forms is used.

    bitmap   m bits, one for each value
    list     k ceil(log2 m) bits: the values in rising order
    rank     ceil(log2 C(m, k)) bits: the set's index among all sets of k values, which is
             C(c_1, 1) + C(c_2, 2) + ... + C(c_k, k) for c_1 < c_2 < ... < c_k (the combinatorial
             number system); no code of whole bits is shorter

A rank may have hundreds of bits. It is computed and read in limbs of 48 bits, for many users at
once. Where the table of all C(c, i) would be too large, ranks are not used.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .bits import column_sums
from .packing import read_integers, write_integers
from .randomizer import Codes, Counts, Reports

__all__ = ["Form", "bits_of_set", "count_sets", "shortest", "write_sets", "write_values"]

Form = Literal["bitmap", "list", "rank"]

MAX_LIMBS: Final = 1 << 18
"""Largest table of all C(c, i)."""
LIMB_BITS: Final = 48
"""Bits of a limb; a sum of 2^15 limbs fits into 64 bits."""
BATCH_REPORTS: Final = 1 << 13
"""Batch size: the limbs fit in the cache."""
MIN_VALUES_PER_CELL: Final = 8
"""With fewer values per cell in all sets together, reading ranks one by one is faster."""


def bits_of_set(cells: int, chosen: int, form: Form) -> int:
    """Count the bits of a set.

    >>> [bits_of_set(250, 12, form) for form in ("bitmap", "list", "rank")]
    [250, 96, 67]
    """
    match form:
        case "bitmap":
            return cells
        case "list":
            return chosen * (cells - 1).bit_length()
        case "rank":
            return (comb(cells, chosen) - 1).bit_length()


def shortest(cells: int, chosen: int, *, ranks: bool = True) -> Form:
    """Choose the form with the fewest bits; of equal ones the one that is faster to read.

    >>> [shortest(250, chosen) for chosen in (1, 5, 124)], shortest(1_000_000, 400_000)
    (['list', 'rank', 'rank'], 'bitmap')
    """
    forms: list[Form] = ["bitmap", "list"]
    if (
        ranks
        and chosen * cells <= MAX_LIMBS
        and chosen * cells * _limbs(cells, chosen) <= MAX_LIMBS
    ):
        forms.append("rank")
    return min(forms, key=lambda form: bits_of_set(cells, chosen, form))


def write_sets(bitmaps: Reports, *, cells: int, chosen: int, form: Form) -> Reports:
    """Write sets that are given as bitmaps."""
    if form == "bitmap":
        return bitmaps
    bits = np.unpackbits(bitmaps, axis=1, count=cells, bitorder="little")
    values = (np.flatnonzero(bits) % cells).reshape(len(bitmaps), chosen)
    return write_values(values, cells=cells, chosen=chosen, form=form)


def write_values(values: Codes, *, cells: int, chosen: int, form: Form) -> Reports:
    """Write sets that are given as values in rising order."""
    match form:
        case "list":
            return write_integers(values.astype(np.uint64), bits=(cells - 1).bit_length())
        case "rank":
            return _ranks(values, cells=cells, chosen=chosen)
        case "bitmap":
            bitmaps = np.zeros((len(values), -(-cells // 8)), np.uint8)
            np.bitwise_or.at(
                bitmaps,
                (np.arange(len(values))[:, None], values >> 3),
                (1 << (values & 7)).astype(np.uint8),
            )
            return bitmaps


def count_sets(reports: Reports, *, cells: int, chosen: int, form: Form) -> Counts:
    """Count the sets that have each value.

    Raises:
        ValueError: a report is no set of `chosen` values.
    """
    if form == "bitmap":
        sizes = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        if (sizes != chosen).any() or (cells % 8 and (reports[:, -1] >> cells % 8).any()):
            raise ValueError(f"expected sets of {chosen} of {cells} values, found others")
        return column_sums(reports, columns=cells)
    if form == "list":
        values = read_integers(reports, bits=(cells - 1).bit_length(), numbers=chosen)
        if (values >= cells).any() or (np.diff(values, axis=1) <= 0).any():
            raise ValueError(
                f"expected {chosen} values below {cells} in rising order, found others"
            )
        return np.bincount(values.reshape(-1), minlength=cells).astype(np.int64)
    if len(reports) * chosen < cells * MIN_VALUES_PER_CELL:
        return _count_few(reports, cells=cells, chosen=chosen)
    counts = np.zeros(cells, np.int64)
    for start in range(0, len(reports), BATCH_REPORTS):
        counts += _count_ranks(reports[start : start + BATCH_REPORTS], cells=cells, chosen=chosen)
    return counts


def _limbs(cells: int, chosen: int) -> int:
    return max(1, -(-comb(cells, chosen).bit_length() // LIMB_BITS))


@lru_cache(maxsize=64)
def _binomials(cells: int, chosen: int) -> list[list[int]]:
    """Tabulate C(c, i): a row for each i from 0 to k, of all c below m."""
    rows = [[1] * cells]
    for _ in range(chosen):
        # C(c, i) is the sum of C(b, i - 1) over b < c.
        rows.append([0, *accumulate(rows[-1][:-1])])
    return rows


@lru_cache(maxsize=64)
def _table(cells: int, chosen: int) -> npt.NDArray[np.int64]:
    """Tabulate C(c, i) in limbs, the lowest first: an array by i, c and limb."""
    table = np.zeros((chosen + 1, cells, _limbs(cells, chosen)), np.int64)
    for i, line in enumerate(_binomials(cells, chosen)):
        for limb in range(table.shape[2]):
            # Digits above those of the largest rank are never read.
            table[i, :, limb] = [
                (value >> LIMB_BITS * limb) & ((1 << LIMB_BITS) - 1) for value in line
            ]
    table.flags.writeable = False
    return table


def _ranks(values: Codes, *, cells: int, chosen: int) -> Reports:
    table = _table(cells, chosen)
    limbs = np.zeros((len(values), table.shape[2]), np.int64)
    for index in range(chosen):
        limbs += table[index + 1, values[:, index]]
    for limb in range(table.shape[2] - 1):
        limbs[:, limb + 1] += limbs[:, limb] >> LIMB_BITS
    octets = (
        (limbs & ((1 << LIMB_BITS) - 1))
        .astype("<i8")
        .view(np.uint8)
        .reshape(len(limbs), -1, 8)[:, :, : LIMB_BITS // 8]
    )
    return np.ascontiguousarray(
        octets.reshape(len(limbs), -1)[:, : -(-bits_of_set(cells, chosen, "rank") // 8)]
    )


def _count_few(reports: Reports, *, cells: int, chosen: int) -> Counts:
    """Count like `_count_ranks`, by bisection for one set after another."""
    rows, total = _binomials(cells, chosen), comb(cells, chosen)
    counts = np.zeros(cells, np.int64)
    for report in reports:
        rank = int.from_bytes(report.tobytes(), "little")
        if rank >= total:
            raise ValueError(
                f"expected ranks of sets of {chosen} of {cells} values, found one that is too large"
            )
        cell = cells
        for i in range(chosen, 0, -1):
            cell = bisect_right(rows[i], rank, hi=cell) - 1
            rank -= rows[i][cell]
            counts[cell] += 1
    return counts


def _count_ranks(reports: Reports, *, cells: int, chosen: int) -> Counts:
    """Count the sets that have each value.

    The values are tried from the highest down. Value c is in the set if the rest of the rank is at
    least C(c, i), where i values are left to find.
    """
    table = _table(cells, chosen)
    octets = np.zeros((len(reports), table.shape[2] * LIMB_BITS // 8), np.uint8)
    octets[:, : reports.shape[1]] = reports
    limbs = np.zeros((len(reports), table.shape[2], 8), np.uint8)
    limbs[:, :, : LIMB_BITS // 8] = octets.reshape(len(reports), -1, LIMB_BITS // 8)
    rank = np.ascontiguousarray(limbs.view("<i8")[:, :, 0].T)
    total = comb(cells, chosen)
    bound = [(total >> LIMB_BITS * limb) & ((1 << LIMB_BITS) - 1) for limb in range(table.shape[2])]
    if (_subtract(rank, np.array(bound, np.int64)[:, None])[1] >= 0).any():
        raise ValueError(
            f"expected ranks of sets of {chosen} of {cells} values, found one that is too large"
        )
    counts = np.zeros(cells, np.int64)
    left = np.full(len(reports), chosen)
    for cell in range(cells - 1, -1, -1):
        rest, borrow = _subtract(rank, table[left, cell].T)
        taken = (borrow >= 0) & (left > 0)
        counts[cell] = np.count_nonzero(taken)
        rank = np.where(taken, rest, rank)
        left = left - taken
    return counts


def _subtract(
    minuend: npt.NDArray[np.int64], subtrahend: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Subtract limb by limb; the borrow is -1 where the minuend is the smaller number."""
    rest = minuend - subtrahend
    borrow = np.zeros(rest.shape[1], np.int64)
    for limb in range(len(rest)):
        rest[limb] += borrow
        borrow = rest[limb] >> LIMB_BITS
        rest[limb] &= (1 << LIMB_BITS) - 1
    return rest, borrow
