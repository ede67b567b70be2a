"""Random bits by the million, and their sums by column: what unary encoding and sets of values are
made of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .randomizer import Counts, Reports, Words

__all__ = ["MOST_BITS", "column_sums", "digits_of", "random_bits"]

WORD = 64
MOST_BITS = 1 << 22
"""Of a user, in one report."""


def digits_of(number: int, *, digits: int) -> list[bool]:
    """List the binary digits of a fraction number / 2^digits, the lowest first."""
    return [bool(number >> at & 1) for at in range(digits)]


def random_bits(words: UserWordStream, *, columns: int, ones: Sequence[bool]) -> Reports:
    """Draw so many bits for each user, each 1 with the probability whose binary digits are `ones`,
    the lowest first.

    All bits of a user are drawn at once: begin with 0, and for each digit take OR with random words
    where it is 1, AND where it is 0. What is returned may stand in a buffer of the words'.
    """
    size = -(-columns // 8)
    drawn = _planes(words, columns=columns, digits=len(ones))
    low = ones.index(True)  # AND with 0 stays 0
    said = drawn[low]
    for one, plane in zip(ones[low + 1 :], drawn[low + 1 :], strict=True):
        (np.bitwise_or if one else np.bitwise_and)(said, plane, out=said)
    octets = np.ascontiguousarray(said).view(np.uint8).reshape(len(words), -1)
    if octets.shape[1] > size:
        octets = octets[:, :size].copy()
    if columns % 8:
        octets[:, -1] &= np.uint8((1 << columns % 8) - 1)
    return octets


def _planes(
    words: UserWordStream, *, columns: int, digits: int
) -> list[npt.NDArray[np.unsignedinteger[npt.NBitBase]]]:
    """Draw a random bit for every column and digit; a block of 128 bits serves several digits where
    there are few columns.
    """
    if columns > WORD:
        return list(words.take(lines=digits, words=-(-columns // WORD)))
    lane = next(size for size in (8, 16, 32, 64) if columns <= size)
    each = 2 * WORD // lane
    lanes = words.take(lines=-(-digits // each), words=2).view(f"<u{lane // 8}")
    return [lanes[digit // each, :, digit % each].copy() for digit in range(digits)]


def column_sums(lines: Reports, *, columns: int) -> Counts:
    """Count the ones in each column of bits, by carry-save adders on whole arrays (Harley and
    Seal).

    Three numbers of weight w become one of w and one of 2 w, so a block of lines passes five
    operations instead of being taken apart into bytes.

    >>> column_sums(np.array([[5], [4], [4]], np.uint8), columns=3).tolist()
    [1, 0, 3]
    """
    rows = max(64, min(2048, len(lines) // 16))
    block = (-(-rows * lines.shape[1] // 8)) * 8
    whole = len(lines) // rows
    found = _taken_apart(lines[whole * rows :], columns)
    spare: list[Words] = []
    waiting: list[list[Words]] = []
    one = np.empty(block // 8, np.uint64)
    both = np.empty_like(one)
    for at in range(whole):
        carry = spare.pop() if spare else np.empty(block // 8, np.uint64)
        carry.view(np.uint8)[: rows * lines.shape[1]] = lines[at * rows : (at + 1) * rows].reshape(
            -1
        )
        carry.view(np.uint8)[rows * lines.shape[1] :] = 0
        level = 0
        while True:
            if level == len(waiting):
                waiting.append([])
            if len(waiting[level]) < 2:
                waiting[level].append(carry)
                break
            kept, other = waiting[level][0], waiting[level].pop()
            np.bitwise_xor(kept, other, out=one)
            np.bitwise_and(kept, other, out=both)
            np.bitwise_xor(one, carry, out=kept)
            np.bitwise_and(one, carry, out=one)
            np.bitwise_or(one, both, out=other)
            spare.append(carry)
            carry, level = other, level + 1
    for level, left in enumerate(waiting):
        for words in left:
            taken = words.view(np.uint8)[: rows * lines.shape[1]].reshape(rows, -1)
            found += _taken_apart(taken, columns) << level
    return found


def _taken_apart(lines: Reports, columns: int) -> Counts:
    found = np.zeros(columns, np.int64)
    for start in range(0, len(lines), 255):
        bits = np.unpackbits(lines[start : start + 255], axis=1, count=columns, bitorder="little")
        found += bits.sum(axis=0, dtype=np.uint8)
    return found
