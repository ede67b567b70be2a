"""Millions of random bits, and their sums by column, for unary encoding and sets of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .randomizer import Counts, Reports, Words

__all__ = ["MAX_BITS", "column_sums", "digits_of", "random_bits"]

WORD_BITS: Final = 64
MAX_BITS: Final = 1 << 22
"""Largest number of bits in one report of one user."""


def digits_of(number: int, *, digits: int) -> list[bool]:
    """List the binary digits of the fraction number / 2^digits, the lowest first."""
    return [bool(number >> digit & 1) for digit in range(digits)]


def random_bits(words: UserWordStream, *, columns: int, ones: Sequence[bool]) -> Reports:
    """Draw `columns` bits for each user, each 1 with the same probability.

    The binary digits of the probability are `ones`, the lowest first. All bits of a user are drawn
    at once. They begin as 0. Each digit combines them with random words: by OR where it is 1, and
    by AND where it is 0. The result may share a buffer with the words.
    """
    size = -(-columns // 8)
    planes = _planes(words, columns=columns, digits=len(ones))
    low = ones.index(True)  # Digits of 0 before the first 1 change nothing, since AND keeps 0.
    bits = planes[low]
    for is_one, plane in zip(ones[low + 1 :], planes[low + 1 :], strict=True):
        (np.bitwise_or if is_one else np.bitwise_and)(bits, plane, out=bits)
    octets = np.ascontiguousarray(bits).view(np.uint8).reshape(len(words), -1)
    if octets.shape[1] > size:
        octets = octets[:, :size].copy()
    if columns % 8:
        octets[:, -1] &= np.uint8((1 << columns % 8) - 1)
    return octets


def _planes(
    words: UserWordStream, *, columns: int, digits: int
) -> list[npt.NDArray[np.unsignedinteger[npt.NBitBase]]]:
    """Draw a random bit for every column and digit.

    Where there are few columns, a block of 128 bits serves several digits.
    """
    if columns > WORD_BITS:
        return list(words.take(lines=digits, words=-(-columns // WORD_BITS)))
    lane = next(size for size in (8, 16, 32, 64) if columns <= size)
    each = 2 * WORD_BITS // lane
    lanes = words.take(lines=-(-digits // each), words=2).view(f"<u{lane // 8}")
    return [lanes[digit // each, :, digit % each].copy() for digit in range(digits)]


def column_sums(lines: Reports, *, columns: int) -> Counts:
    """Count the ones in each column of bits, by carry-save adders on whole arrays.

    This is the method of Harley and Seal. Three numbers of weight w become one of w and one of 2 w.
    So a block of rows passes five operations, instead of being unpacked into bytes.

    >>> column_sums(np.array([[5], [4], [4]], np.uint8), columns=3).tolist()
    [1, 0, 3]
    """
    rows = max(64, min(2048, len(lines) // 16))
    block = (-(-rows * lines.shape[1] // 8)) * 8
    whole = len(lines) // rows
    sums = _unpacked_sums(lines[whole * rows :], columns)
    spare: list[Words] = []
    waiting: list[list[Words]] = []
    either = np.empty(block // 8, np.uint64)
    both = np.empty_like(either)
    for start in range(0, whole * rows, rows):
        carry = spare.pop() if spare else np.empty(block // 8, np.uint64)
        octets = carry.view(np.uint8)
        octets[: rows * lines.shape[1]] = lines[start : start + rows].reshape(-1)
        octets[rows * lines.shape[1] :] = 0
        level = 0
        while True:
            if level == len(waiting):
                waiting.append([])
            if len(waiting[level]) < 2:
                waiting[level].append(carry)
                break
            kept, other = waiting[level][0], waiting[level].pop()
            np.bitwise_xor(kept, other, out=either)
            np.bitwise_and(kept, other, out=both)
            np.bitwise_xor(either, carry, out=kept)
            np.bitwise_and(either, carry, out=either)
            np.bitwise_or(either, both, out=other)
            spare.append(carry)
            carry, level = other, level + 1
    for level, numbers in enumerate(waiting):
        for words in numbers:
            octets = words.view(np.uint8)[: rows * lines.shape[1]].reshape(rows, -1)
            sums += _unpacked_sums(octets, columns) << level
    return sums


def _unpacked_sums(lines: Reports, columns: int) -> Counts:
    """Count the ones in each column, 255 rows at a time, whose sum fits into a byte."""
    sums = np.zeros(columns, np.int64)
    for start in range(0, len(lines), 255):
        bits = np.unpackbits(lines[start : start + 255], axis=1, count=columns, bitorder="little")
        sums += bits.sum(axis=0, dtype=np.uint8)
    return sums
