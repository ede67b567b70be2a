"""How a set of k of m values is written: in the fewest bits of three forms.

    bitmap   m bits, one for each value
    list     k ceil(log2 m) bits, the values in rising order
    rank     ceil(log2 C(m, k)) bits: the set's place among all sets of k values, by the combinatorial number system,
             C(c_1, 1) + C(c_2, 2) + ... + C(c_k, k) for c_1 < c_2 < ... < c_k. No code of whole
             bits is shorter

A rank is a number of hundreds of bits; it is added up and taken apart in limbs of 48, many users'
at a time. Where the table of all C(c, i) would be too large, there is no rank.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from math import comb
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .bits import column_sums
from .packing import read_integers, write_integers
from .randomizer import Codes, Counts, Reports

__all__ = ["Form", "bits_of_set", "count_sets", "shortest", "write_sets", "write_values"]

Form = Literal["bitmap", "list", "rank"]

MOST_LIMBS: Final = 1 << 18
"""Of the table of all C(c, i)."""
LIMB: Final = 48
"""Bits of a limb: as many as leave room for the sum of 2^15 of them."""
AT_A_TIME: Final = 1 << 13
"""Users whose ranks are taken apart at a time: their limbs stay in the cache."""
FEW_AT_ONCE: Final = 8
"""Values of all sets together, for each cell, below which they are sooner found one by one."""


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
    """Choose the form of the fewest bits; of equal ones the one that is quicker to read.

    >>> [shortest(250, chosen) for chosen in (1, 5, 124)], shortest(1_000_000, 400_000)
    (['list', 'rank', 'rank'], 'bitmap')
    """
    forms: list[Form] = ["bitmap", "list"]
    if (
        ranks
        and chosen * cells <= MOST_LIMBS
        and chosen * cells * _limbs(cells, chosen) <= MOST_LIMBS
    ):
        forms.append("rank")
    return min(forms, key=lambda form: bits_of_set(cells, chosen, form))


def write_sets(bitmaps: Reports, *, cells: int, chosen: int, form: Form) -> Reports:
    """Write sets that come as a bit for each value."""
    if form == "bitmap":
        return bitmaps
    bits = np.unpackbits(bitmaps, axis=1, count=cells, bitorder="little")
    values = (np.flatnonzero(bits) % cells).reshape(len(bitmaps), chosen)
    return write_values(values, cells=cells, chosen=chosen, form=form)


def write_values(values: Codes, *, cells: int, chosen: int, form: Form) -> Reports:
    """Write sets that come as their values in rising order."""
    match form:
        case "list":
            return write_integers(values.astype(np.uint64), bits=(cells - 1).bit_length())
        case "rank":
            return _ranks(values, cells=cells, chosen=chosen)
        case "bitmap":
            found = np.zeros((len(values), -(-cells // 8)), np.uint8)
            np.bitwise_or.at(
                found,
                (np.arange(len(values))[:, None], values >> 3),
                (1 << (values & 7)).astype(np.uint8),
            )
            return found


def count_sets(reports: Reports, *, cells: int, chosen: int, form: Form) -> Counts:
    """Count, for each value, the sets that have it; what is no set of so many values is a
    `ValueError`.
    """
    if form == "bitmap":
        found = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        if (found != chosen).any() or (cells % 8 and (reports[:, -1] >> cells % 8).any()):
            raise ValueError(f"expected sets of {chosen} of {cells} values, found others")
        return column_sums(reports, columns=cells)
    if form == "list":
        said = read_integers(reports, bits=(cells - 1).bit_length(), numbers=chosen)
        if (said >= cells).any() or (np.diff(said, axis=1) <= 0).any():
            raise ValueError(
                f"expected {chosen} values below {cells} in rising order, found others"
            )
        return np.bincount(said.reshape(-1), minlength=cells).astype(np.int64)
    if len(reports) * chosen < cells * FEW_AT_ONCE:
        return _count_few(reports, cells=cells, chosen=chosen)
    counts = np.zeros(cells, np.int64)
    for start in range(0, len(reports), AT_A_TIME):
        counts += _count_ranks(reports[start : start + AT_A_TIME], cells=cells, chosen=chosen)
    return counts


def _limbs(cells: int, chosen: int) -> int:
    return max(1, -(-comb(cells, chosen).bit_length() // LIMB))


@lru_cache(maxsize=64)
def _binomials(cells: int, chosen: int) -> list[list[int]]:
    """All C(c, i): a line for each i from 0 to k, of c below m."""
    lines = [[1] * cells]
    for _ in range(chosen):
        lines.append([0, *_running(lines[-1])])  # C(c, i) is the sum of C(b, i - 1) over b < c
    return lines


@lru_cache(maxsize=64)
def _table(cells: int, chosen: int) -> npt.NDArray[np.int64]:
    """The same in limbs, lowest first: an array by i, c, limb."""
    found = np.zeros((chosen + 1, cells, _limbs(cells, chosen)), np.int64)
    for i, line in enumerate(_binomials(cells, chosen)):
        for limb in range(found.shape[2]):
            # What is above the largest rank is never read.
            found[i, :, limb] = [(value >> LIMB * limb) & ((1 << LIMB) - 1) for value in line]
    found.flags.writeable = False
    return found


def _running(line: list[int]) -> list[int]:
    found, total = [], 0
    for value in line[:-1]:
        total += value
        found.append(total)
    return found


def _ranks(values: Codes, *, cells: int, chosen: int) -> Reports:
    table = _table(cells, chosen)
    limbs = np.zeros((len(values), table.shape[2]), np.int64)
    for at in range(chosen):
        limbs += table[at + 1, values[:, at]]
    for limb in range(table.shape[2] - 1):
        limbs[:, limb + 1] += limbs[:, limb] >> LIMB
    octets = (
        (limbs & ((1 << LIMB) - 1))
        .astype("<i8")
        .view(np.uint8)
        .reshape(len(limbs), -1, 8)[:, :, : LIMB // 8]
    )
    return np.ascontiguousarray(
        octets.reshape(len(limbs), -1)[:, : -(-bits_of_set(cells, chosen, "rank") // 8)]
    )


def _count_few(reports: Reports, *, cells: int, chosen: int) -> Counts:
    """Find the values of each set by bisection."""
    lines, last = _binomials(cells, chosen), comb(cells, chosen)
    counts = np.zeros(cells, np.int64)
    for own in reports:
        rank = int.from_bytes(own.tobytes(), "little")
        if rank >= last:
            raise ValueError(
                f"expected ranks of sets of {chosen} of {cells} values, found one that is too large"
            )
        cell = cells
        for i in range(chosen, 0, -1):
            cell = bisect_right(lines[i], rank, hi=cell) - 1
            rank -= lines[i][cell]
            counts[cell] += 1
    return counts


def _count_ranks(reports: Reports, *, cells: int, chosen: int) -> Counts:
    """Walk the values from the highest down: one is in the set if what is left of the rank reaches
    C(c, i).
    """
    table = _table(cells, chosen)
    octets = np.zeros((len(reports), table.shape[2] * LIMB // 8), np.uint8)
    octets[:, : reports.shape[1]] = reports
    limbs = np.zeros((len(reports), table.shape[2], 8), np.uint8)
    limbs[:, :, : LIMB // 8] = octets.reshape(len(reports), -1, LIMB // 8)
    rank = np.ascontiguousarray(limbs.view("<i8")[:, :, 0].T)
    last = comb(cells, chosen)
    whole = [(last >> LIMB * limb) & ((1 << LIMB) - 1) for limb in range(table.shape[2])]
    if (_less(rank, np.array(whole, np.int64)[:, None])[1] >= 0).any():
        raise ValueError(
            f"expected ranks of sets of {chosen} of {cells} values, found one that is too large"
        )
    counts = np.zeros(cells, np.int64)
    left = np.full(len(reports), chosen)
    for cell in range(cells - 1, -1, -1):
        rest, borrow = _less(rank, table[left, cell].T)
        taken = (borrow >= 0) & (left > 0)
        counts[cell] = np.count_nonzero(taken)
        rank = np.where(taken, rest, rank)
        left = left - taken
    return counts


def _less(
    one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Subtract limb by limb; what is borrowed in the end is -1 where `one` is less than `other`."""
    rest = one - other
    borrow = np.zeros(rest.shape[1], np.int64)
    for limb in range(len(rest)):
        rest[limb] += borrow
        borrow = rest[limb] >> LIMB
        rest[limb] &= (1 << LIMB) - 1
    return rest, borrow
