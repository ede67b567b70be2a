"""Packing: integers and reports one after another, without gaps, with the lowest bit first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .randomizer import Codes, Reports, Words

__all__ = ["pack", "packed_size", "read_integers", "unpack", "write_integers"]


def packed_size(reports: int, *, bits: int) -> int:
    """Count the bytes of packed reports of `bits` bits each."""
    return -(-reports * bits // 8)


def pack(reports: Reports, *, bits: int) -> npt.NDArray[np.uint8]:
    """Pack reports without gaps, as they are sent.

    >>> pack(np.array([[5], [6], [1]], np.uint8), bits=3).tolist()
    [117, 0]
    """
    if bits % 8 == 0:
        return np.ascontiguousarray(reports).reshape(-1)
    return np.packbits(
        np.unpackbits(reports, axis=1, count=bits, bitorder="little"), bitorder="little"
    )


def unpack(data: npt.NDArray[np.uint8], *, bits: int, reports: int) -> Reports:
    """Unpack the given number of reports.

    Raises:
        ValueError: the data have another length, or bits after the last report.
    """
    if data.shape != (packed_size(reports, bits=bits),):
        expected = packed_size(reports, bits=bits)
        raise ValueError(
            f"expected {reports} reports of {bits} bits in {expected} bytes, found {data.size}"
        )
    if bits % 8 == 0:
        return data.reshape(reports, bits // 8)
    if (used := reports * bits % 8) and int(data[-1]) >> used:
        raise ValueError("expected zeros after the last report, found other bits")
    rows = np.unpackbits(data, count=reports * bits, bitorder="little").reshape(reports, bits)
    return np.packbits(rows, axis=1, bitorder="little")


def write_integers(values: Words, *, bits: int) -> Reports:
    """Write the integers of each row, in `bits` bits each.

    >>> write_integers(np.array([[5, 3], [6, 1]], np.uint64), bits=3).tolist()
    [[29], [14]]
    """
    users, numbers = values.shape
    octets = np.ascontiguousarray(values).astype("<u8").view(np.uint8)
    if numbers == 1:
        return octets[:, : -(-bits // 8)].copy()
    used = octets.reshape(users * numbers, 8)[:, : -(-bits // 8)]
    rows = np.unpackbits(used, axis=1, count=bits, bitorder="little")
    return np.packbits(rows.reshape(users, numbers * bits), axis=1, bitorder="little")


def read_integers(reports: Reports, *, bits: int, numbers: int = 1) -> Codes:
    """Read integers that `write_integers` wrote: a row for each user."""
    users, size = len(reports), -(-bits // 8)
    if reports.ndim != 2 or reports.shape[1] != -(-bits * numbers // 8):
        raise ValueError(
            f"expected reports of {-(-bits * numbers // 8)} bytes, found the shape {reports.shape}"
        )
    if (used := bits * numbers % 8) and users and int(reports[:, -1].max()) >> used:
        raise ValueError(f"expected reports of {bits * numbers} bits, found more")
    parts = reports
    if numbers > 1:
        rows = np.unpackbits(reports, axis=1, count=bits * numbers, bitorder="little")
        parts = np.packbits(rows.reshape(users * numbers, bits), axis=1, bitorder="little")
    words = np.zeros((users * numbers, 8), np.uint8)
    words[:, :size] = parts
    return words.view("<u8").reshape(users, numbers).astype(np.int64)
