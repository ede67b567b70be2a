"""Bits: whole numbers and reports, one after another without gaps, lowest bit first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .randomizer import Codes, Reports, Words

__all__ = ["pack", "packed_size", "read_integers", "unpack", "write_integers"]


def packed_size(reports: int, *, bits: int) -> int:
    """Count the bytes of so many reports of so many bits, packed together."""
    return -(-reports * bits // 8)


def pack(reports: Reports, *, bits: int) -> npt.NDArray[np.uint8]:
    """Put reports together without gaps, as they travel.

    >>> pack(np.array([[5], [6], [1]], np.uint8), bits=3).tolist()
    [117, 0]
    """
    if bits % 8 == 0:
        return np.ascontiguousarray(reports).reshape(-1)
    return np.packbits(
        np.unpackbits(reports, axis=1, count=bits, bitorder="little"), bitorder="little"
    )


def unpack(data: npt.NDArray[np.uint8], *, bits: int, reports: int) -> Reports:
    """Take apart what `pack` put together; what has another length, or anything after the last
    report, is a `ValueError`.
    """
    if data.shape != (packed_size(reports, bits=bits),):
        expected = packed_size(reports, bits=bits)
        raise ValueError(
            f"expected {reports} reports of {bits} bits in {expected} bytes, found {data.size}"
        )
    if bits % 8 == 0:
        return data.reshape(reports, bits // 8)
    if (over := reports * bits % 8) and int(data[-1]) >> over:
        raise ValueError("expected zeros after the last report, found other bits")
    said = np.unpackbits(data, count=reports * bits, bitorder="little").reshape(reports, bits)
    return np.packbits(said, axis=1, bitorder="little")


def write_integers(values: Words, *, bits: int) -> Reports:
    """Write each line's numbers, in as many bits each.

    >>> write_integers(np.array([[5, 3], [6, 1]], np.uint64), bits=3).tolist()
    [[29], [14]]
    """
    users, numbers = values.shape
    octets = np.ascontiguousarray(values).astype("<u8").view(np.uint8)
    if numbers == 1:
        return octets[:, : -(-bits // 8)].copy()
    each = octets.reshape(users * numbers, 8)[:, : -(-bits // 8)]
    said = np.unpackbits(each, axis=1, count=bits, bitorder="little")
    return np.packbits(said.reshape(users, numbers * bits), axis=1, bitorder="little")


def read_integers(reports: Reports, *, bits: int, numbers: int = 1) -> Codes:
    """Read what `write_integers` wrote: a line a user."""
    users, size = len(reports), -(-bits // 8)
    if reports.ndim != 2 or reports.shape[1] != -(-bits * numbers // 8):
        raise ValueError(
            f"expected reports of {-(-bits * numbers // 8)} bytes, found the shape {reports.shape}"
        )
    if (over := bits * numbers % 8) and users and int(reports[:, -1].max()) >> over:
        raise ValueError(f"expected reports of {bits * numbers} bits, found more")
    each = reports
    if numbers > 1:
        said = np.unpackbits(reports, axis=1, count=bits * numbers, bitorder="little")
        each = np.packbits(said.reshape(users * numbers, bits), axis=1, bitorder="little")
    whole = np.zeros((users * numbers, 8), np.uint8)
    whole[:, :size] = each
    return whole.view("<u8").reshape(users, numbers).astype(np.int64)
