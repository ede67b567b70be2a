"""Counting, against numpy's own additions: every path, every order, every number of rows around a
word and a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import pytest

from sottovoce import UsageError
from sottovoce.messages import MisuseError
from sottovoce.parties.counting import CodedTable
from sottovoce.privacy import Domain


def make(sizes: list[int], rows: int, *, seed: int = 0) -> CodedTable:
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, size, rows, dtype=np.uint16) for size in sizes]
    return CodedTable(
        codes, Domain({f"x{at}": tuple(map(str, range(size))) for at, size in enumerate(sizes)})
    )


def check(counter: CodedTable, wanted: Sequence[tuple[str, ...]]) -> None:
    names = counter.domain.attributes
    for own, found in zip(wanted, counter.marginals(wanted), strict=True):
        expected = np.zeros(counter.domain.shape(own), np.int64)
        np.add.at(expected, tuple(counter.codes[names.index(name)] for name in own), 1)
        assert np.array_equal(found, expected.reshape(-1)), own


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 1000, 63_999, 64_000, 64_001, 70_000])
@pytest.mark.parametrize(
    "sizes", [[2] * 9, [2, 5, 2, 1, 300, 2, 2], [7, 3]], ids=["bits", "mixed", "categories"]
)
def test_every_marginal(rows: int, sizes: list[int]) -> None:
    counter = make(sizes, rows)
    names = counter.domain.attributes
    check(
        counter, [own for ways in (1, 2, 3) for own in combinations(names, min(ways, len(names)))]
    )


def test_any_order_and_repeats() -> None:
    counter = make([2, 3, 2, 2, 4], 500)
    check(
        counter,
        [
            *permutations(counter.domain.attributes, 3),
            *permutations(counter.domain.attributes[:4], 2),
        ]
        * 2,
    )


@pytest.mark.parametrize("ways", range(1, 11))
def test_many_ways_of_bits(ways: int) -> None:
    counter = make([2] * 11, 700)
    check(counter, list(combinations(counter.domain.attributes, ways)))


def test_more_bits_than_a_word() -> None:
    counter = make([2] * 130, 3000)
    check(counter, list(combinations(counter.domain.attributes, 3))[::997])


def test_sizes_at_the_edge_of_16_bits() -> None:
    for sizes in ([256, 256, 2], [1, 65_536, 2], [65_536, 1], [255, 257]):
        counter = make(sizes, 5000)
        check(counter, list(combinations(counter.domain.attributes, 2)))


def test_what_cannot_be_counted() -> None:
    counter = make([2, 3], 10)
    with pytest.raises(UsageError, match=r"an attribute of the data \(x0, x1\), found 'y'"):
        counter.marginals([("x0", "y")])
    for wrong in ((), ("x0", "x0")):
        with pytest.raises(MisuseError, match="different attributes to count by"):
            counter.marginals([wrong])
    with pytest.raises(MisuseError, match="expected 2 columns of one length"):
        CodedTable([np.zeros(3, np.uint8), np.zeros(4, np.uint8)], counter.domain)


def test_adult(adult: object) -> None:
    """All 2-way tables, and the bits: 52 of them, 22,100 three-way tables, each of all rows."""
    from sottovoce.parties import Records

    assert isinstance(adult, Records)
    bits = adult.binary()
    assert len(bits.attributes) == 52
    wanted = list(combinations(bits.attributes, 3))
    assert len(wanted) == 22_100
    assert all(int(found.sum()) == 45_222 for found in bits.marginals(wanted))
