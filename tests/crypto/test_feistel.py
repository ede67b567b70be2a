"""The public permutation is one to one for any size, without pattern, and the same for all."""

from __future__ import annotations

import hashlib
from collections import Counter
from math import isqrt

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import Permutation


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 10, 15, 16, 17, 97, 1000, 10_001, 1 << 16])
def test_one_to_one(size: int) -> None:
    assert sorted(Permutation(size, key=b"k").of(np.arange(size))) == list(range(size))


def test_any_number_can_be_permuted_alone() -> None:
    permutation = Permutation(100_000, key=b"k")
    whole = permutation.of(np.arange(100_000))
    some = np.random.default_rng(1).permutation(100_000)[:500]
    assert np.array_equal(permutation.of(some), whole[some])
    assert not np.array_equal(whole, Permutation(100_000, key=b"l").of(np.arange(100_000)))
    huge = Permutation(1 << 50, key=b"k").of(np.array([0, 1, (1 << 50) - 1]))
    assert len(set(huge.tolist())) == 3
    assert huge.max() < 1 << 50


def test_all_permutations_of_four_are_equally_likely() -> None:
    counts = Counter(
        tuple(Permutation(4, key=str(key).encode()).of(np.arange(4)).tolist())
        for key in range(24_000)
    )
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > 1e-7


def test_groups_have_no_pattern() -> None:
    """Of each thousand users as many are in the first third as random draws would have."""
    size = 300_000
    first = Permutation(size, key=b"groups").of(np.arange(size)) < size // 3
    counts = first.reshape(-1, 1000).sum(axis=1)
    assert first.sum() == size // 3
    statistic = float(((counts - 1000 / 3) ** 2 / (1000 * 2 / 9)).sum())
    assert 1e-7 < stats.chi2.sf(statistic, 299) < 1 - 1e-7
    assert abs(
        np.corrcoef(np.arange(size), Permutation(size, key=b"x").of(np.arange(size)))[0, 1]
    ) < 6 / np.sqrt(size)


def test_impossible_sizes_and_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 1 to"):
        Permutation(0, key=b"")
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match="expected numbers from 0 to 4"):
            Permutation(5, key=b"").of(np.array([wrong]))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9, 10, 15, 16, 17, 2**20, 2**20 + 1, 2**60])
def test_the_sides_are_the_least_that_hold_all_numbers(size: int) -> None:
    """So a number leaves the range seldom, and has to be permuted again."""
    permutation = Permutation(size, key=b"k")
    left, right = permutation._left, permutation._right
    assert (left - 1) ** 2 < size <= left**2
    assert left * (right - 1) < size <= left * right


def permuted(number: int, *, size: int, key: bytes) -> int:
    """Permute one number with Python's integers, which do not overflow."""
    left = isqrt(size - 1) + 1
    sizes = left, -(-size // left)
    digest = hashlib.shake_256(b"sottovoce permutation v1" + key).digest(64)
    while True:
        halves = [number % left, number // left]
        for turn in range(8):
            mixed = halves[1 - turn % 2] + int.from_bytes(digest[8 * turn :][:8], "little")
            mixed = mixed * 0x9E3779B97F4A7C15 % 2**64
            mixed = (mixed ^ mixed // 2**32) * 0xD6E8FEB86659FD93 % 2**64
            part = mixed // 2**32 * sizes[turn % 2] // 2**32
            halves[turn % 2] = (halves[turn % 2] + part) % sizes[turn % 2]
        number = halves[0] + halves[1] * left
        if number < size:
            return number


@pytest.mark.parametrize("size", [1, 2, 7, 97, 65_537, 10**9, 2**33 + 5, 2**60 - 1, 2**60])
def test_every_version_gives_the_same_permutation(size: int) -> None:
    """Roles may run different versions, and a run may go on with a later one."""
    numbers = sorted({0, size - 1, *(size * part // 11 for part in range(11))})
    expected = [permuted(number, size=size, key=b"key") for number in numbers]
    assert Permutation(size, key=b"key").of(np.array(numbers)).tolist() == expected
